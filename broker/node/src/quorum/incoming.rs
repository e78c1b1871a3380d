//! A snapshot that comes in, chunk by chunk.
//!
//! Holds: chunks are taken in their order alone, so that memory grows with what came.

use super::rpc::{Refused, Snapshot};

/// The largest snapshot that is taken from a leader, in bytes.
const SNAPSHOT_BYTES_MAX: u64 = 4 << 30;

/// How far a snapshot has come in.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    name: String,
    next: u64,
}

impl Incoming {
    /// Where this chunk goes, or the offset that is wanted instead.
    pub(super) fn admit(&mut self, chunk: &Snapshot) -> Result<(), Refused> {
        if chunk.offset == 0 {
            *self = Incoming { name: chunk.meta.snapshot_id.clone(), next: 0 };
        }
        let wanted = if self.name == chunk.meta.snapshot_id { self.next } else { 0 };
        let end = chunk.offset.saturating_add(chunk.data.len() as u64);
        if chunk.offset != wanted || end > SNAPSHOT_BYTES_MAX {
            return Err(Refused::Chunk(wanted));
        }
        self.next = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use openraft::LeaderId;

    use super::super::machine::snapshot_meta;
    use super::super::types::{LogId, NodeId, StoredMembership, Vote};
    use super::*;

    fn chunk(index: u64, offset: u64, len: usize) -> Snapshot {
        let leader_id = LeaderId::new(1, NodeId::from(1));
        let meta = snapshot_meta(Some(LogId { leader_id, index }), &StoredMembership::default());
        Snapshot { vote: Vote { leader_id, committed: true }, meta, offset, data: vec![0; len], done: false }
    }

    #[test]
    fn chunks_are_taken_in_their_order_and_from_the_start_again() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.admit(&chunk(7, 10, 5)), Err(Refused::Chunk(0)), "nothing came before");
        assert_eq!(incoming.admit(&chunk(7, 0, 10)), Ok(()));
        assert_eq!(incoming.admit(&chunk(7, 11, 5)), Err(Refused::Chunk(10)), "a hole");
        assert_eq!(incoming.admit(&chunk(7, 10, 5)), Ok(()));
        assert_eq!(incoming.admit(&chunk(8, 15, 5)), Err(Refused::Chunk(0)), "another snapshot");
        assert_eq!(incoming.admit(&chunk(7, 0, 10)), Ok(()), "from the start again");
        assert_eq!(incoming.admit(&chunk(7, 10, 1)), Ok(()));
    }

    #[test]
    fn an_offset_that_lies_costs_no_memory() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.admit(&chunk(7, u64::MAX, 5)), Err(Refused::Chunk(0)));
    }
}
