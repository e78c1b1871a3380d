//! A snapshot that comes in, chunk by chunk.
//!
//! Holds: chunks are taken in their order alone, so that memory grows with what came, up to a bound, and is given back when no
//! more come.
//!
//! Read next: `admit` (what a chunk must hold), serve (what becomes of a whole snapshot).

use std::time::Duration;

use tokio::time::Instant;

use super::rpc::{Refused, Snapshot};
use super::types::SnapshotMeta;

/// The largest snapshot that is taken from a leader, in bytes: millions of partitions.
const SNAPSHOT_BYTES_MAX: usize = 1 << 30;
/// What has come is dropped when nothing came for so long: a leader that goes on begins again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What has come of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    name: String,
    data: Vec<u8>,
    touched: Option<Instant>,
}

impl Incoming {
    /// Takes a chunk, and gives the whole with the last; or tells the offset that is wanted instead.
    pub(super) fn take(&mut self, chunk: Snapshot, now: Instant) -> Result<Option<(SnapshotMeta, Vec<u8>)>, Refused> {
        self.rest(now);
        if chunk.offset == 0 {
            *self = Incoming { name: chunk.meta.snapshot_id.clone(), ..Incoming::default() };
        }
        let wanted = if self.name == chunk.meta.snapshot_id { self.data.len() } else { 0 };
        if chunk.offset != wanted as u64 {
            return Err(Refused::Chunk(wanted as u64));
        }
        if self.data.len() + chunk.data.len() > SNAPSHOT_BYTES_MAX {
            *self = Incoming::default();
            return Err(Refused::Never(format!("a snapshot of more than {SNAPSHOT_BYTES_MAX} bytes is not taken")));
        }
        self.data.extend_from_slice(&chunk.data);
        self.touched = Some(now);
        if !chunk.done {
            return Ok(None);
        }
        Ok(Some((chunk.meta, std::mem::take(self).data)))
    }

    /// Drops what nobody has gone on with.
    pub(super) fn rest(&mut self, now: Instant) {
        if self.touched.is_some_and(|touched| now - touched >= PATIENCE) {
            *self = Incoming::default();
        }
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
        let (mut incoming, now) = (Incoming::default(), Instant::now());
        let mut take = |chunk| incoming.take(chunk, now).map(|whole| whole.map(|(_, data)| data.len()));
        assert_eq!(take(chunk(7, 10, 5)), Err(Refused::Chunk(0)), "nothing came before");
        assert_eq!(take(chunk(7, 0, 10)), Ok(None));
        assert_eq!(take(chunk(7, 11, 5)), Err(Refused::Chunk(10)), "a hole");
        assert_eq!(take(chunk(7, 10, 5)), Ok(None));
        assert_eq!(take(chunk(8, 15, 5)), Err(Refused::Chunk(0)), "another snapshot");
        assert_eq!(take(chunk(7, 0, 10)), Ok(None), "from the start again");
        assert_eq!(take(Snapshot { done: true, ..chunk(7, 10, 1) }), Ok(Some(11)));
        assert_eq!(take(chunk(7, 11, 1)), Err(Refused::Chunk(0)), "it was given away whole");
    }

    #[test]
    fn an_offset_that_lies_costs_no_memory() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.take(chunk(7, u64::MAX, 5), Instant::now()), Err(Refused::Chunk(0)));
        assert_eq!(incoming.data.capacity(), 0);
    }

    #[test]
    fn what_nobody_goes_on_with_is_dropped_and_so_is_what_grows_for_ever() {
        let (mut incoming, start) = (Incoming::default(), Instant::now());
        assert_eq!(incoming.take(chunk(7, 0, 1 << 20), start), Ok(None));
        incoming.rest(start + PATIENCE / 2);
        assert_eq!(incoming.data.len(), 1 << 20);
        incoming.rest(start + PATIENCE);
        assert_eq!(incoming.data.capacity(), 0);
        incoming.data = vec![0; SNAPSHOT_BYTES_MAX];
        incoming.name = chunk(7, 0, 0).meta.snapshot_id;
        let more = incoming.take(chunk(7, SNAPSHOT_BYTES_MAX as u64, 1), start);
        assert!(matches!(more, Err(Refused::Never(_))), "{more:?}");
        assert_eq!(incoming.data.capacity(), 0);
    }
}
