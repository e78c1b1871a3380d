//! What members of a consumer group tell each other through the coordinator, which does not read it: subscriptions when
//! they join, assignments when they sync. Kafka's `ConsumerProtocol`, versions 0 to 3.
//!
//! ```text
//! subscription  version i16 │ topics │ user data │ owned (1+) │ generation i32 (2+) │ rack (3+)
//! assignment    version i16 │ [topic │ [partition]] │ user data
//! ```
//! Holds: what comes from a newer client is read as far as we know it; counts never size memory.

use std::collections::BTreeMap;

use ballast_wire::PartitionIndex;
use ballast_wire::frame::{Form, Reader, WireError, Writer};
use bytes::Bytes;

/// The version that is written.
const VERSION: i16 = 3;
/// From here on a subscription has these fields.
const OWNED_FIRST: i16 = 1;
const GENERATION_FIRST: i16 = 2;
const RACK_FIRST: i16 = 3;
/// Bytes of a topic without partitions: a length and a count.
const TOPIC_BYTES_MIN: usize = 6;

/// Partitions by topic, in order.
pub type Partitions = BTreeMap<String, Vec<PartitionIndex>>;

/// What one member wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The topics.
    pub topics: Vec<String>,
    /// What it has and has not given back, for assignors that move little.
    pub owned: Partitions,
    /// Of the assignment that `owned` comes from; -1 for none.
    pub generation: i32,
    /// Where the member is.
    pub rack: Option<String>,
}

impl Subscription {
    /// A member that has nothing yet.
    #[must_use]
    pub fn to(topics: Vec<String>) -> Subscription {
        Subscription { topics, owned: Partitions::new(), generation: -1, rack: None }
    }

    /// As Kafka's Java client writes it: the newest version, topics in order.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut topics = self.topics.clone();
        topics.sort_unstable();
        let mut out = Writer::new(Form::of(false));
        out.i16(VERSION);
        out.array(&topics, |out, topic| out.string(topic));
        out.nullable_bytes(None);
        write_partitions(&mut out, &self.owned);
        out.i32(self.generation);
        out.nullable_string(self.rack.as_deref());
        out.finish()
    }

    /// # Errors
    /// Bytes that are no subscription.
    pub fn decode(bytes: &[u8]) -> Result<Subscription, WireError> {
        let mut input = Reader::new(bytes, Form::of(false));
        let version = input.i16()?;
        let topics = input.array(2, |input| input.string().map(std::borrow::Cow::into_owned))?;
        input.nullable_bytes()?;
        let owned = if version >= OWNED_FIRST { read_partitions(&mut input)? } else { Partitions::new() };
        let generation = if version >= GENERATION_FIRST { input.i32()? } else { -1 };
        let rack =
            if version >= RACK_FIRST { input.nullable_string()?.map(std::borrow::Cow::into_owned) } else { None };
        Ok(Subscription { topics, owned, generation, rack })
    }
}

/// Writes one member's partitions.
#[must_use]
pub fn encode_assignment(partitions: &Partitions) -> Bytes {
    let mut out = Writer::new(Form::of(false));
    out.i16(VERSION);
    write_partitions(&mut out, partitions);
    out.nullable_bytes(None);
    out.finish()
}

/// Reads one member's partitions. No bytes at all are no partitions: the leader left this member out.
///
/// # Errors
/// Bytes that are no assignment.
pub fn decode_assignment(bytes: &[u8]) -> Result<Partitions, WireError> {
    if bytes.is_empty() {
        return Ok(Partitions::new());
    }
    let mut input = Reader::new(bytes, Form::of(false));
    input.i16()?;
    read_partitions(&mut input)
}

fn write_partitions(out: &mut Writer, partitions: &Partitions) {
    let rows: Vec<(&String, &Vec<PartitionIndex>)> = partitions.iter().collect();
    out.array(&rows, |out, (topic, partitions)| {
        out.string(topic);
        out.array(partitions, |out, partition| out.i32(*partition));
    });
}

fn read_partitions(input: &mut Reader<'_>) -> Result<Partitions, WireError> {
    let rows =
        input.array(TOPIC_BYTES_MIN, |input| Ok((input.string()?.into_owned(), input.array(4, Reader::i32)?)))?;
    let mut partitions = Partitions::new();
    for (topic, mut more) in rows {
        partitions.entry(topic).or_default().append(&mut more);
    }
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(rows: &[(&str, &[i32])]) -> Partitions {
        rows.iter().map(|(topic, list)| ((*topic).to_owned(), list.to_vec())).collect()
    }

    /// Read off the wire of Apache Kafka 4.4's Java consumer (`range`, no rack).
    #[test]
    fn a_subscription_has_the_bytes_that_java_writes() {
        let ours = Subscription::to(vec!["b".into(), "a".into()]).encode();
        let java = b"\0\x03\0\0\0\x02\0\x01a\0\x01b\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff";
        assert_eq!(ours, java[..]);
        assert_eq!(Subscription::decode(java).unwrap().topics, ["a", "b"]);
    }

    #[test]
    fn an_assignment_has_the_bytes_that_java_writes() {
        let given = partitions(&[("a", &[0, 2])]);
        let java = b"\0\x03\0\0\0\x01\0\x01a\0\0\0\x02\0\0\0\0\0\0\0\x02\xff\xff\xff\xff";
        assert_eq!(encode_assignment(&given), java[..]);
        assert_eq!(decode_assignment(java).unwrap(), given);
    }

    #[test]
    fn every_older_version_and_a_newer_one_are_read() {
        let whole = Subscription {
            topics: vec!["a".into()],
            owned: partitions(&[("a", &[1])]),
            generation: 7,
            rack: Some("r".into()),
        };
        let bytes = whole.encode();
        // Each version is the one after it without its last field.
        for (version, len) in [(0u8, 13), (1, 28), (2, 32), (3, 35)] {
            let mut cut = bytes[..len].to_vec();
            cut[1] = version;
            let read = Subscription::decode(&cut).unwrap();
            assert_eq!(read.topics, ["a"], "version {version}");
            assert_eq!(read.owned.is_empty(), version < 1);
            assert_eq!(read.generation, if version < 2 { -1 } else { 7 });
            assert_eq!(read.rack.is_some(), version == 3);
        }
        let newer = [&b"\0\x09"[..], &bytes[2..], b"more"].concat();
        assert_eq!(Subscription::decode(&newer).unwrap(), whole);
    }

    #[test]
    fn a_member_that_was_left_out_has_no_partitions_and_hostile_counts_are_refused() {
        assert_eq!(decode_assignment(b"").unwrap(), Partitions::new());
        decode_assignment(b"\0\x01\x7f\xff\xff\xff").unwrap_err();
        decode_assignment(b"\0\x01\0\0\0\x01\0\x01a\x7f\xff\xff\xff").unwrap_err();
        Subscription::decode(b"\0\0\x7f\xff\xff\xff").unwrap_err();
        for len in 0..20 {
            let _ = Subscription::decode(&Subscription::to(vec!["topic".into()]).encode()[..len]);
        }
    }
}
