//! `num.replica.fetchers` is changed while followers follow: partitions are handed on, and none is forgotten.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ballast_broker::embed::Broker;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, text};
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};

use crate::rig::{ALL, Rig};

const PARTITIONS: i32 = 12;
/// The resource of all brokers.
const EVERY_BROKER: &str = "";
const BROKER: i8 = 4;

fn set_fetchers(broker: &Broker, count: &str) {
    let config = AlterableConfig::default().with_name(text("num.replica.fetchers")).with_value(Some(text(count)));
    let resource = AlterConfigsResource::default().with_resource_type(BROKER).with_resource_name(text(EVERY_BROKER));
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource.with_configs(vec![config])]);
    let answer = Connection::open(broker.bootstrap()).call(1, &request);
    assert_eq!(answer.responses[0].error_code, 0);
}

/// The fetchers that a broker names in its metrics, `ReplicaFetcherThread-NUMBER-LEADER`.
fn fetchers(broker: &Broker) -> BTreeSet<String> {
    let address = broker.http().expect("HTTP is served");
    let mut stream = TcpStream::connect(address).expect("HTTP is served");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it can be asked");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    let lags = page.lines().filter(|line| line.starts_with("kafka_server_fetcherlagmetrics_consumerlag{"));
    lags.filter_map(|line| Some(line.split_once("clientId=\"")?.1.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn the_number_of_fetchers_is_changed_while_followers_follow() {
    let any = "127.0.0.1:0".parse().expect("an address");
    let rig = Rig::new(|cluster| cluster.topic("orders", PARTITIONS).each(move |_, broker| broker.http(any)));
    // Kafka lets it be doubled and halved at once, and no more.
    for (expected, (count, per_leader)) in (0..).zip([("2", 2), ("4", 4), ("2", 2), ("1", 1)]) {
        set_fetchers(rig.cluster.broker(1), count);
        for broker in rig.cluster.brokers() {
            eventually("the partitions are spread over so many fetchers", || {
                // Of both other brokers it follows some partitions, over so many fetchers each.
                (fetchers(broker).len() == 2 * per_leader).then_some(())
            });
        }
        for partition in 0..PARTITIONS {
            assert_eq!(rig.produce(ALL, "orders", partition, &[count]), expected, "with {count} fetchers");
        }
    }
    rig.cluster.stop_blocking();
    for partition in 0..PARTITIONS {
        rig.alike(&format!("orders-{partition}"));
    }
}
