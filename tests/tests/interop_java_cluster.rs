//! Apache Kafka's own tools for administrators, and its Admin client, 4.4.0, against three broker processes: one dies,
//! replicas move between directories, and there are many topics.
//!
//! The long run: `cargo build --release && BALLAST_TOPICS=1000 cargo test --release -p ballast-tests --test
//! interop_java_cluster many -- --nocapture`.
//!
//! Holds: nothing here waits for a time to pass; what spreads is asked for until it is there.

use std::collections::BTreeMap;

use ballast_tests::foreign::java::Java;
use ballast_tests::foreign::run;
use ballast_tests::nodes::Nodes;
use ballast_tests::raw::rows::eventually;
use serde_json::Value;

/// Questions until an answer must have come; each starts a Java machine, which takes its time.
const ASKED_MAX: usize = 60;

/// Three nodes that soon notice a silent one.
struct Rig {
    java: Java,
    nodes: Nodes,
}

impl Rig {
    fn new(test: &str, more: &[&str]) -> Option<Rig> {
        let java = Java::new(test)?;
        let settings = ["broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500"];
        Some(Rig { java, nodes: Nodes::start(3, None, &[&settings, more].concat()) })
    }

    /// What a tool prints when it ends well. Node 1 is asked: it lives in all tests.
    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        let at = ["--bootstrap-server", &self.nodes.node(1).bootstrap];
        let all = if tool == "ClusterTool" { [arguments, &at].concat() } else { [&at, arguments].concat() };
        self.java.output(tool, &all)
    }

    fn create(&self, topic: &str, assignment: &str, min_isr: &str) {
        let min_isr = format!("min.insync.replicas={min_isr}");
        let rest = ["--replica-assignment", assignment, "--config", &min_isr];
        self.run("TopicCommand", &[&["--create", "--topic", topic][..], &rest].concat());
    }

    /// Topics with partitions that `TopicCommand --describe` shows under this flag.
    fn described(&self, flag: &str) -> Vec<String> {
        let text = self.run("TopicCommand", &["--describe", flag]);
        let topics = text.lines().filter_map(|line| line.split("Topic: ").nth(1)?.split_whitespace().next());
        let mut topics: Vec<String> = topics.map(str::to_owned).collect();
        topics.dedup();
        topics
    }

    fn await_under_replicated(&self, expected: &[&str]) {
        let mut last = Vec::new();
        for _ in 0..ASKED_MAX {
            last = self.described("--under-replicated-partitions");
            last.sort();
            if last == expected {
                return;
            }
        }
        panic!("under-replicated are {last:?}, not {expected:?}\n{}", self.nodes.logs());
    }
}

#[test]
fn topics_elections_quorum_and_brokers_are_told_while_a_broker_dies_and_returns() {
    let Some(mut rig) = Rig::new("interop_java_cluster: dies", &[]) else { return };
    rig.create("exact", "1:2:3,2:3:1", "2");
    rig.create("first", "3:1:2", "1");
    rig.create("strict", "1:2:3", "3");
    rig.create("alone", "3", "1");
    assert_eq!(rig.described("--under-replicated-partitions"), [""; 0]);

    rig.nodes.node_mut(3).kill();
    // `alone` has an eligible replica, which is not in sync, and no leader.
    rig.await_under_replicated(&["alone", "exact", "first", "strict"]);
    let replicated = |flag| {
        let topics = rig.described(flag).into_iter();
        topics.filter(|topic| topic != "alone").collect::<Vec<_>>()
    };
    assert_eq!(replicated("--at-min-isr-partitions"), ["exact"]);
    assert_eq!(replicated("--under-min-isr-partitions"), ["strict"]);
    assert_eq!(rig.described("--unavailable-partitions"), ["alone"]);
    let endpoints = rig.run("ClusterTool", &["list-endpoints", "--include-fenced-brokers"]);
    assert_eq!(endpoints.lines().filter(|line| line.contains(" fenced")).count(), 1, "{endpoints}");
    let status = rig.run("MetadataQuorumCommand", &["describe", "--status"]);
    assert!(status.contains("LeaderId:") && !status.contains("LeaderId:               -1"), "{status}");

    rig.nodes.restart(&[3]);
    rig.await_under_replicated(&[]);
    let first = ["--election-type", "preferred", "--topic", "first", "--partition", "0"];
    let elected = rig.run("LeaderElectionCommand", &first);
    assert_eq!(elected, "Successfully completed leader election (PREFERRED) for partitions first-0\n");
    let again = rig.run("LeaderElectionCommand", &first);
    assert_eq!(again, "Valid replica already elected for partitions first-0\n");
    let replication = rig.run("MetadataQuorumCommand", &["describe", "--replication"]);
    let members = |role: &str| replication.lines().filter(|line| line.contains(role)).count();
    assert_eq!((members("Leader"), members("Follower")), (1, 2), "{replication}");
    let id = |node| {
        let at = ["--bootstrap-server", &rig.nodes.node(node).bootstrap];
        rig.java.output("ClusterTool", &[&["cluster-id"][..], &at].concat())
    };
    assert_eq!(id(1), id(3));

    rig.nodes.node_mut(3).kill();
    rig.run("ClusterTool", &["unregister", "--id", "3"]);
    let endpoints = rig.run("ClusterTool", &["list-endpoints", "--include-fenced-brokers"]);
    assert_eq!(endpoints.lines().filter(|line| line.contains("broker")).count(), 2, "{endpoints}");
}

