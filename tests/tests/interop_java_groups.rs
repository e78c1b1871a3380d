//! Apache Kafka's own clients and tools, 4.4.0, in consumer groups on a real broker process.

use std::fs;

use ballast_tests::foreign::java::Java;
use ballast_tests::process::Serve;
use ballast_tests::raw::{Connection, batch};

const COMMAND: &str = "consumer.group.ConsumerGroupCommand";

fn consume(java: &Java, broker: &Serve, count: usize) -> Vec<String> {
    let count = count.to_string();
    let group = ["--topic", "t", "--group", "g", "--from-beginning", "--max-messages", &count];
    let output = java.output(
        "consumer.ConsoleConsumer",
        &[&["--bootstrap-server", &broker.bootstrap, "--timeout-ms", "30000"], &group[..]].concat(),
    );
    output.lines().map(str::to_owned).collect()
}

/// The columns of the rows that begin with `first`.
fn rows(output: &str, first: &str) -> Vec<Vec<String>> {
    let rows = output.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    rows.filter(|row| row.first().is_some_and(|word| word == first)).collect()
}

#[test]
fn a_java_consumer_resumes_and_the_group_command_lists_describes_resets_and_deletes() {
    let Some(java) = Java::new("interop_java_groups") else { return };
    let mut broker = Serve::start(&["group.initial.rebalance.delay.ms=0"]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.append("t", 0, batch(&["a", "b", "c"]));
    assert_eq!(consume(&java, &broker, 3), ["a", "b", "c"]);
    assert!(broker.stop().success(), "{}", broker.log());
    broker.restart();
    Connection::open(&broker.bootstrap).append("t", 0, batch(&["d", "e"]));
    assert_eq!(consume(&java, &broker, 1), ["d"], "it goes on where it committed");

    let command = |more: &[&str]| java.output(COMMAND, &[&["--bootstrap-server", &broker.bootstrap], more].concat());
    assert_eq!(command(&["--list"]).trim(), "g");
    let told = rows(&command(&["--describe", "--group", "g"]), "g");
    assert_eq!(told[0][..6], ["g", "t", "0", "4", "5", "1"], "group, topic, partition, committed, end, lag");
    let told = rows(&command(&["--describe", "--group", "g", "--state"]), "g");
    assert!(told[0].contains(&"Empty".to_owned()), "{told:?}");
    let reset = ["--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--execute"];
    assert_eq!(rows(&command(&reset), "g"), [["g", "t", "0", "0"]]);
    assert_eq!(consume(&java, &broker, 5), ["a", "b", "c", "d", "e"]);
    let forgotten = command(&["--delete-offsets", "--group", "g", "--topic", "t"]);
    assert_eq!(rows(&forgotten, "t"), [["t", "0", "Successful"]]);
    let deleted = command(&["--delete", "--group", "g"]);
    assert!(deleted.contains("was successful"), "{deleted}");
    assert_eq!(command(&["--list"]).trim(), "");
}

#[test]
fn the_dump_tool_decodes_what_a_coordinator_writes() {
    let Some(java) = Java::new("interop_java_groups") else { return };
    let broker = Serve::start(&["offsets.topic.num.partitions=1"]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    let commit = ballast_tests::raw::groups::commit("g", "", -1, "t", &[(0, 7, Some("text"))]);
    assert_eq!(connection.commit(9, &commit), [0]);
    let segment = broker.data().join("__consumer_offsets-0/00000000000000000000.log");
    assert!(fs::metadata(&segment).expect("it is there").len() > 0);
    let segment = segment.display().to_string();
    let output = java.output("DumpLogSegments", &["--files", &segment, "--offsets-decoder"]);
    for part in [r#""group":"g","topic":"t","partition":0"#, r#""offset":7,"#, r#""metadata":"text""#] {
        assert!(output.contains(part), "{part} is missing in {output}");
    }
}
