//! A topic with numbered records, and members that read it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_client::consumer::{ConsumerConfig, OffsetReset};
use ballast_client::group::{GroupConfig, GroupConsumer};
use ballast_client::producer::{NewRecord, Producer, ProducerConfig};
use ballast_client::{Admin, ClientConfig, Cluster, World};
use ballast_tests::target::{self, Broker};

/// A broker that is busy, or a group that waits for a member: far more than anything takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// (partition, offset) of a record: every one is written once, so each stands for itself.
pub(crate) type Place = (i32, i64);

pub(crate) struct Rig {
    // Keeps the broker while it is used.
    _broker: Arc<Broker>,
    pub(crate) cluster: Cluster,
    pub(crate) admin: Admin,
    pub(crate) topic: String,
    pub(crate) group: String,
}

impl Rig {
    /// A topic of `partitions`, with as many records in each as asked.
    pub(crate) async fn new(partitions: i32, records: usize) -> Rig {
        let broker = target::shared();
        let topic = broker.topic("grouped", partitions, &[]).name;
        let mut config = ClientConfig::new(&broker.bootstrap).expect("an address");
        // A topic that grows is to be noticed within the test.
        config.metadata_max_age = Duration::from_millis(500);
        let cluster = Cluster::new(config, World::real());
        let admin = Admin::new(cluster.clone());
        let rig = Rig { _broker: broker, cluster, admin, topic, group: target::unique("group") };
        rig.write(0..partitions, records).await;
        rig
    }

    pub(crate) async fn write(&self, partitions: std::ops::Range<i32>, records: usize) {
        let producer = Producer::new(self.cluster.clone(), ProducerConfig::default()).expect("good settings");
        for partition in partitions {
            for at in 0..records {
                let value = at.to_string();
                let new =
                    NewRecord { value: Some(value.as_bytes()), partition: Some(partition), ..NewRecord::default() };
                producer.send(&self.topic, new).await.expect("there is room");
            }
        }
        producer.flush().await.expect("all is written");
    }

    pub(crate) fn member_with(&self, change: impl FnOnce(&mut GroupConfig)) -> GroupConsumer {
        let mut config = GroupConfig::new(&self.group);
        config.session_timeout = Duration::from_secs(6);
        config.heartbeat_interval = Duration::from_millis(200);
        change(&mut config);
        let consumer = ConsumerConfig { offset_reset: OffsetReset::Earliest, ..ConsumerConfig::default() };
        GroupConsumer::subscribe(self.cluster.clone(), &[&self.topic], config, consumer).expect("good settings")
    }

    pub(crate) fn member(&self) -> GroupConsumer {
        self.member_with(|_| ())
    }

    /// What the group has committed, by partition.
    pub(crate) async fn committed(&self) -> BTreeMap<i32, i64> {
        let offsets = self.admin.group_offsets(&self.group).await.expect("the coordinator answers");
        offsets.into_iter().map(|((_, partition), at)| (partition, at.offset)).collect()
    }
}

/// Polls all members in turn, noting what each reads, until `done` says so.
pub(crate) async fn poll_until(
    members: &mut [(&mut GroupConsumer, &mut Vec<Place>)],
    done: impl Fn(&[(&mut GroupConsumer, &mut Vec<Place>)]) -> bool,
) {
    let turns = async {
        while !done(members) {
            for (member, read) in members.iter_mut() {
                let fetched = member.poll(POLL).await.expect("the membership goes on");
                read.extend(fetched.iter().flat_map(|part| part.records.iter().map(|r| (part.partition, r.offset))));
            }
        }
    };
    tokio::time::timeout(PATIENCE, turns).await.expect("the group gets there");
}

/// How many partitions it has.
pub(crate) fn share(member: &GroupConsumer) -> usize {
    member.assignment().values().map(Vec::len).sum()
}

/// All places of a topic.
pub(crate) fn all_places(partitions: i32, records: i64) -> Vec<Place> {
    (0..partitions).flat_map(|partition| (0..records).map(move |offset| (partition, offset))).collect()
}

pub(crate) fn sorted(places: &[&Vec<Place>]) -> Vec<Place> {
    let mut all: Vec<Place> = places.iter().flat_map(|one| one.iter().copied()).collect();
    all.sort_unstable();
    all
}
