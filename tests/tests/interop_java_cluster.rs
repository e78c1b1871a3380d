//! Apache Kafka's own tools for administrators, 4.4.0, against three broker processes, of which one dies.
//!
//! Holds: nothing here waits for a time to pass; what spreads is asked for until it is there.

use ballast_tests::foreign::java::Java;
use ballast_tests::nodes::Nodes;

/// Questions until an answer must have come; each starts a Java machine, which takes its time.
const ASKED_MAX: usize = 60;

/// Three nodes that soon notice a silent one.
struct Rig {
    java: Java,
    nodes: Nodes,
}

impl Rig {
    fn new(test: &str) -> Option<Rig> {
        let java = Java::new(test)?;
        let settings = ["broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500"];
        Some(Rig { java, nodes: Nodes::start(3, None, &settings) })
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
    let Some(mut rig) = Rig::new("interop_java_cluster") else { return };
    rig.create("exact", "1:2:3,2:3:1", "2");
    rig.create("first", "3:1:2", "1");
    rig.create("strict", "1:2:3", "3");
    rig.create("alone", "3", "1");
    assert_eq!(rig.described("--under-replicated-partitions"), [""; 0]);

    rig.nodes.node_mut(3).kill();
    // The last member of an ISR keeps its place, so `alone` lacks no replica; it lacks a leader.
    rig.await_under_replicated(&["exact", "first", "strict"]);
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
