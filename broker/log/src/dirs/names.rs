//! Names of partition folders.
//!
//! ```text
//! orders-7                                             a partition
//! orders-7.0123456789abcdef0123456789abcdef-delete     renamed to be deleted
//! orders-7.0123456789abcdef0123456789abcdef-future     being filled, to take the plain name in another log directory
//! orders-7.0123456789abcdef0123456789abcdef-stray      found on disk, belongs to no topic
//! ```
//! Holds: a name that [`PartitionDir::parse`] takes is given back by `Display`; no name is longer than a file system takes,
//! for which a topic's name may be cut in the forms with an id (249 characters are allowed to topics, 255 to names).

use std::fmt;

use ballast_wire::{PartitionIndex, Uuid};

/// The longest name of a folder, in bytes.
pub const DIR_NAME_LEN_MAX: usize = 255;
/// The longest name of a topic, in bytes.
const TOPIC_LEN_MAX: usize = 249;

/// Why a folder does not have the plain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirState {
    /// It has: this is the partition.
    Plain,
    /// To be deleted. The id keeps two of them apart.
    Delete(Uuid),
    /// A copy on its way from another log directory of this broker.
    Future(Uuid),
    /// Belongs to no topic that the cluster knows.
    Stray(Uuid),
}

impl DirState {
    fn suffix(self) -> Option<(Uuid, &'static str)> {
        match self {
            DirState::Plain => None,
            DirState::Delete(id) => Some((id, "-delete")),
            DirState::Future(id) => Some((id, "-future")),
            DirState::Stray(id) => Some((id, "-stray")),
        }
    }
}

/// A partition's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDir {
    /// Name of the topic; cut if it was too long, unless the state is plain.
    pub topic: String,
    /// Which of its partitions.
    pub partition: PartitionIndex,
    /// What the suffix says.
    pub state: DirState,
}

impl PartitionDir {
    /// The folder of a partition.
    #[must_use]
    pub fn new(topic: &str, partition: PartitionIndex) -> PartitionDir {
        PartitionDir { topic: topic.to_owned(), partition, state: DirState::Plain }
    }

    /// The same partition in another state.
    #[must_use]
    pub fn with(&self, state: DirState) -> PartitionDir {
        PartitionDir { state, ..self.clone() }
    }

    /// Takes a name apart; `None` if it is not a partition's folder.
    #[must_use]
    pub fn parse(name: &str) -> Option<PartitionDir> {
        let (plain, state) = match strip_state(name) {
            Some((plain, state)) => (plain, state),
            None => (name, DirState::Plain),
        };
        let (topic, partition) = plain.rsplit_once('-')?;
        let is_number = !partition.is_empty() && partition.bytes().all(|byte| byte.is_ascii_digit());
        let is_canonical = partition == "0" || !partition.starts_with('0');
        if !is_number || !is_canonical || !is_topic(topic) || name.len() > DIR_NAME_LEN_MAX {
            return None;
        }
        Some(PartitionDir { topic: topic.to_owned(), partition: partition.parse().ok()?, state })
    }
}

impl fmt::Display for PartitionDir {
    /// The name of the folder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((id, suffix)) = self.state.suffix() else {
            return write!(f, "{}-{}", self.topic, self.partition);
        };
        let tail = format!("-{}.{:032x}{suffix}", self.partition, u128::from_be_bytes(id.0));
        let topic = &self.topic[..self.topic.len().min(DIR_NAME_LEN_MAX - tail.len())];
        write!(f, "{topic}{tail}")
    }
}

/// The part before the id, and what follows it.
fn strip_state(name: &str) -> Option<(&str, DirState)> {
    type State = fn(Uuid) -> DirState;
    let states: [(&str, State); 3] =
        [("-delete", DirState::Delete), ("-future", DirState::Future), ("-stray", DirState::Stray)];
    let (rest, state) = states.iter().find_map(|(suffix, state)| Some((name.strip_suffix(suffix)?, state)))?;
    let (plain, digits) = rest.rsplit_once('.')?;
    let is_id = digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let id = u128::from_str_radix(digits, 16).ok().filter(|_| is_id)?;
    Some((plain, state(Uuid(id.to_be_bytes()))))
}

/// Could this be the name of a topic?
fn is_topic(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= TOPIC_LEN_MAX && name != "." && name != ".." && name.bytes().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Uuid =
        Uuid([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
    const STATES: [DirState; 4] = [DirState::Plain, DirState::Delete(ID), DirState::Future(ID), DirState::Stray(ID)];

    #[test]
    fn names_read_back_as_they_were_written() {
        let topics = ["a", "orders", "with-dash-1", "__consumer_offsets", "dots.in.it-delete", "x.y-3"];
        for (topic, state) in topics.iter().flat_map(|topic| STATES.map(|state| (topic, state))) {
            let dir = PartitionDir::new(topic, 17).with(state);
            assert_eq!(PartitionDir::parse(&dir.to_string()), Some(dir));
        }
        assert_eq!(
            PartitionDir::new("orders", 7).with(DirState::Delete(ID)).to_string(),
            "orders-7.0123456789abcdef0123456789abcdef-delete"
        );
    }

    #[test]
    fn a_long_topic_is_cut_so_that_the_name_fits() {
        let topic = "t".repeat(249);
        let name = PartitionDir::new(&topic, 123).with(DirState::Delete(ID)).to_string();
        assert_eq!(name.len(), 255);
        let cut = PartitionDir::parse(&name).unwrap();
        assert!(topic.starts_with(&cut.topic) && cut.partition == 123, "{cut:?}");
    }

    #[test]
    fn other_folders_are_not_partitions() {
        let others = [
            "lost+found",
            "",
            "-0",
            "orders",
            "orders-",
            "orders-x",
            "orders-+1",
            "orders-01",
            "orders-2147483648",
            "..-0",
            "orders-1.0123-delete",
            "orders-1.0123456789ABCDEF0123456789ABCDEF-delete",
            "a b-0",
        ];
        for name in others {
            assert_eq!(PartitionDir::parse(name), None, "{name:?}");
        }
    }
}
