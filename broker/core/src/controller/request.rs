//! What the controller can be asked, and what it answers, in plain types. The edge turns Kafka's schemas into these.
//!
//! Holds: an answer to a request that changed something is given only once the change is committed.

use ballast_wire::{BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex, ProducerId, Uuid};

use super::error::{
    AlterPartitionError, AssignError, BrokerError, ConfigError, ElectionError, FeatureError, Refusal, TopicError,
};
use crate::image::{ConfigResource, Registration};
use crate::settings::Row;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// CreateTopics (19).
    CreateTopics {
        /// The topics.
        topics: Vec<NewTopic>,
        /// Check everything, do nothing.
        validate_only: bool,
        /// Milliseconds; 0 or less does nothing and answers REQUEST_TIMED_OUT.
        timeout_ms: i32,
    },
    /// DeleteTopics (20).
    DeleteTopics {
        /// By name or by id.
        topics: Vec<TopicRef>,
        /// As above.
        timeout_ms: i32,
    },
    /// CreatePartitions (37).
    CreatePartitions {
        /// The topics that grow.
        topics: Vec<MorePartitions>,
        /// Check everything, do nothing.
        validate_only: bool,
        /// As above.
        timeout_ms: i32,
    },
    /// IncrementalAlterConfigs (44).
    IncrementalAlterConfigs {
        /// What to change of each resource.
        resources: Vec<(ConfigResource, Vec<ConfigChange>)>,
        /// Check everything, do nothing.
        validate_only: bool,
    },
    /// AlterConfigs (33): replaces all configs of each resource.
    AlterConfigs {
        /// Each resource with all that it shall have.
        resources: Vec<(ConfigResource, Vec<ConfigEntry>)>,
        /// Check everything, do nothing.
        validate_only: bool,
    },
    /// ElectLeaders (43).
    ElectLeaders {
        /// Unclean, or preferred.
        unclean: bool,
        /// Which; `None` is every partition.
        partitions: Option<Vec<(String, PartitionIndex)>>,
    },
    /// UpdateFeatures (57).
    UpdateFeatures {
        /// What to change; all or nothing.
        updates: Vec<FeatureUpdate>,
        /// Check everything, do nothing.
        validate_only: bool,
    },
    /// BrokerRegistration (62).
    RegisterBroker(RegisterBroker),
    /// BrokerHeartbeat (63).
    BrokerHeartbeat(BrokerHeartbeat),
    /// UnregisterBroker (64).
    UnregisterBroker {
        /// Which.
        id: BrokerId,
    },
    /// AlterPartition (56).
    AlterPartition(AlterPartition),
    /// AssignReplicasToDirs (73).
    AssignReplicasToDirs {
        /// Who asks.
        broker: BrokerId,
        /// Its epoch.
        broker_epoch: i64,
        /// Its replicas and the directories that they live in.
        assignments: Vec<DirAssignment>,
    },
    /// AllocateProducerIds (67).
    AllocateProducerIds {
        /// Who asks.
        broker: BrokerId,
        /// Its epoch.
        broker_epoch: i64,
    },
}

/// One answer. Its variant is that of the request, or `Refused`.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The request as a whole was refused.
    Refused(Refusal),
    /// A row for each topic, in the order of the request; a name that came twice has one row.
    CreateTopics(Vec<(String, Result<CreatedTopic, TopicError>)>),
    /// A row for each topic; one that came twice has one row.
    DeleteTopics(Vec<DeletedTopic>),
    /// A row for each topic; a name that came twice has one row.
    CreatePartitions(Vec<(String, Result<(), TopicError>)>),
    /// A row for each resource. Answers both kinds of request.
    AlterConfigs(Vec<(ConfigResource, Result<(), ConfigError>)>),
    /// A row for each partition; with `partitions: None` those that needed nothing are left out.
    ElectLeaders(Vec<(String, PartitionIndex, Result<(), ElectionError>)>),
    /// Done, or the first update that cannot be.
    UpdateFeatures(Result<(), FeatureError>),
    /// The broker's epoch.
    RegisterBroker(Result<i64, BrokerError>),
    /// What the broker should know.
    BrokerHeartbeat(Result<HeartbeatReply, BrokerError>),
    /// Done.
    UnregisterBroker(Result<(), BrokerError>),
    /// A row for each partition, or an error for all.
    AlterPartition(Result<Vec<AlteredPartition>, BrokerError>),
    /// A row for each replica, in the order of the request, or an error for all.
    AssignReplicasToDirs(Result<Vec<AssignedDir>, BrokerError>),
    /// A block of producer ids.
    AllocateProducerIds(Result<ProducerIds, BrokerError>),
}

/// A config and its value. Kafka's schemas allow null, which is always refused.
pub type ConfigEntry = (String, Option<String>);

/// A topic to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// The id that it gets, zero to let the controller choose. A topic that is there under this very id was made by an earlier
    /// copy of the request, whose answer was lost: it counts as made.
    pub id: Uuid,
    /// Number of partitions; -1 for `num.partitions`, or where `assignments` says it.
    pub partitions: i32,
    /// Replicas of each; -1 for `default.replication.factor`, or where `assignments` says it.
    pub replication_factor: i16,
    /// Replicas of each partition, by hand; empty to let the controller place them.
    pub assignments: Vec<(PartitionIndex, Vec<BrokerId>)>,
    /// Topic configs.
    pub configs: Vec<ConfigEntry>,
}

