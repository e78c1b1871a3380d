//! `ballast config`, and `--command-config`.

use super::rig::Session;

#[test]
fn settings_of_topics_brokers_groups_and_the_cluster_are_read_and_changed() {
    let mut session = Session::new();
    session
        .run("topic create orders")
        .run("config describe --topic orders")
        .run("config alter --topic orders --set retention.ms=86400000 --set segment.bytes=1048576 --dry-run")
        .run("config describe --topic orders")
        .run("config alter --topic orders --set retention.ms=86400000 --set segment.bytes=1048576")
        .run("config alter --topic orders --unset segment.bytes --json")
        .run("config describe --topic orders --json")
        .run("config alter --topic orders --set retention.ms=soon")
        .run("config alter --topic orders --set colour=red")
        .run("config alter --cluster --set log.retention.ms=604800000")
        .run("config describe --cluster")
        .run("config alter --broker 1 --set log.retention.ms=3600000")
        .run("config alter --broker 1 --unset log.retention.ms")
        .run("config alter --group billing --set consumer.session.timeout.ms=50000")
        .run("config describe --group billing")
        .run("config describe --topic nobody");
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn a_property_that_no_client_has_is_warned_of_once_and_a_bad_value_refused() {
    let mut session = Session::new();
    let misspelt = session.file("misspelt.properties", "# ours\nbatch.sze=3\nclient.id=me\nsasl.mechanism=PLAIN\n");
    let bad = session.file("bad.properties", "retry.backoff.ms=soon\n");
    session.run("topic create orders");
    session.run_with(&format!("produce orders --command-config {}", misspelt.display()), "1\n");
    session.run(&format!("topic list --command-config {}", bad.display()));
    session.run("topic list --command-config no/such.properties");
    insta::assert_snapshot!(session.transcript());
}
