//! The cluster under test, and what it says of itself.

use std::process::Command;
use std::time::Duration;

use ballast_tests::nodes::{Nodes, Town};
use ballast_tests::process::ballast;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use serde_json::Value;

use super::java;
use super::numbers::{PARTITIONS, TIMEOUT, TOPIC};

/// A lost node is noticed within this time.
pub(super) const SESSION: Duration = Duration::from_secs(3);

const SETTINGS: [&str; 5] = [
    "broker.session.timeout.ms=3000",
    "broker.heartbeat.interval.ms=500",
    "replica.lag.time.max.ms=3000",
    "min.insync.replicas=2",
    "log.segment.bytes=1048576",
];

pub(super) struct Cluster {
    pub(super) nodes: Nodes,
    admin: AdminClient<DefaultClientContext>,
}

impl Cluster {
    /// Three nodes with the topics on all of them.
    pub(super) async fn start(town: Option<Town>) -> Cluster {
        let nodes = Nodes::start(3, town, &SETTINGS);
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", nodes.bootstrap()).set("broker.address.family", "v4");
        config.set("reconnect.backoff.max.ms", "200").set("socket.timeout.ms", "5000");
        let admin: AdminClient<_> = config.create().expect("the settings are good");
        let topics = [TOPIC, java::TOPIC];
        let wanted = topics.map(|topic| NewTopic::new(topic, PARTITIONS, TopicReplication::Fixed(3)));
        let created = admin.create_topics(&wanted, &AdminOptions::new()).await.expect("the cluster answers");
        assert_eq!(created, topics.map(|topic| Ok(topic.to_owned())), "{}", nodes.logs());
        let cluster = Cluster { nodes, admin };
        cluster.heals("at the start").await;
        cluster
    }

    /// Leader and in-sync replicas of every partition, as the cluster tells them now.
    fn partitions(&self) -> Option<Vec<(i32, Vec<i32>)>> {
        let told = self.admin.inner().fetch_metadata(Some(TOPIC), Duration::from_secs(5)).ok()?;
        let topic = told.topics().first()?;
        let of = |partition: &rdkafka::metadata::MetadataPartition| (partition.leader(), partition.isr().to_vec());
        Some(topic.partitions().iter().map(of).collect())
    }

    /// Who leads the first partition.
    pub(super) fn leader(&self) -> u8 {
        let leads = || u8::try_from(self.partitions()?.first()?.0).ok();
        leads().unwrap_or_else(|| panic!("nobody leads:\n{}", self.nodes.logs()))
    }

    /// Who does not.
    pub(super) fn follower(&self) -> u8 {
        let leader = self.leader();
        self.nodes.ids().find(|id| *id != leader).expect("there are three")
    }

    /// Who decides about the metadata.
    pub(super) fn controller(&self) -> u8 {
        for _ in 0..100 {
            let mut command = Command::new(ballast());
            command.args(["cluster", "quorum", "--json", "-b", &self.nodes.bootstrap()]);
            let output = command.output().expect("the program runs");
            let told: Option<Value> = serde_json::from_slice(&output.stdout).ok();
            if let Some(leader) = told.and_then(|told| told["leader"].as_u64()) {
                return u8::try_from(leader).expect("an id of ours");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("nobody decides:\n{}", self.nodes.logs());
    }

    /// Waits until every replica is in sync again: the next fault shall be the only one.
    pub(super) async fn heals(&self, when: &str) {
        let whole = async {
            loop {
                let partitions = self.partitions().unwrap_or_default();
                if partitions.len() == PARTITIONS as usize && partitions.iter().all(|(_, isr)| isr.len() == 3) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let healed = tokio::time::timeout(2 * TIMEOUT, whole).await;
        assert!(healed.is_ok(), "{when}: not every replica is in sync: {:?}\n{}", self.partitions(), self.nodes.logs());
    }
}
