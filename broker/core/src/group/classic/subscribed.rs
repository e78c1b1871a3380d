//! Which topics a group subscribes to: their offsets neither expire nor can be deleted.
//!
//! Holds: `None` where that cannot be known: no consumers, or a subscription that nobody can read.

use std::collections::BTreeSet;

use super::{Classic, GroupState};
use crate::group::subscription;

/// Protocol type of consumers.
const CONSUMER: &str = "consumer";

/// When a group's offsets expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::group) enum Expiry {
    /// Not while the group is as it is.
    Never,
    /// The retention runs from each commit.
    FromCommit,
    /// The retention runs from this moment, by the wall clock.
    From(i64),
}

impl Classic {
    pub(in crate::group) fn is_consumer_group(&self) -> bool {
        self.protocol_type() == Some(CONSUMER)
    }

    /// A consumer group whose subscriptions cannot be read counts as subscribed to everything.
    pub(in crate::group) fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed {
            Some(topics) => topics.contains(topic),
            None => self.is_consumer_group(),
        }
    }

    /// KIP-211: offsets outlive their group by the retention; those of topics that members still read do not expire.
    pub(in crate::group) fn expiry(&self) -> Expiry {
        match (&self.protocol_type, self.state) {
            (None, _) => Expiry::FromCommit,
            (Some(_), GroupState::Empty) if self.state_since_ms < 0 => Expiry::FromCommit,
            (Some(_), GroupState::Empty) => Expiry::From(self.state_since_ms),
            (Some(_), GroupState::Stable) if self.is_consumer_group() && self.subscribed.is_some() => {
                Expiry::FromCommit
            }
            (Some(_), _) => Expiry::Never,
        }
    }

    /// Topics that the members subscribe to with the protocol that was chosen.
    pub(super) fn subscribed_topics(&self) -> Option<BTreeSet<Box<str>>> {
        if !self.is_consumer_group() {
            return None;
        }
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            subscription::add_topics(&member.metadata(self.protocol_name()?), &mut topics)?;
        }
        Some(topics)
    }
}
