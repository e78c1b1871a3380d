//! Fetch sessions (KIP-227): the broker remembers what we read, so that a request names only what has changed.
//!
//! ```text
//! full(0) ──opened──> incremental 1, 2, … i32::MAX, 1, …
//!    ▲  ▲                   │
//!    │  └── no session ─────┤   the broker had no room: full requests go on
//!    └────── refused, or lost: the session is closed by the next full request
//! ```
//! Holds: `known` is what the broker knows after it has seen every request that we made; when that is in doubt, the next
//! request is a full one.

use std::collections::BTreeMap;

use ballast_wire::{LeaderEpoch, Offset, PartitionIndex, Uuid};

/// A partition by name.
pub(super) type Key = (std::sync::Arc<str>, PartitionIndex);

/// What we want of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) topic_id: Uuid,
    pub(super) offset: Offset,
    pub(super) current_leader_epoch: LeaderEpoch,
    pub(super) last_fetched_epoch: LeaderEpoch,
    pub(super) bytes_max: i32,
}

/// One request of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionRequest {
    pub(super) id: i32,
    pub(super) epoch: i32,
    /// New or changed wishes; all of them in a full request.
    pub(super) wishes: Vec<(Key, Wish)>,
    /// What shall no longer be read, with the ids under which it was.
    pub(super) forgotten: Vec<(Key, Uuid)>,
}

/// The session with one broker.
#[derive(Debug, Default)]
pub(super) struct FetchSession {
    id: i32,
    epoch: i32,
    known: BTreeMap<Key, Wish>,
}

impl FetchSession {
    /// The next request, after which the broker wants exactly `wanted`.
    pub(super) fn request(&mut self, wanted: BTreeMap<Key, Wish>) -> SessionRequest {
        let full = self.epoch == 0;
        let known = |key: &Key| self.known.get(key).filter(|_| !full);
        // A topic that was deleted and made anew has another id: its old one is forgotten by name and id.
        let forgotten = self
            .known
            .iter()
            .filter(|(key, old)| !full && wanted.get(*key).is_none_or(|new| new.topic_id != old.topic_id));
        let request = SessionRequest {
            id: self.id,
            epoch: self.epoch,
            wishes: wanted
                .iter()
                .filter(|(key, wish)| known(key) != Some(wish))
                .map(|(key, wish)| (key.clone(), *wish))
                .collect(),
            forgotten: forgotten.map(|(key, old)| (key.clone(), old.topic_id)).collect(),
        };
        self.known = wanted;
        request
    }

    /// The broker answered, in session `id`.
    pub(super) fn answered(&mut self, id: i32) {
        if id == 0 {
            *self = FetchSession::default();
            return;
        }
        self.epoch = if self.id == id && self.epoch > 0 { next_epoch(self.epoch) } else { 1 };
        self.id = id;
    }

    /// Whether the broker saw the last request is not known, or it no longer knows the session: begin anew, and close
    /// the old one if it is still there.
    pub(super) fn begin_anew(&mut self) {
        self.epoch = 0;
        self.known.clear();
    }
}

fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(rows: &[(i32, i64)]) -> BTreeMap<Key, Wish> {
        rows.iter()
            .map(|(partition, offset)| {
                let wish = Wish {
                    topic_id: Uuid::ZERO,
                    offset: *offset,
                    current_leader_epoch: 0,
                    last_fetched_epoch: -1,
                    bytes_max: 1,
                };
                (("t".into(), *partition), wish)
            })
            .collect()
    }

    fn seen(request: &SessionRequest) -> (i32, i32, Vec<i32>, Vec<i32>) {
        let wishes = request.wishes.iter().map(|((_, partition), _)| *partition).collect();
        let forgotten = request.forgotten.iter().map(|((_, partition), _)| *partition).collect();
        (request.id, request.epoch, wishes, forgotten)
    }

    #[test]
    fn after_a_full_request_only_changes_are_named() {
        let mut session = FetchSession::default();
        assert_eq!(seen(&session.request(wanted(&[(0, 5), (1, 5), (2, 5)]))), (0, 0, vec![0, 1, 2], vec![]));
        session.answered(77);
        assert_eq!(seen(&session.request(wanted(&[(0, 5), (1, 6), (3, 0)]))), (77, 1, vec![1, 3], vec![2]));
        session.answered(77);
        assert_eq!(seen(&session.request(wanted(&[(0, 5), (1, 6), (3, 0)]))), (77, 2, vec![], vec![]));
    }

    #[test]
    fn a_broker_without_room_for_a_session_is_asked_in_full_each_time() {
        let mut session = FetchSession::default();
        for _ in 0..2 {
            assert_eq!(seen(&session.request(wanted(&[(0, 5)]))), (0, 0, vec![0], vec![]));
            session.answered(0);
        }
    }

    #[test]
    fn a_lost_session_is_begun_anew_and_its_old_id_closed() {
        let mut session = FetchSession::default();
        session.request(wanted(&[(0, 5)]));
        session.answered(77);
        session.request(wanted(&[(0, 5)]));
        session.begin_anew();
        assert_eq!(seen(&session.request(wanted(&[(0, 5)]))), (77, 0, vec![0], vec![]));
        session.answered(78);
        assert_eq!(seen(&session.request(wanted(&[(0, 5)]))), (78, 1, vec![], vec![]));
    }

    #[test]
    fn a_topic_made_anew_is_forgotten_under_its_old_id_and_wanted_under_its_new_one() {
        let mut session = FetchSession::default();
        session.request(wanted(&[(0, 5)]));
        session.answered(77);
        let mut anew = wanted(&[(0, 0)]);
        anew.values_mut().for_each(|wish| wish.topic_id = Uuid::METADATA_TOPIC);
        let request = session.request(anew);
        assert_eq!(request.wishes[0].1.topic_id, Uuid::METADATA_TOPIC);
        assert_eq!(request.forgotten, [(("t".into(), 0), Uuid::ZERO)]);
    }

    #[test]
    fn epochs_wrap_to_1() {
        assert_eq!(next_epoch(i32::MAX), 1);
    }
}
