//! Failures: one line on stderr that says what, where, and what to do; 1 for what failed, 2 for what makes no sense.

use super::rig::Session;

#[test]
fn a_failure_is_one_line_and_says_what_to_do() {
    let mut session = Session::new();
    session
        .run("topic describe nobody")
        .run("topic delete nobody")
        .run("topic create a/b")
        .run("topic create orders --replication-factor 9")
        .run("topic create orders --config colour=red")
        .run("topic create orders")
        .run("consume nobody --until-end")
        .run("consume orders --partition 7 --until-end")
        .run_with("produce orders --partition 7", "1\n");
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn a_command_that_makes_no_sense_is_told_apart_from_one_that_fails() {
    let session = Session::without_broker();
    for line in [
        "topic create",
        "topic create orders --partitions 0",
        "config alter --topic orders",
        "config describe",
        "config describe --topic a --broker 1",
        "consume orders --from yesterday",
        "consume orders --group g --partition 1",
        "group reset billing --topic orders",
        "group delete",
        "bench produce --size 3",
        "topic list --bootstrap-server nonsense",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = session.output(&words, "");
        assert_eq!(output.status.code(), Some(2), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_cluster_that_is_not_there_is_named() {
    let mut session = Session::without_broker();
    let quick = session.file("quick.properties", "default.api.timeout.ms=200\n");
    for command in ["topic list", "group list", "cluster describe", "config describe --broker 1", "consume orders"] {
        session.run(&format!("{command} --command-config {}", quick.display()));
    }
    insta::assert_snapshot!(session.transcript());
}
