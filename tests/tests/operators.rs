//! What an operator of three broker processes is told when one dies, and how a broker is emptied of leaderships.
//!
//! Holds: nothing here waits for a time to pass; what spreads is asked for until it is there.

use std::process::Command;

use ballast_tests::nodes::Nodes;
use ballast_tests::process::ballast;
use ballast_tests::raw::now_ms;
use serde_json::Value;

/// How long an answer may take to come: ten session time-outs.
const ANSWERED_MS_MAX: i64 = 30_000;

fn three() -> Nodes {
    Nodes::start(3, None, &["broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500"])
}

/// Runs a command at node 1: what it printed, what it complained of, and its status.
fn run(nodes: &Nodes, line: &str) -> (String, String, i32) {
    let mut command = Command::new(ballast());
    command.args(line.split_whitespace()).args(["--bootstrap-server", &nodes.node(1).bootstrap]);
    let output = command.output().expect("it runs");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (out, err, output.status.code().expect("it was not killed"))
}

fn done(nodes: &Nodes, line: &str) -> String {
    let (out, err, status) = run(nodes, line);
    assert_eq!(status, 0, "{line}: {err}");
    out
}

fn json(nodes: &Nodes, line: &str) -> Value {
    serde_json::from_str(&done(nodes, &format!("{line} --json"))).expect("one document")
}

/// Asks until the answer is as wanted.
fn until(nodes: &Nodes, line: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = now_ms() + ANSWERED_MS_MAX;
    loop {
        let told = json(nodes, line);
        if wanted(&told) {
            return told;
        }
        assert!(now_ms() < deadline, "{line} still says {told:#}\n{}", nodes.logs());
    }
}

/// How many partitions a node leads.
fn leaders(nodes: &Value, id: i64) -> i64 {
    let rows = nodes["nodes"].as_array().expect("a list");
    rows.iter().find(|row| row["id"] == id).and_then(|row| row["leaders"].as_i64()).expect("it is there")
}

