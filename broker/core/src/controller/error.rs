//! Why the controller says no: a cause for each, with Kafka's code and words.
//!
//! Holds: `code` matches without a wildcard, so a new cause does not compile before it has a code.

use ballast_wire::{BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex, Uuid};

use crate::settings::SettingError;

/// The request as a whole cannot be served here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another node decides, or none does at the moment.
    #[error("This is not the correct controller for this cluster.")]
    NotController,
    /// It was sent to another node and no answer came, or the controller stepped down while it was on its way to the log: it
    /// may have been carried out, or be carried out yet.
    #[error("The controller did not answer in time.")]
    Lost,
}

impl Refusal {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            Refusal::NotController => 41,
            Refusal::Lost => 7,
        }
    }
}

/// Why a topic was not created, deleted or grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TopicError {
    /// The request gave no time.
    #[error("The request timed out.")]
    TimedOut,
    /// No topic may be called that.
    #[error("{0}")]
    BadName(String),
    /// It would share its metric names with another topic.
    #[error("Topic '{name}' collides with existing topic: {other}")]
    Collides {
        /// The new name.
        name: String,
        /// The topic that exists.
        other: String,
    },
    /// Reserved for the cluster itself.
    #[error("Creation of internal topic {0} is prohibited.")]
    Reserved(String),
    /// It exists.
    #[error("Topic '{0}' already exists.")]
    Exists(String),
    /// The request names it twice.
    #[error("Duplicate topic name.")]
    Duplicate,
    /// The request names it twice, by name or id.
    #[error("{0}")]
    DuplicateRef(String),
    /// A count that makes no sense.
    #[error("{0}")]
    BadPartitions(String),
    /// A replication factor that makes no sense, or too few brokers.
    #[error("{0}")]
    BadReplicationFactor(String),
    /// An assignment that cannot be.
    #[error("{0}")]
    BadAssignment(String),
    /// A request that contradicts itself.
    #[error("{0}")]
    BadRequest(String),
    /// A config that is unknown or out of range.
    #[error("{0}")]
    BadConfig(SettingError),
    /// A config without a value.
    #[error("Null value not supported for topic configs: {0}")]
    NullConfig(String),
    /// Too many partitions at once.
    #[error("Excessively large number of {0} per request.")]
    TooMany(&'static str),
    /// No topic has this name.
    #[error("This server does not host this topic-partition.")]
    Unknown,
    /// No topic has this id.
    #[error("This server does not host this topic ID.")]
    UnknownId,
    /// `delete.topic.enable` is off.
    #[error("Topic deletion is disabled.")]
    DeletionDisabled,
    /// A controller in another node said so, by this code and in these words.
    #[error("{1}")]
    Told(i16, String),
}

impl TopicError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            TopicError::TimedOut => 7,
            TopicError::BadName(_) | TopicError::Collides { .. } => 17,
            TopicError::Exists(_) => 36,
            TopicError::BadPartitions(_) => 37,
            TopicError::BadReplicationFactor(_) => 38,
            TopicError::BadAssignment(_) => 39,
            TopicError::BadConfig(_) | TopicError::NullConfig(_) => 40,
            TopicError::BadRequest(_)
            | TopicError::Duplicate
            | TopicError::DuplicateRef(_)
            | TopicError::Reserved(_) => 42,
            TopicError::TooMany(_) => 44,
            TopicError::Unknown => 3,
            TopicError::UnknownId => 100,
            TopicError::DeletionDisabled => 73,
            TopicError::Told(code, _) => *code,
        }
    }
}

/// Why configs were not changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A topic or group config that is unknown or out of range.
    #[error("{0}")]
    Invalid(SettingError),
    /// A broker or client metrics config that is out of range, or a request that contradicts itself.
    #[error("{0}")]
    BadRequest(String),
    /// The config takes no lists, or is in force only elsewhere.
    #[error("{0}")]
    NotHere(String),
    /// No such topic.
    #[error("The topic '{0}' does not exist.")]
    UnknownTopic(String),
    /// No topic may be called that.
    #[error("{0}")]
    BadTopicName(String),
}

impl ConfigError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            ConfigError::Invalid(_) | ConfigError::NotHere(_) => 40,
            ConfigError::BadRequest(_) => 42,
            ConfigError::UnknownTopic(_) => 3,
            ConfigError::BadTopicName(_) => 17,
        }
    }
}

/// Why no leader was elected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElectionError {
    /// No such topic.
    #[error("No such topic as {0}")]
    UnknownTopic(String),
    /// The topic has no such partition.
    #[error("No such partition as {0}-{1}")]
    UnknownPartition(String, PartitionIndex),
    /// It leads already.
    #[error("Leader election not needed for topic partition.")]
    NotNeeded,
    /// The preferred replica is not in sync or not alive.
    #[error("The preferred leader was not available.")]
    PreferredNotAvailable,
    /// No replica is alive.
    #[error("Eligible topic partition leaders are not available.")]
    EligibleNotAvailable,
}

impl ElectionError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            ElectionError::UnknownTopic(_) | ElectionError::UnknownPartition(..) => 3,
            ElectionError::NotNeeded => 84,
            ElectionError::PreferredNotAvailable => 80,
            ElectionError::EligibleNotAvailable => 83,
        }
    }
}

