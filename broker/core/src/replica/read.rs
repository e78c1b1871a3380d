//! Who may read what: epochs that requests name, logs that have parted, replicas that serve consumers.
//!
//! Pure rules without state (KIP-320, KIP-595, KIP-392); leader and followers of a partition judge by the same ones.

use ballast_wire::{BrokerId, LeaderEpoch, Offset};

use crate::machine::Tick;

/// A request names another leader epoch than the broker knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EpochMismatch {
    /// FENCED_LEADER_EPOCH (74): who asks is behind.
    #[error("leader epoch {asked} is over, {ours} is the present one")]
    Fenced {
        /// In the request.
        asked: LeaderEpoch,
        /// Here.
        ours: LeaderEpoch,
    },
    /// UNKNOWN_LEADER_EPOCH (75): we are behind.
    #[error("leader epoch {asked} is not known yet, {ours} is the present one")]
    Unknown {
        /// In the request.
        asked: LeaderEpoch,
        /// Here.
        ours: LeaderEpoch,
    },
}

/// Compares the current leader epoch of a request with ours; below 0 it names none.
///
/// # Errors
/// They differ.
pub fn check_leader_epoch(asked: LeaderEpoch, ours: LeaderEpoch) -> Result<(), EpochMismatch> {
    match asked {
        ..0 => Ok(()),
        _ if asked < ours => Err(EpochMismatch::Fenced { asked, ours }),
        _ if asked > ours => Err(EpochMismatch::Unknown { asked, ours }),
        _ => Ok(()),
    }
}

/// Where a leader epoch ends in some log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest known epoch that is not above the one asked for; -1 when nothing is known.
    pub epoch: LeaderEpoch,
    /// One above its last offset; -1 when nothing is known.
    pub end: Offset,
}

/// How the log of somebody who fetches with `last_fetched_epoch` compares with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divergence {
    /// They agree below the fetch offset.
    None,
    /// They have parted: answer with this (DivergingEpoch) and no records.
    At(EpochEnd),
    /// Nothing is known of that epoch: OFFSET_OUT_OF_RANGE (1).
    Unknown,
    /// A replica holds records below our start, and fetches from there: we have forgotten our epochs below, and cannot say
    /// whether they are the same. Answer as for `None` (the answer's log start tells it to drop them), but do not count the
    /// fetch: it must not join the ISR with them.
    Unproven,
}

/// From where somebody fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPosition {
    /// `fetch_offset`.
    pub offset: Offset,
    /// `last_fetched_epoch`, -1 if it names none.
    pub last_epoch: LeaderEpoch,
    /// `log_start_offset` of a replica, -1 for consumers.
    pub log_start: Offset,
}

/// Compares logs. `ours` is where our log, which starts at `our_start`, ends the asker's last epoch.
#[must_use]
pub fn divergence(asked: FetchPosition, ours: EpochEnd, our_start: Offset) -> Divergence {
    if asked.last_epoch >= 0 {
        if ours.epoch < 0 || ours.end < 0 {
            return Divergence::Unknown;
        }
        if ours.epoch < asked.last_epoch || ours.end < asked.offset {
            return Divergence::At(ours);
        }
    }
    let holds_more = (0..our_start).contains(&asked.log_start);
    if holds_more && asked.offset == our_start { Divergence::Unproven } else { Divergence::None }
}

/// What a follower tells a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowerRead {
    /// Records up to this offset.
    UpTo(Offset),
    /// No records and no error: they are in the log, but not known here to be committed.
    NotYet,
    /// OFFSET_OUT_OF_RANGE (1): the client goes back to the leader before it resets anything.
    OutOfRange,
}

/// What a follower with this log may give a consumer that asks from `offset`. `bound` is the watermark, or the last stable
/// offset for committed reads.
#[must_use]
pub fn follower_read(offset: Offset, log_start: Offset, bound: Offset, log_end: Offset) -> FollowerRead {
    if offset < log_start || offset > log_end {
        FollowerRead::OutOfRange
    } else if offset >= bound {
        FollowerRead::NotYet
    } else {
        FollowerRead::UpTo(bound)
    }
}

/// A replica that could serve a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its broker.
    pub broker: BrokerId,
    /// The broker's rack.
    pub rack: Option<&'a str>,
    /// Its first offset.
    pub log_start: Offset,
    /// Its end.
    pub end: Offset,
    /// When it last had everything; `Tick::MAX` for the leader.
    pub caught_up_at: Tick,
}

