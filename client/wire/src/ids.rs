//! Kafka's id types: plain integers under their own names, and the 16-byte ids of topics and directories.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Position of a record in a partition.
pub type Offset = i64;
/// Number of a partition within its topic, from 0.
pub type PartitionIndex = i32;
/// `node.id` of a broker.
pub type BrokerId = i32;
/// Counts the leaders that a partition has had.
pub type LeaderEpoch = i32;
/// Counts the changes that the controller has made to a partition.
pub type PartitionEpoch = i32;
/// Names an idempotent producer; [`NO_PRODUCER`] when a batch has none.
pub type ProducerId = i64;
/// Counts the lives of one producer id.
pub type ProducerEpoch = i16;

/// Leader of a partition that nobody leads.
pub const NO_LEADER: BrokerId = -1;
/// Producer id of a batch that is not idempotent.
pub const NO_PRODUCER: ProducerId = -1;

/// A 16-byte id (topic, directory, cluster), shown as Kafka shows it: URL-safe base64 without padding, 22 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// No id.
    pub const ZERO: Uuid = Uuid([0; 16]);
    /// The id of `__cluster_metadata`.
    pub const METADATA_TOPIC: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    /// Makes a random (version 4) id from 16 random bytes. Ids whose text would begin with `-` look like an option on a
    /// command line, so their first byte is changed.
    #[must_use]
    pub fn from_random(mut bytes: [u8; 16]) -> Uuid {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        if bytes[0] >> 2 == 0b11_1110 {
            bytes[0] &= 0x7f;
        }
        Uuid(bytes)
    }

    /// Is this the zero id?
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Uuid::ZERO
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text that is no id: it must be 22 characters of URL-safe base64.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an id: expected 22 characters of URL-safe base64")]
pub struct BadUuid(pub String);

impl FromStr for Uuid {
    type Err = BadUuid;

    fn from_str(text: &str) -> Result<Uuid, BadUuid> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BadUuid(text.to_owned()))?;
        Ok(Uuid(bytes.try_into().map_err(|_| BadUuid(text.to_owned()))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_apache_kafka_prints_them() {
        assert_eq!(Uuid::METADATA_TOPIC.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        let id: Uuid = "B1ir9pOXTCWP68mXL26rAg".parse().unwrap();
        assert_eq!(id.to_string(), "B1ir9pOXTCWP68mXL26rAg");
        assert_eq!("short".parse::<Uuid>(), Err(BadUuid("short".into())));
    }

    #[test]
    fn a_random_id_never_looks_like_an_option() {
        for first in 0..=255 {
            let mut bytes = [0xab; 16];
            bytes[0] = first;
            assert!(!Uuid::from_random(bytes).to_string().starts_with('-'), "first byte {first:#x}");
        }
    }
}