#[test]
fn a_dead_broker_and_what_it_leaves_behind_are_explained() {
    let mut nodes = three();
    done(&nodes, "topic create kept --partitions 3 --replication-factor 3 --config min.insync.replicas=3");
    // Spread over all brokers: one of them is the dead one's.
    done(&nodes, "topic create lost --partitions 3 --replication-factor 1");
    nodes.node_mut(3).kill();
    let described = until(&nodes, "cluster describe", |told| told["fenced_brokers"] == 1);
    let troubles = described["troubles"].as_array().expect("a list");
    let words = |trouble: &Value, field: &str| trouble[field].as_str().expect("a text").to_owned();
    assert_eq!(words(&troubles[0], "kind"), "leaderless", "the worst comes first");
    assert_eq!(words(&troubles[0], "topic"), "lost");
    let why = "nobody is in sync; it waits for an eligible replica, which lacks nothing: 3 (fenced)";
    assert_eq!(words(&troubles[0], "why"), why);
    assert!(words(&troubles[0], "help").starts_with("bring broker 3 back; no other replica"), "{troubles:?}");
    let kept: Vec<&Value> = troubles.iter().filter(|trouble| trouble["topic"] == "kept").collect();
    assert_eq!(kept.len(), 3, "{troubles:?}");
    for trouble in kept {
        assert_eq!(words(trouble, "kind"), "under-min-isr");
        assert!(words(trouble, "why").ends_with("acks=all is refused; missing: 3 (fenced)"), "{trouble}");
    }
    let (why, _, _) = run(&nodes, "cluster nodes");
    assert!(why.contains("broker 3 is fenced: it does not answer ("), "{why}");

    nodes.restart(&[3]);
    until(&nodes, "cluster describe", |told| told["troubles"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn a_cluster_without_a_controller_names_the_voters_that_do_not_answer() {
    let mut nodes = three();
    let led = until(&nodes, "cluster describe", |told| told["controller"].is_i64());
    assert_eq!(led["controller"], json(&nodes, "cluster quorum")["leader"], "the leader of the quorum, not any broker");
    nodes.node_mut(2).kill();
    nodes.node_mut(3).kill();
    let told = until(&nodes, "cluster describe", |told| told["controller"].is_null());
    let note = told["notes"][0].as_str().expect("it is explained");
    assert!(note.starts_with("no active controller: no majority of the voters answers (2 127.0.0.1:"), "{note}");
    let (text, _, _) = run(&nodes, "cluster describe");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["controller", "none"])), "{text}");
    let (_, refused, status) = run(&nodes, "topic create orders");
    assert_eq!(status, 1, "{refused}");
    let expected =
        "ballast: creating topic orders: no active controller: no majority of the voters answers (2 127.0.0.1:";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn a_frozen_broker_is_told_as_silent_before_it_is_fenced() {
    // It stays unfenced for as long as the test runs.
    let nodes = Nodes::start(3, None, &["broker.session.timeout.ms=600000"]);
    done(&nodes, "topic create orders --partitions 3 --replication-factor 3");
    let leader = until(&nodes, "cluster quorum", |told| told["leader"].as_u64() > Some(0))["leader"].as_u64();
    let frozen: u8 = if leader == Some(2) { 3 } else { 2 };
    nodes.freeze(frozen);
    let told = json(&nodes, "cluster nodes");
    let row = &told["nodes"][usize::from(frozen) - 1];
    assert_eq!((&row["id"], &row["fenced"], &row["silent"]), (&frozen.into(), &false.into(), &true.into()), "{told:#}");
    let why = row["trouble"]["why"].as_str().expect("it is explained");
    assert!(why.starts_with("it does not answer here ("), "{why}");
    assert_eq!(told["nodes"][0]["silent"], false);
    let told = json(&nodes, "cluster describe");
    assert_eq!(told["silent_brokers"], serde_json::json!([frozen]), "{told:#}");
    let note = told["notes"][0].as_str().expect("it is explained");
    assert!(note.starts_with(&format!("broker {frozen} is silent: it does not answer here (")), "{note}");
    nodes.thaw(frozen);
    until(&nodes, "cluster nodes", |told| told["nodes"][usize::from(frozen) - 1]["silent"] == false);
}

#[test]
fn a_drained_broker_leads_nothing_until_it_starts_again() {
    let mut nodes = three();
    done(&nodes, "topic create orders --partitions 9 --replication-factor 3");
    done(&nodes, "topic create alone --partitions 3 --replication-factor 1");
    until(&nodes, "cluster nodes", |told| (1..=3).all(|id| leaders(told, id) > 0));
    let (_, why, status) = run(&nodes, "cluster drain 2 --leaders");
    assert_eq!(status, 1, "{why}");
    assert!(why.contains("broker 2 is the only in-sync replica of alone-"), "{why}");
    assert!(leaders(&json(&nodes, "cluster nodes"), 2) > 0, "nothing was changed");

    done(&nodes, "topic delete alone");
    until(&nodes, "cluster describe", |told| told["topics"] == 1);
    done(&nodes, "cluster drain 2 --leaders");
    let told = until(&nodes, "cluster nodes", |told| leaders(told, 2) == 0);
    assert_eq!(told["nodes"][1]["drained"], true);
    assert_eq!(told["nodes"][1]["in_sync"], 9, "it follows all of them");
    assert_eq!(run(&nodes, "cluster drain 2 --leaders --no-wait").2, 0, "once more is as good as once");

    nodes.node_mut(2).stop();
    nodes.node_mut(2).restart();
    until(&nodes, "cluster nodes", |told| told["nodes"][1]["drained"] == false);
    until(&nodes, "cluster nodes", |told| told["nodes"][1]["in_sync"] == 9);
    let (_, said, status) = run(&nodes, "cluster drain 2 --undo");
    assert_eq!(status, 0, "{said}");
    until(&nodes, "cluster nodes", |told| leaders(told, 2) == 3);
}
