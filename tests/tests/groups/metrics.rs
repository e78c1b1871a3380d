//! Groups in `/metrics`, under the names of kafka_exporter.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ballast_tests::process::Serve;
use ballast_tests::raw::groups::{Member, commit, group_id};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch};
use kafka_protocol::messages::DeleteGroupsRequest;

fn scrape(broker: &Serve) -> String {
    let address = broker.http.as_ref().expect("HTTP is served");
    let mut stream = TcpStream::connect(address).expect("HTTP is served");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it can be asked");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    page
}

/// The rows of a metric's page that begin with `kafka_consumergroup`.
fn of_groups(broker: &Serve) -> Vec<String> {
    scrape(broker).lines().filter(|line| line.starts_with("kafka_consumergroup")).map(str::to_owned).collect()
}

#[test]
fn a_group_is_shown_with_members_offsets_and_lag_and_goes_with_its_rows() {
    let broker = Serve::start(&["group.initial.rebalance.delay.ms=0"]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 2, &[]);
    connection.append("t", 0, batch(&["a", "b", "c"]));
    connection.append("t", 1, batch(&["d"]));
    connection.coordinator("g");
    let mut member = Member::new(connection, "g");
    member.settle_alone();
    let request = commit("g", &member.id, member.generation, "t", &[(0, 1, None), (1, 1, None)]);
    assert_eq!(member.connection.commit(9, &request), [0, 0]);
    let mut rows = of_groups(&broker);
    rows.sort();
    let expected = [
        r#"kafka_consumergroup_current_offset_sum{consumergroup="g",topic="t"} 2"#,
        r#"kafka_consumergroup_current_offset{consumergroup="g",topic="t",partition="0"} 1"#,
        r#"kafka_consumergroup_current_offset{consumergroup="g",topic="t",partition="1"} 1"#,
        r#"kafka_consumergroup_lag_sum{consumergroup="g",topic="t"} 2"#,
        r#"kafka_consumergroup_lag{consumergroup="g",topic="t",partition="0"} 2"#,
        r#"kafka_consumergroup_lag{consumergroup="g",topic="t",partition="1"} 0"#,
        r#"kafka_consumergroup_members{consumergroup="g"} 1"#,
    ];
    assert_eq!(rows, expected);
    let page = scrape(&broker);
    for row in [
        r#"kafka_topic_partition_leader{topic="t",partition="0"} 1"#,
        r#"kafka_topic_partition_replicas{topic="t",partition="1"} 1"#,
        r#"kafka_topic_partition_in_sync_replica{topic="t",partition="1"} 1"#,
        r#"kafka_topic_partition_leader_is_preferred{topic="t",partition="1"} 1"#,
        r#"kafka_topic_partition_under_replicated_partition{topic="t",partition="1"} 0"#,
        r#"kafka_topic_partition_current_offset{topic="t",partition="0"} 3"#,
        r#"kafka_topic_partition_oldest_offset{topic="t",partition="0"} 0"#,
        r#"kafka_topic_partitions{topic="t"} 2"#,
    ] {
        assert!(page.lines().any(|line| line == row), "{row} is missing");
    }
    let id = member.id.clone();
    member.connection.leave("g", &[(&id, None)]);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group_id("g")]);
    assert_eq!(member.connection.call(2, &delete).results[0].error_code, 0);
    eventually("its rows go", || of_groups(&broker).is_empty().then_some(()));
}
