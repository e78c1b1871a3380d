//! Apache Kafka's own tools for administrators, 4.4.0, against a real broker process.

use ballast_tests::foreign::java::Java;
use ballast_tests::process::Serve;

/// The tools, a broker, and a topic `t` of two partitions on it; or nothing if Java is missing.
struct Rig {
    java: Java,
    broker: Serve,
}

impl Rig {
    fn new(test: &str) -> Option<Rig> {
        let rig = Rig { java: Java::new(test)?, broker: Serve::start(&[]) };
        rig.run("TopicCommand", &["--create", "--topic", "t", "--partitions", "2"]);
        Some(rig)
    }

    /// Where the broker is stands before the command, and after it for the one tool that will have it so.
    fn arguments<'a>(&'a self, tool: &str, arguments: &[&'a str]) -> Vec<&'a str> {
        let at = ["--bootstrap-server", &self.broker.bootstrap];
        if tool == "ClusterTool" { [arguments, &at].concat() } else { [&at, arguments].concat() }
    }

    /// What a tool prints when it ends well.
    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        self.java.output(tool, &self.arguments(tool, arguments))
    }

    /// All that a tool prints, however it ends.
    fn try_run(&self, tool: &str, arguments: &[&str]) -> String {
        let output = self.java.tool(tool, &self.arguments(tool, arguments)).output().expect("java runs");
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    }

    fn configs(&self, arguments: &[&str]) -> String {
        self.run("ConfigCommand", arguments)
    }
}

#[test]
fn configs_of_topics_brokers_and_the_cluster_are_changed_and_shown() {
    let Some(rig) = Rig::new("interop_java_admin: configs") else { return };
    let topic = ["--entity-type", "topics", "--entity-name", "t"];
    let alter = |entity: &[&str], change: &[&str]| rig.configs(&[&["--alter"], entity, change].concat());
    let shown = |entity: &[&str]| rig.configs(&[&["--describe"], entity].concat());
    assert_eq!(
        alter(&topic, &["--add-config", "retention.ms=1000,cleanup.policy=[compact,delete]"]),
        "Completed updating config for topic t.\n"
    );
    let now = shown(&topic);
    assert!(now.contains("retention.ms=1000 sensitive=false"), "{now}");
    assert!(now.contains("cleanup.policy=compact,delete sensitive=false"), "{now}");
    alter(&topic, &["--delete-config", "retention.ms"]);
    assert!(!shown(&topic).contains("retention.ms"), "{}", shown(&topic));
    alter(&["--entity-type", "brokers", "--entity-name", "1"], &["--add-config", "log.cleaner.threads=2"]);
    alter(&["--entity-type", "brokers", "--entity-default"], &["--add-config", "max.connections=500"]);
    let brokers = shown(&["--entity-type", "brokers"]);
    for words in ["DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2", "DYNAMIC_DEFAULT_BROKER_CONFIG:max.connections=500"] {
        assert!(brokers.contains(words), "no {words} in {brokers}");
    }
    let all = shown(&["--entity-type", "brokers", "--entity-name", "1", "--all"]);
    assert!(all.lines().count() > 340, "{all}");
    let overridden = rig.run("TopicCommand", &["--describe", "--topics-with-overrides"]);
    // A cluster with eligible leader replicas has its min.insync.replicas set for all topics.
    assert!(overridden.contains("cleanup.policy=compact,delete"), "{overridden}");
}

#[test]
fn configs_of_loggers_groups_and_client_metrics_are_changed_and_shown() {
    let Some(rig) = Rig::new("interop_java_admin: other configs") else { return };
    let loggers = ["--entity-type", "broker-loggers", "--entity-name", "1"];
    rig.configs(&[&["--alter"], &loggers[..], &["--add-config", "ballast_broker.net=DEBUG"]].concat());
    let levels = rig.configs(&[&["--describe"], &loggers[..]].concat());
    assert!(levels.contains("ballast_broker.net=DEBUG") && levels.contains("root=INFO"), "{levels}");
    let group = ["--entity-type", "groups", "--entity-name", "g"];
    rig.configs(&[&["--alter"], &group[..], &["--add-config", "consumer.session.timeout.ms=46000"]].concat());
    let groups = rig.configs(&["--describe", "--entity-type", "groups"]);
    assert!(groups.contains("DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=46000"), "{groups}");
    rig.run("ClientMetricsCommand", &["--alter", "--name", "m", "--metrics", "org.apache.", "--interval", "10000"]);
    assert_eq!(rig.run("ClientMetricsCommand", &["--list"]), "m\n");
    let metrics = rig.run("ClientMetricsCommand", &["--describe"]);
    assert!(metrics.contains("interval.ms=10000") && metrics.contains("metrics=org.apache."), "{metrics}");
}

#[test]
fn features_quorum_and_cluster_are_told() {
    let Some(rig) = Rig::new("interop_java_admin: cluster") else { return };
    let features = rig.run("FeatureCommand", &["describe"]);
    let metadata = features.lines().find(|line| line.starts_with("Feature: metadata.version")).expect("it is told");
    assert!(metadata.contains("FinalizedVersionLevel: 4.0-IV3"), "{metadata}");
    let same = rig.run("FeatureCommand", &["upgrade", "--feature", "metadata.version=25"]);
    assert_eq!(same, "metadata.version was upgraded to 25.\n");
    let above = rig.try_run("FeatureCommand", &["upgrade", "--feature", "transaction.version=99"]);
    assert!(above.contains("Local controller 1 only supports versions"), "{above}");
    let quorum = rig.run("MetadataQuorumCommand", &["describe", "--status"]);
    assert!(quorum.contains("LeaderId:               1") && quorum.contains("MaxFollowerLag:         0"), "{quorum}");
    let replication = rig.run("MetadataQuorumCommand", &["describe", "--replication"]);
    assert!(replication.contains("Leader"), "{replication}");
    assert!(rig.run("ClusterTool", &["cluster-id"]).starts_with("Cluster ID: "));
    let endpoints = rig.run("ClusterTool", &["list-endpoints"]);
    assert!(endpoints.contains("unfenced") && endpoints.contains("broker"), "{endpoints}");
    let unknown = rig.try_run("ClusterTool", &["unregister", "--id", "77"]);
    assert!(unknown.contains("Broker ID 77 is not currently registered"), "{unknown}");
}

#[test]
fn elections_topics_producers_and_access_lists_are_answered() {
    let Some(rig) = Rig::new("interop_java_admin: elections") else { return };
    for kind in ["preferred", "unclean"] {
        let one = ["--election-type", kind, "--topic", "t", "--partition", "0"];
        let elected = rig.run("LeaderElectionCommand", &one);
        assert_eq!(elected, "Valid replica already elected for partitions t-0\n", "{kind}");
        let all = rig.run("LeaderElectionCommand", &["--election-type", kind, "--all-topic-partitions"]);
        assert_eq!(all, "", "{kind}");
    }
    rig.run("TopicCommand", &["--alter", "--topic", "t", "--partitions", "4"]);
    let described = rig.run("TopicCommand", &["--describe", "--topic", "t"]);
    assert!(described.contains("PartitionCount: 4"), "{described}");
    let producers = rig.run("TransactionsCommand", &["describe-producers", "--topic", "t", "--partition", "0"]);
    assert!(producers.starts_with("ProducerId"), "{producers}");
    assert_eq!(rig.run("reassign.ReassignPartitionsCommand", &["--list"]), "No partition reassignments found.\n");
    let acls = rig.try_run("AclCommand", &["--list"]);
    assert!(acls.contains("No Authorizer is configured on the broker"), "{acls}");
}
