//! What happened in a run, in the order in which it happened: what clients asked and heard, what brokers did, what was
//! broken on purpose.
//!
//! Everything runs in one thread, so the order is total: an entry stands before another exactly if it happened before.
//! Values are unique ([`Value`]), so that a record can be recognised wherever it turns up.

use std::fmt;
use std::sync::Arc;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionEpoch, PartitionIndex, Uuid};
use parking_lot::Mutex;

use super::clock::TrueTime;

/// A partition by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its topic.
    pub topic: Arc<str>,
    /// Its number.
    pub partition: PartitionIndex,
}

impl Place {
    /// A partition of a topic.
    #[must_use]
    pub fn new(topic: &str, partition: PartitionIndex) -> Place {
        Place { topic: topic.into(), partition }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// The value of one record: who sent it, as its how manieth, and a checksum of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// The producer's number. A producer that begins anew gets a new one.
    pub producer: u32,
    /// How many the producer had sent before, to any partition.
    pub sequence: u64,
}

impl Value {
    /// As bytes, with `padding` more behind.
    #[must_use]
    pub fn encode(self, padding: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + padding);
        bytes.extend_from_slice(&self.producer.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&hash(&bytes).to_be_bytes());
        bytes.resize(20 + padding, b'.');
        bytes
    }

    /// Reads it back; `None` for bytes that no producer of ours has sent.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Value> {
        let (head, padding) = bytes.split_at_checked(20)?;
        let stored = u64::from_be_bytes(head[12..].try_into().ok()?);
        let whole = stored == hash(&head[..12]) && padding.iter().all(|byte| *byte == b'.');
        whole.then_some(Value {
            producer: u32::from_be_bytes(head[..4].try_into().ok()?),
            sequence: u64::from_be_bytes(head[4..12].try_into().ok()?),
        })
    }
}

/// FNV-1a.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One thing that happened.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A producer gave a record to its client.
    Sent { at: Place, value: Value },
    /// It heard that the record is written.
    Acked { at: Place, value: Value, offset: Offset },
    /// It heard that it is not, or nothing: the record may be there all the same.
    Unknown { at: Place, value: Value, error: String },
    /// A reader got a record; `None` for bytes that nobody sent.
    Read { reader: u32, at: Place, offset: Offset, leader_epoch: LeaderEpoch, value: Option<Value> },
    /// A reader begins anew at this offset.
    Sought { reader: u32, at: Place, offset: Offset },
    /// A reader was told something that ends its reading.
    ReadFailed { reader: u32, error: String },
    /// A group's member was given these partitions.
    Assigned { group: &'static str, member: u32, generation: i32, partitions: Vec<Place> },
    /// A member asked to commit.
    Committing { group: &'static str, member: u32, generation: i32, offsets: Vec<(Place, Offset)> },
    /// It heard that it was done.
    Committed { group: &'static str, member: u32, generation: i32, offsets: Vec<(Place, Offset)> },
    /// A member was told something that ends its membership.
    MemberFailed { group: &'static str, member: u32, error: String },
    /// Somebody asks what the group has committed.
    AskingCommitted { group: &'static str },
    /// What the group had committed at the end of the run.
    FinallyCommitted { group: &'static str, offsets: Vec<(Place, Offset)> },
    /// A topic was made.
    TopicMade { name: String, id: Uuid },
    /// A topic was not made, or perhaps it was.
    TopicNotMade { name: String, error: String },
    /// All topics of that name, as a broker lists them.
    TopicListed { name: String, id: Uuid },
    /// A fault begins or ends.
    Fault(String),
    /// A broker did something.
    Broker { broker: BrokerId, what: BrokerEvent },
    /// Everything is mended: from here on the clock of liveness runs.
    Healed,
    /// All partitions took a record again after that.
    Recovered,
}

/// What a broker did.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerEvent {
    /// It began to lead a partition.
    Leads { at: Place, leader_epoch: LeaderEpoch },
    /// As leader it published a watermark, with this ISR.
    High { at: Place, leader_epoch: LeaderEpoch, high: Offset, isr: Vec<BrokerId> },
    /// Its log ends here now.
    Ends { at: Place, end: Offset },
    /// As leader it asked that this broker joins the ISR.
    Proposes { at: Place, joiner: BrokerId },
    /// It heard of this ISR, of its own leadership or another's.
    Isr { at: Place, leader_epoch: LeaderEpoch, partition_epoch: PartitionEpoch, isr: Vec<BrokerId> },
    /// It leads the metadata quorum.
    Controls,
    /// It told others that this is its vote.
    Votes { term: i64, candidate: BrokerId },
    /// A crash may leave its metadata log with any end of these.
    MetadataBounds { from: Offset, upto: Offset },
    /// It took this entry for its metadata log.
    MetadataEntry { index: Offset, term: i64 },
    /// Its metadata log was opened: where it ends, the term of its last entry, and the vote that was found beside it.
    MetadataOpens { end: Offset, last_term: i64, term: i64, candidate: BrokerId },
    /// While it is down, its log of this partition changes on its disk: what it has from there on is gone.
    Rots { at: Place },
    /// It was killed: what its log ends with is known again when it says so. Of power: what it had not synced may be gone.
    Died { of_power: bool },
    /// It ended by itself.
    GaveUp { cause: String },
    /// Its disk begins to fail on purpose.
    DiskTrouble,
}

/// An event and when it happened, in ms since the simulation began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub ms: i64,
    /// What.
    pub event: Event,
}

/// A history that many write to.
#[derive(Clone)]
pub struct Recorder {
    time: TrueTime,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Recorder {
    /// An empty history on this clock.
    #[must_use]
    pub fn new(time: TrueTime) -> Recorder {
        Recorder { time, entries: Arc::default() }
    }

    /// Adds what happens now.
    pub fn note(&self, event: Event) {
        self.entries.lock().push(Entry { ms: self.time.now_ms(), event });
    }

    /// What was noted after the first so many entries.
    #[must_use]
    pub fn after(&self, seen: usize) -> Vec<Entry> {
        self.entries.lock()[seen..].to_vec()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// Has nothing been noted?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the clock shows, in ms since the simulation began.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.time.now_ms()
    }

    /// Its clock.
    #[must_use]
    pub fn time(&self) -> &TrueTime {
        &self.time
    }

    /// Everything so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Looks at everything so far. Nothing may be noted meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.entries.lock())
    }

    /// The last entry for which `choose` gives something.
    pub fn last<T>(&self, choose: impl Fn(&Event) -> Option<T>) -> Option<T> {
        self.entries.lock().iter().rev().find_map(|entry| choose(&entry.event))
    }
}

/// One number for a whole history: equal histories have equal ones.
#[must_use]
pub fn fingerprint(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |sum: u64, entry| sum.rotate_left(7) ^ hash(format!("{entry:?}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_whole_or_not_at_all() {
        let value = Value { producer: 3, sequence: 77 };
        for padding in [0, 1, 500] {
            let bytes = value.encode(padding);
            assert_eq!(Value::decode(&bytes), Some(value));
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 4;
                assert_ne!(Value::decode(&other), Some(value), "byte {at} of {}", bytes.len());
            }
            assert_eq!(Value::decode(&bytes[..19]), None);
        }
    }
}
