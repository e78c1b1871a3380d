//! Who reads what: the group's leader divides the partitions among the members.
//!
//! Holds: an assignor is a function of its arguments; every partition of a subscribed topic goes to exactly one member that
//! subscribes to it; given the same members, the results are those of Kafka's Java assignors of the same name, so that it
//! does not matter whose client leads. (Java's `range` also weighs racks where members name theirs; ours does not.)
//!
//! Read next: `range`, `round_robin`.

mod range;
mod round_robin;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::PartitionIndex;

use super::protocol::{Partitions, Subscription};

/// A way to divide partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignor {
    /// Each topic in ranges, the first members getting the longer ones.
    Range,
    /// All partitions of all topics in turn.
    RoundRobin,
}

impl Assignor {
    /// The name under which members vote for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
        }
    }

    /// By that name, or by the name of Kafka's Java class.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Assignor> {
        match name.strip_prefix("org.apache.kafka.clients.consumer.").unwrap_or(name) {
            "range" | "RangeAssignor" => Some(Assignor::Range),
            "roundrobin" | "RoundRobinAssignor" => Some(Assignor::RoundRobin),
            _ => None,
        }
    }

    /// Divides. `counts`: how many partitions the topics have; one that is not there has none. Every member gets a row.
    #[must_use]
    pub fn assign(self, members: &[Candidate], counts: &BTreeMap<String, i32>) -> BTreeMap<String, Partitions> {
        let mut sorted: Vec<&Candidate> = members.iter().collect();
        sorted.sort_by(|a, b| a.order(b));
        let mut given: BTreeMap<String, Partitions> =
            members.iter().map(|member| (member.id.clone(), Partitions::new())).collect();
        let mut give = |member: &Candidate, topic: &str, partition: PartitionIndex| {
            let partitions = given.entry(member.id.clone()).or_default();
            partitions.entry(topic.to_owned()).or_default().push(partition);
        };
        match self {
            Assignor::Range => range::assign(&sorted, counts, &mut give),
            Assignor::RoundRobin => round_robin::assign(&sorted, counts, &mut give),
        }
        given
    }
}

/// A member that may get partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its member id.
    pub id: String,
    /// `group.instance.id`, if it has one.
    pub instance_id: Option<String>,
    /// What it wants.
    pub subscription: Subscription,
}

impl Candidate {
    fn wants(&self, topic: &str) -> bool {
        self.subscription.topics.iter().any(|wanted| wanted == topic)
    }

    /// Static members come first, by instance id: their partitions stay when member ids change. Java compares UTF-16.
    fn order(&self, other: &Candidate) -> Ordering {
        let by = |a: &str, b: &str| a.encode_utf16().cmp(b.encode_utf16());
        match (&self.instance_id, &other.instance_id) {
            (Some(ours), Some(theirs)) => by(ours, theirs),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => by(&self.id, &other.id),
        }
    }
}

/// Topics that somebody wants and that are there, in order.
fn topics<'a>(members: &[&'a Candidate], counts: &BTreeMap<String, i32>) -> Vec<(&'a str, i32)> {
    let wanted: BTreeSet<&str> =
        members.iter().flat_map(|member| &member.subscription.topics).map(String::as_str).collect();
    wanted.into_iter().filter_map(|topic| Some((topic, *counts.get(topic)?))).collect()
}