#[test]
fn every_replica_is_moved_to_another_directory_and_stays_there_across_a_restart() {
    let Some(mut rig) = Rig::new("interop_java_cluster: moves", &["log.dirs={data}/a,{data}/b"]) else { return };
    rig.create("moved", "1:2:3,2:3:1", "2");
    let load = ["--topic", "moved", "--num-records", "20000", "--record-size", "200", "--throughput", "-1"];
    rig.run("ProducerPerformance", &load);
    let told = run(&mut rig.java.source("MoveReplicas", &[&rig.nodes.bootstrap(), "moved"]));
    let moved: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("moved ")).collect();
    assert_eq!(moved.len(), 6, "{told}");
    let refused: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("refused ")).collect();
    assert_eq!(refused, ["LogDirNotFoundException", "UnknownTopicOrPartitionException"], "{told}");

    rig.nodes.node_mut(2).kill();
    rig.nodes.restart(&[2]);
    rig.await_under_replicated(&[]);
    let described = rig.run("LogDirsCommand", &["--describe", "--topic-list", "moved"]);
    let described = described.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{described}"));
    let described: Value = serde_json::from_str(described).expect("what the tool prints is JSON");
    let brokers = described["brokers"].as_array().expect("brokers");
    let dirs = brokers.iter().flat_map(|broker| broker["logDirs"].as_array().expect("directories"));
    let places: Vec<(&Value, &Value, &Value)> = dirs
        .flat_map(|dir| dir["partitions"].as_array().expect("partitions").iter().map(move |row| (dir, row)))
        .map(|(dir, row)| (&dir["logDir"], &row["partition"], &row["isFuture"]))
        .collect();
    assert_eq!(places.len(), 6, "{described}");
    for line in moved {
        // `moved-PARTITION-BROKER FROM TO`
        let words: Vec<&str> = line.split(' ').collect();
        let partition = words[0].rsplit_once('-').expect("a replica has a broker").0;
        let wanted = (&Value::from(words[2]), &Value::from(partition), &Value::from(false));
        assert!(places.contains(&wanted), "{line}: {described}");
    }
    let read = ["--topic", "moved", "--num-records", "20000", "--timeout", "60000"];
    let told = rig.run("ConsumerPerformance", &read);
    let consumed = told.lines().last().and_then(|line| line.split(", ").nth(4));
    assert_eq!(consumed, Some("20000"), "{told}");
}

#[test]
fn many_topics_are_created_described_and_deleted() {
    let Some(rig) =
        Rig::new("interop_java_cluster: many", &["log.segment.delete.delay.ms=0", "request.timeout.ms=120000"])
    else {
        return;
    };
    let topics = std::env::var("BALLAST_TOPICS").unwrap_or_else(|_| "50".to_owned());
    let told = run(&mut rig.java.source("ManyTopics", &[&rig.nodes.bootstrap(), "many-", &topics, "10", "3"]));
    println!("{topics} topics of 10 partitions on 3 nodes, in ms:\n{told}");
    let steps: Vec<&str> = told.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(steps, ["created", "led", "described", "listed", "deleted"], "{told}");
    // No node keeps a folder of theirs.
    for id in rig.nodes.ids() {
        let data = rig.nodes.data(id);
        let left = || {
            let entries = std::fs::read_dir(&data).expect("the folder can be listed").filter_map(Result::ok);
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.filter(|name| name.starts_with("many-")).collect::<Vec<_>>()
        };
        eventually(&format!("node {id} has no folder left of {topics} topics"), || left().is_empty().then_some(()));
    }
}

/// What `describe --status` prints behind a word.
fn status(rig: &Rig, word: &str) -> serde_json::Value {
    let status = rig.run("MetadataQuorumCommand", &["describe", "--status"]);
    let line = status.lines().find_map(|line| line.strip_prefix(word));
    serde_json::from_str(line.unwrap_or_else(|| panic!("{status}")).trim()).expect("a number or a list")
}

/// `{"id": N, "directoryId": "…", "endpoints": ["CONTROLLER://HOST:PORT"]}` of each voter, by id.
fn voters(rig: &Rig) -> BTreeMap<i64, serde_json::Value> {
    let voters = status(rig, "CurrentVoters:");
    let voters = voters.as_array().expect("a list").iter();
    voters.map(|voter| (voter["id"].as_i64().expect("an id"), voter.clone())).collect()
}

#[test]
fn a_voter_is_removed_and_added_again() {
    let Some(rig) = Rig::new("interop_java_voters", &[]) else { return };
    let before = voters(&rig);
    assert_eq!(before.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    // The tool fails while the quorum has no leader, so another voter goes.
    let (leader, follower) = (status(&rig, "LeaderId:"), |id: &i64| *id > 1);
    let id = before.keys().copied().filter(follower).find(|id| leader != *id).expect("one of two does not lead");
    let text = |voter: &serde_json::Value, field: &str| voter[field].as_str().expect("a text").to_owned();
    let directory = text(&before[&id], "directoryId");
    let number = id.to_string();
    let named = ["--controller-id", &number, "--controller-directory-id", &directory];
    rig.run("MetadataQuorumCommand", &[&["remove-controller"][..], &named].concat());
    assert!(!voters(&rig).contains_key(&id));

    // The tool looks into the node's own files for its directory id.
    let data = rig.nodes.data(u8::try_from(id).expect("a small id"));
    let listener = before[&id]["endpoints"][0].as_str().expect("a text");
    let properties = format!(
        "process.roles=broker,controller\nnode.id={id}\nlisteners={listener}\nadvertised.listeners={listener}\n\
         controller.listener.names=CONTROLLER\nlog.dirs={}\n",
        data.display()
    );
    let path = data.with_extension("properties");
    std::fs::write(&path, properties).expect("it can be written");
    let path = path.display().to_string();
    let added = rig.run("MetadataQuorumCommand", &["--command-config", &path, "add-controller"]);
    assert!(added.contains(&format!("Added controller {id}")), "{added}");
    assert_eq!(text(&voters(&rig)[&id], "directoryId"), directory);
}
