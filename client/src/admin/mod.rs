//! Administration: topics, configs, offsets, groups, elections, the cluster itself. Every call is tried again until
//! `default.api.timeout.ms`.
//!
//! Answers come as plain structs of ours: whoever prints them need not know the protocol's own.
//!
//! Read next: `topics`, `configs`, `offsets`, `brokers`, `groups`, `group_offsets`, `elections`.

mod brokers;
mod configs;
mod controller;
mod elections;
mod group_offsets;
mod groups;
mod offsets;
mod partitions;
#[cfg(test)]
mod tests;
mod topics;
mod voters;

pub use brokers::{BrokerDescription, ClusterDescription, LogDir, LogDirPartition, Quorum, QuorumNode, QuorumReplica};
pub use configs::{ConfigEntry, ConfigResource, ConfigSource};
pub use elections::{Elected, Election};
pub use group_offsets::{CommittedOffset, GroupPartition};
pub(crate) use group_offsets::{Committer, commit_request, committed, fetch_request, fetched};
pub use groups::{GroupDescription, GroupMember, ListedGroup, MemberName};
pub use offsets::{EpochEnd, ListedOffset, OffsetSpec};
pub use partitions::EligibleLeaders;
pub use topics::{CreatedTopic, NewTopic};

use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;

use crate::cluster::Cluster;
use crate::{ClientError, ErrorCode};

/// The administrator's view of a cluster.
#[derive(Clone)]
pub struct Admin {
    cluster: Cluster,
}

impl Admin {
    /// Administers `cluster`, over its connections.
    #[must_use]
    pub fn new(cluster: Cluster) -> Admin {
        Admin { cluster }
    }

    /// How long a broker may work on a request.
    fn timeout_ms(&self) -> i32 {
        let config = self.cluster.config();
        i32::try_from(config.request_timeout.min(config.api_timeout).as_millis()).unwrap_or(i32::MAX)
    }
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

/// `Ok` for code 0, else a refusal of `what` in the broker's own words.
fn outcome(what: impl Into<String>, code: i16, message: Option<&StrBytes>) -> Result<(), ClientError> {
    ErrorCode(code).ok().map_err(|code| ClientError::Refused {
        what: what.into(),
        code,
        message: message.map(ToString::to_string),
    })
}

/// Like [`outcome`], for a call about a topic that should be there: nobody waits for one in order to change it, though
/// elsewhere it may be on its way and the code is worth another try. The caller judges the answer once more.
fn settled(what: impl Into<String>, code: i16, message: Option<&StrBytes>) -> Result<(), ClientError> {
    if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0 { Ok(()) } else { outcome(what, code, message) }
}

/// The only row of an answer that was asked about one thing.
fn only<T>(rows: impl IntoIterator<Item = T>, what: &str) -> Result<T, ClientError> {
    rows.into_iter().next().ok_or_else(|| ClientError::BadAnswer {
        address: "the broker".to_owned(),
        what: what.to_owned(),
        reason: "it has no row for what was asked".to_owned(),
    })
}