/// Why no feature was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The update failed for all features since the following feature had an error: Invalid update version {level} for feature {feature}. {why}"
)]
pub struct FeatureError {
    /// The first that cannot be changed.
    pub feature: String,
    /// The level asked for.
    pub level: i16,
    /// Why, in Kafka's words.
    pub why: String,
}

impl FeatureError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        95
    }
}

/// Why a broker's own request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// It belongs elsewhere.
    #[error("Expected cluster ID {ours}, but got cluster ID {given}")]
    InconsistentClusterId {
        /// Ours.
        ours: String,
        /// Theirs.
        given: String,
    },
    /// Another process with this id is alive.
    #[error(
        "Another broker is registered with that broker id. If the broker was recently restarted this should self-resolve once the heartbeat timeout expires."
    )]
    DuplicateRegistration {
        /// The id.
        id: BrokerId,
    },
    /// Log directories that cannot be.
    #[error("{0}")]
    InvalidRegistration(String),
    /// A finalized feature that it cannot work with.
    #[error(
        "Unable to register because the broker does not support finalized version {level} of {feature}. The broker wants a version between {min} and {max}, inclusive."
    )]
    UnsupportedFeature {
        /// Feature.
        feature: String,
        /// Finalized level.
        level: i16,
        /// Lowest level it supports.
        min: i16,
        /// Highest level it supports.
        max: i16,
    },
    /// Its epoch is not the present one.
    #[error("Expected broker epoch {expected}, but got broker epoch {given}")]
    StaleEpoch {
        /// The present one.
        expected: i64,
        /// Its own.
        given: i64,
    },
    /// It names an epoch, and is not registered at all.
    #[error("No broker registration found for broker id {0}")]
    NoEpoch(BrokerId),
    /// It never registered.
    #[error("Broker ID {0} is not currently registered")]
    NotRegistered(BrokerId),
    /// The last id is gone.
    #[error("Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit")]
    ProducerIdsExhausted,
    /// A controller in another node said so, by this code.
    #[error("the controller refused with code {0}")]
    Told(i16),
}

impl BrokerError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            BrokerError::InconsistentClusterId { .. } => 104,
            BrokerError::DuplicateRegistration { .. } => 101,
            BrokerError::InvalidRegistration(_) => 119,
            BrokerError::UnsupportedFeature { .. } => 35,
            BrokerError::StaleEpoch { .. } | BrokerError::NoEpoch(_) => 77,
            BrokerError::NotRegistered(_) => 102,
            BrokerError::ProducerIdsExhausted => -1,
            BrokerError::Told(code) => *code,
        }
    }
}

/// Why an ISR was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlterPartitionError {
    /// No topic has this id.
    #[error("no topic has id {0}")]
    UnknownTopicId(Uuid),
    /// The topic has no such partition.
    #[error("the topic has no such partition")]
    UnknownPartition,
    /// The leader knows a later epoch than this controller: this one is out of date.
    #[error("leader epoch {leader_epoch} or partition epoch {partition_epoch} is from the future")]
    ControllerBehind {
        /// Given.
        leader_epoch: LeaderEpoch,
        /// Given.
        partition_epoch: PartitionEpoch,
    },
    /// Another leader was elected since.
    #[error("leader epoch {given} is over, the present one is {ours}")]
    FencedLeaderEpoch {
        /// Given.
        given: LeaderEpoch,
        /// Present.
        ours: LeaderEpoch,
    },
    /// The partition changed since.
    #[error("partition epoch {given} is not the present one, {ours}")]
    InvalidUpdateVersion {
        /// Given.
        given: PartitionEpoch,
        /// Present.
        ours: PartitionEpoch,
    },
    /// It cannot be.
    #[error("{0}")]
    InvalidRequest(String),
    /// A member is fenced, leaving, or another incarnation.
    #[error("broker {0} may not join the ISR")]
    IneligibleReplica(BrokerId),
    /// The change was made, and it ended a reassignment that gave the partition another leader.
    #[error("another broker leads now")]
    NewLeaderElected,
    /// A controller in another node said so, by this code.
    #[error("the controller refused with code {0}")]
    Told(i16),
}

impl AlterPartitionError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            AlterPartitionError::UnknownTopicId(_) => 100,
            AlterPartitionError::UnknownPartition => 3,
            AlterPartitionError::ControllerBehind { .. } => 41,
            AlterPartitionError::FencedLeaderEpoch { .. } => 74,
            AlterPartitionError::InvalidUpdateVersion { .. } => 95,
            AlterPartitionError::InvalidRequest(_) => 42,
            AlterPartitionError::IneligibleReplica(_) => 107,
            AlterPartitionError::NewLeaderElected => 108,
            AlterPartitionError::Told(code) => *code,
        }
    }
}

/// Why a replica was not assigned to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// No topic has this id.
    #[error("no topic has this id")]
    UnknownTopicId,
    /// The topic has no such partition.
    #[error("the topic has no such partition")]
    UnknownPartition,
    /// The broker holds no replica of it.
    #[error("the broker is no replica of the partition")]
    NotReplica,
    /// A controller in another node said so, by this code.
    #[error("the controller refused with code {0}")]
    Told(i16),
}

impl AssignError {
    /// Kafka's error code.
    #[must_use]
    pub fn code(&self) -> i16 {
        match self {
            AssignError::UnknownTopicId => 100,
            AssignError::UnknownPartition => 3,
            AssignError::NotReplica => 6,
            AssignError::Told(code) => *code,
        }
    }
}