/// A topic as it was created (or would be).
#[derive(Clone, Debug, PartialEq)]
pub struct CreatedTopic {
    /// Its id; made up when nothing was created.
    pub id: Uuid,
    /// Number of partitions.
    pub partitions: i32,
    /// Replicas of each.
    pub replication_factor: i16,
    /// Every topic config as it is in force.
    pub configs: Vec<Row>,
}

/// A topic by name or by id; one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicRef {
    /// Its name.
    pub name: Option<String>,
    /// Its id, or zero.
    pub id: Uuid,
}

/// What became of a topic that was to be deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletedTopic {
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Its id, where it is known.
    pub id: Uuid,
    /// Deleted, or why not.
    pub result: Result<(), TopicError>,
}

/// A topic to grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MorePartitions {
    /// Its name.
    pub name: String,
    /// Partitions it shall have in all.
    pub count: i32,
    /// Replicas of each new one, by hand.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// What to do with one config. The numbers are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOp {
    /// Set the value (0).
    Set,
    /// Back to the default (1).
    Delete,
    /// Add to a list what is not in it yet (2).
    Append,
    /// Take out of a list (3).
    Subtract,
}

impl ConfigOp {
    /// The operation with Kafka's number `id`.
    #[must_use]
    pub fn from_id(id: i8) -> Option<ConfigOp> {
        match id {
            0 => Some(ConfigOp::Set),
            1 => Some(ConfigOp::Delete),
            2 => Some(ConfigOp::Append),
            3 => Some(ConfigOp::Subtract),
            _ => None,
        }
    }
}

/// A change of one config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// Its key.
    pub key: String,
    /// What to do.
    pub op: ConfigOp,
    /// With what; not needed to delete.
    pub value: Option<String>,
}

/// Which way a feature's level may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeKind {
    /// Up only (1).
    Upgrade,
    /// Down as well, if nothing is lost (2).
    SafeDowngrade,
    /// Down as well, whatever is lost (3).
    UnsafeDowngrade,
}

impl UpgradeKind {
    /// The kind with Kafka's number `id`.
    #[must_use]
    pub fn from_id(id: i8) -> Option<UpgradeKind> {
        match id {
            1 => Some(UpgradeKind::Upgrade),
            2 => Some(UpgradeKind::SafeDowngrade),
            3 => Some(UpgradeKind::UnsafeDowngrade),
            _ => None,
        }
    }
}

/// A feature's new level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// Which feature.
    pub feature: String,
    /// Its level; 0 switches it off.
    pub level: i16,
    /// Which way; `None` for a kind that nobody knows.
    pub upgrade: Option<UpgradeKind>,
}

/// A broker that asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterBroker {
    /// The cluster that it belongs to, as text.
    pub cluster_id: String,
    /// What it is. `epoch`, `fenced` and `in_controlled_shutdown` are the controller's to say and are ignored.
    pub broker: Registration,
    /// Its epoch when it last stopped in an orderly way, or -1.
    pub previous_epoch: i64,
    /// Does it live in the controller's own process? Its former life is then over for certain, whatever its session says.
    pub in_process: bool,
}

/// A sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerHeartbeat {
    /// Who.
    pub id: BrokerId,
    /// Its epoch.
    pub epoch: i64,
    /// Index of the last metadata entry that it has applied.
    pub metadata_index: u64,
    /// Does it want to be fenced?
    pub want_fence: bool,
    /// Does it want to stop?
    pub want_shutdown: bool,
    /// Log directories that have failed since it registered.
    pub offline_dirs: Vec<Uuid>,
}

/// Answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// Has it applied its own registration?
    pub is_caught_up: bool,
    /// Is it fenced?
    pub is_fenced: bool,
    /// May it stop now?
    pub should_shut_down: bool,
}

/// A leader asks for other ISRs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterPartition {
    /// The leader.
    pub broker: BrokerId,
    /// Its epoch.
    pub broker_epoch: i64,
    /// One per partition.
    pub partitions: Vec<IsrChange>,
}

/// The ISR that a leader wants for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrChange {
    /// Topic.
    pub topic: Uuid,
    /// Partition.
    pub index: PartitionIndex,
    /// The leader epoch that it leads in.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that it knows.
    pub partition_epoch: PartitionEpoch,
    /// Members with the broker epochs that they fetched under; -1 where that is not known.
    pub isr: Vec<(BrokerId, i64)>,
    /// Kafka's number of the recovery state.
    pub recovery: i8,
}

/// What became of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct AlteredPartition {
    /// Topic.
    pub topic: Uuid,
    /// Partition.
    pub index: PartitionIndex,
    /// The partition as it is now, or why nothing changed.
    pub result: Result<PartitionState, AlterPartitionError>,
}

/// What AlterPartition tells about a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// Leader, or -1.
    pub leader: BrokerId,
    /// Leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// ISR.
    pub isr: Vec<BrokerId>,
    /// Kafka's number of the recovery state.
    pub recovery: i8,
    /// Partition epoch.
    pub partition_epoch: PartitionEpoch,
}

/// The directory that one replica lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirAssignment {
    /// The directory.
    pub dir: Uuid,
    /// Topic.
    pub topic: Uuid,
    /// Partition.
    pub index: PartitionIndex,
}

/// What became of one assignment.
pub type AssignedDir = (DirAssignment, Result<(), AssignError>);

/// A block of producer ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIds {
    /// The first.
    pub first: ProducerId,
    /// How many.
    pub len: i32,
}