/// KIP-392, `RackAwareReplicaSelector`: whom the consumer shall ask from now on. `None`: nobody is nearer than the leader.
/// `candidates` are the leader and the members of the ISR that are alive.
#[must_use]
pub fn preferred_read_replica(
    client_rack: &str,
    fetch_offset: Offset,
    leader: BrokerId,
    candidates: &[Candidate<'_>],
) -> Option<BrokerId> {
    if client_rack.is_empty() {
        return None;
    }
    let covers = |replica: &&Candidate<'_>| (replica.log_start..=replica.end).contains(&fetch_offset);
    let near = |replica: &&Candidate<'_>| replica.rack == Some(client_rack);
    let in_rack = || candidates.iter().filter(covers).filter(near);
    if in_rack().any(|replica| replica.broker == leader) {
        return None;
    }
    in_rack().max_by_key(|replica| (replica.end, replica.caught_up_at, replica.broker)).map(|replica| replica.broker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_that_is_named_must_be_the_present_one() {
        assert_eq!(check_leader_epoch(-1, 5), Ok(()));
        assert_eq!(check_leader_epoch(5, 5), Ok(()));
        assert_eq!(check_leader_epoch(4, 5), Err(EpochMismatch::Fenced { asked: 4, ours: 5 }));
        assert_eq!(check_leader_epoch(6, 5), Err(EpochMismatch::Unknown { asked: 6, ours: 5 }));
    }

    #[test]
    fn logs_have_parted_when_the_epoch_ended_earlier_or_never_was() {
        let end = |epoch, end| EpochEnd { epoch, end };
        let judged = |last_epoch, offset, ours| divergence(FetchPosition { offset, last_epoch, log_start: 0 }, ours, 0);
        assert_eq!(judged(-1, 7, end(-1, -1)), Divergence::None, "an empty log, or an old client");
        assert_eq!(judged(3, 10, end(3, 10)), Divergence::None);
        assert_eq!(judged(3, 10, end(3, 9)), Divergence::At(end(3, 9)));
        assert_eq!(judged(3, 10, end(2, 12)), Divergence::At(end(2, 12)), "epoch 3 wrote nothing here");
        assert_eq!(judged(9, 10, end(-1, -1)), Divergence::Unknown);
    }

    #[test]
    fn a_replica_with_records_below_our_start_proves_nothing_by_fetching_from_there() {
        let judged = |offset, log_start| {
            let asked = FetchPosition { offset, last_epoch: 2, log_start };
            divergence(asked, EpochEnd { epoch: 2, end: 112 }, 112)
        };
        assert_eq!(judged(112, 90), Divergence::Unproven, "epoch 2 may have ended at 111 here before that was deleted");
        assert_eq!(judged(112, 112), Divergence::None, "it has dropped them");
        assert_eq!(judged(112, -1), Divergence::None, "a consumer");
    }

    #[test]
    fn a_follower_serves_what_it_knows_to_be_committed() {
        assert_eq!(follower_read(3, 2, 5, 9), FollowerRead::UpTo(5));
        assert_eq!(follower_read(5, 2, 5, 9), FollowerRead::NotYet);
        assert_eq!(follower_read(9, 2, 5, 9), FollowerRead::NotYet);
        assert_eq!(follower_read(10, 2, 5, 9), FollowerRead::OutOfRange);
        assert_eq!(follower_read(1, 2, 5, 9), FollowerRead::OutOfRange);
    }

    #[test]
    fn a_consumer_is_sent_to_the_most_caught_up_replica_of_its_rack() {
        let replica = |broker, rack, end, caught_up_at| Candidate { broker, rack, log_start: 10, end, caught_up_at };
        let replicas = [
            replica(1, Some("a"), 100, Tick::MAX),
            replica(2, Some("b"), 90, 5),
            replica(3, Some("b"), 90, 7),
            replica(4, Some("b"), 80, 9),
            replica(5, None, 100, 9),
        ];
        let choose = |rack, offset| preferred_read_replica(rack, offset, 1, &replicas);
        assert_eq!(choose("b", 50), Some(3), "the same end, caught up later");
        assert_eq!(choose("b", 95), None, "their logs do not reach that far");
        assert_eq!(choose("a", 50), None, "the leader is as near as anybody");
        assert_eq!(choose("c", 50), None);
        assert_eq!(choose("", 50), None, "a client without a rack");
        assert_eq!(choose("b", 9), None, "below their logs");
    }
}
