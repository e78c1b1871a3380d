//! Loads a shard: the records of its partition, replayed from the start.
//!
//! Holds:
//!   1. A record that cannot be read changes nothing; the driver says so and goes on.
//!   2. Loaded members are alive until their session is over: they get all of it, from now.
//!   3. Metadata that contradicts itself (members without a protocol, a leader that is no member) never stops a broker: such
//!      a group is loaded without members, who then join again.
//!
//! Read next: committed.rs (what replaying does), shard.rs.

use super::committed::Committed;
use super::records::{Record, RecordError};
use super::{GroupConfig, Shard};
use crate::machine::Tick;

/// A shard on its way.
#[derive(Debug)]
pub struct Loading {
    config: GroupConfig,
    committed: Committed,
    skipped: u64,
}

impl Loading {
    /// An empty one.
    #[must_use]
    pub fn new(config: GroupConfig) -> Loading {
        Loading { config, committed: Committed::default(), skipped: 0 }
    }

    /// Takes the next record of the partition. Keys of other group types are skipped.
    ///
    /// # Errors
    /// If the bytes are no record. Nothing has changed then.
    pub fn replay(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), RecordError> {
        match Record::decode(key, value)? {
            Some(record) => self.committed.apply(record),
            None => self.skipped += 1,
        }
        Ok(())
    }

    /// Records of other group types that were skipped.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The shard, once everything below the high watermark is replayed.
    #[must_use]
    pub fn finish(self, now: Tick, wall_ms: i64) -> Shard {
        Shard::new(self.config, self.committed, now, wall_ms)
    }
}
