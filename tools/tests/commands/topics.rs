//! `ballast topic` and `ballast cluster`.

use super::rig::Session;

#[test]
fn topics_are_created_grown_shown_and_deleted() {
    let mut session = Session::new();
    session
        .run("topic create orders --partitions 3 --config retention.ms=86400000 --dry-run")
        .run("topic list")
        .run("topic create orders --partitions 3 --config retention.ms=86400000")
        .run("topic create orders")
        .run("topic create orders --if-not-exists")
        .run("topic create payments --json")
        .run("topic list")
        .run("topic list --json")
        .run_with("produce orders --key-delimiter : --partition 1", "a:1\nb:2\n")
        .run("topic describe orders")
        .run("topic describe payments --json")
        .run("topic alter orders --partitions 4 --dry-run")
        .run("topic alter orders --partitions 4")
        .run("topic alter orders --partitions 2")
        .run("topic delete orders --dry-run")
        .run("topic delete orders")
        .run("topic delete orders")
        .run("topic delete orders --if-exists")
        .run("topic describe orders")
        .run("topic list");
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn the_cluster_tells_what_it_is() {
    let mut session = Session::new();
    session
        .run("topic create orders --partitions 3")
        .run("cluster describe")
        .run("cluster describe --json")
        .run("cluster drain 1 --leaders")
        .run("cluster drain 7 --leaders")
        .run("topic delete orders")
        .run("cluster drain 1 --leaders --no-wait --json")
        .run("cluster drain 1 --undo");
    insta::assert_snapshot!(session.transcript());
    let quorum = session.output(&["cluster", "quorum", "--json"], "");
    let quorum: serde_json::Value = serde_json::from_slice(&quorum.stdout).expect("one document");
    let replica = &quorum["replicas"][0];
    assert_eq!((&quorum["leader"], &replica["id"], &replica["role"]), (&1.into(), &1.into(), &"leader".into()));
    assert_eq!((&replica["lag"], &replica["log_end_offset"]), (&0.into(), &quorum["high_watermark"]), "{quorum}");
    // Sizes of disks are as wide as they are: only the words of the table are compared.
    let nodes = session.output(&["cluster", "nodes"], "");
    let text = String::from_utf8(nodes.stdout).expect("it is text");
    let words: Vec<&str> = text.lines().flat_map(str::split_whitespace).take(12).collect();
    let expected = ["ID", "ADDRESS", "RACK", "STATE", "LEADERS", "REPLICAS", "LOGS", "FREE", "1"];
    assert_eq!(words[..9], expected, "{text}");
    assert_eq!(words[9..], [session.bootstrap.as_str(), "-", "alive"], "{text}");
}
