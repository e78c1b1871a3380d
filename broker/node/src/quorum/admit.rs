//! What another node's append, ballot or chunk of a snapshot must hold before openraft sees it. openraft believes whoever
//! speaks to it: what makes no sense would be written first, and end the node then, and at each start after it.
//!
//! ```text
//! request ── of whom? ── a term within reach? ── positions in order? ── does all of it decode? ──► openraft
//!               └────────────┴───────────────────────┴──────────────────────┴──► refused whole, nothing is written
//! ```
//! Of whom: who sends it, and in their own name; never in ours. A leader that we do not know may be an honest one: elected
//! by voters of whom a node that was away has not heard, and nobody else could tell it of them. So a stranger is turned away
//! only while a leader is heard of (or this node is one, and followed): what it says then, of a membership that it has
//! been told, is up to date, and a voter would elect nobody else meanwhile (the lease, see `Knows` in `serve`). After
//! that a stranger is believed like a voter. Nor is another leader of the same term taken then. There can be two: openraft's
//! terms are ordered by node id too, and a voter may vote twice in one term, for the greater. The first is silent soon,
//! since it is told by whoever voted for both.
//!
//! Terms: one that is more than [`TERM_STEP_MAX`] above ours is out of reach: at an election a second it would take half a
//! year in which we were away. Taken, the term of a single message would be the last that a log can keep (31 bits), and
//! nobody could be elected any more. A node without a log has the same bound: no cluster has come so far.
//!
//! Holds: what is admitted continues a log (no gap, no step back, nothing that contradicts what is committed) and can be
//! applied. This is no authentication: who speaks in a voter's name, and within these bounds, is believed; that is for the
//! listener to know (SASL, TLS).
//!
//! Read next: serve (who asks), incoming (chunks), `machine` (whole snapshots).

use ballast_core::image::decode_records;
use openraft::raft::{AppendEntriesRequest, VoteRequest};

use super::entry::{Entry, Payload};
use super::rpc::{Refused, Snapshot};
use super::types::{LogId, Membership, NodeId, TypeConfig, Vote, next_index};

/// The largest term that the log can keep: a leader epoch has 31 bits.
pub(super) const TERM_MAX: u64 = i32::MAX as u64;
/// How far the term of a message may be above ours.
const TERM_STEP_MAX: u64 = 1 << 24;

/// What this node knows when it is asked.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) me: NodeId,
    pub(super) vote: Vote,
    pub(super) committed: Option<LogId>,
    /// A leader was heard of within the lease, or this node is one, and a majority has answered it within the lease.
    pub(super) hears_leader: bool,
    /// Whoever speaks is a voter of the membership in force or of the committed one, or the settings list it as one.
    pub(super) is_voter: bool,
}

/// Is this term one that may follow `ours`?
pub(super) fn is_within_reach(term: u64, ours: u64) -> bool {
    term <= TERM_MAX && term <= ours.saturating_add(TERM_STEP_MAX)
}

/// May this append go on to openraft? What it says to be committed beyond its own entries is cut to them: only so far is
/// known that our log is its leader's.
///
/// # Errors
/// It may not, and why.
pub(super) fn append(
    append: &mut AppendEntriesRequest<TypeConfig>,
    from: NodeId,
    known: &Known,
) -> Result<(), Refused> {
    leads(&append.vote, from, known)?;
    if append.vote < known.vote {
        return Ok(());
    }
    let before = append.prev_log_id;
    let mut last = before;
    for entry in &append.entries {
        if entry.log_id.index != next_index(last.as_ref()) {
            return never(format!("entry {} does not follow {}", entry.log_id, shown(last.as_ref())));
        }
        if last.is_some_and(|last| entry.log_id.leader_id < last.leader_id) {
            return never(format!("entry {} is of an earlier term than {}", entry.log_id, shown(last.as_ref())));
        }
        last = Some(entry.log_id);
    }
    for id in before.iter().chain(append.entries.iter().map(|entry| &entry.log_id)).chain(&append.leader_commit) {
        of_reign(id, &append.vote)?;
    }
    for id in before.iter().chain(append.entries.iter().map(|entry| &entry.log_id)) {
        beside_committed(id, known)?;
    }
    if let Some(committed) = append.leader_commit {
        if next_index(Some(&committed)) > next_index(last.as_ref()) {
            append.leader_commit = last;
        } else if last < Some(committed) {
            return never(format!("{committed} cannot be committed in a log with {}", shown(last.as_ref())));
        }
    }
    append.entries.iter().try_for_each(understood)
}

/// May this ballot go on to openraft?
///
/// # Errors
/// It may not, and why.
pub(super) fn ballot(ballot: &VoteRequest<NodeId>, from: NodeId, known: &Known) -> Result<(), Refused> {
    if ballot.vote.committed {
        return never("a candidate is no leader yet".to_owned());
    }
    speaks(&ballot.vote, from, known)?;
    ballot.last_log_id.iter().try_for_each(|last| of_reign(last, &ballot.vote))
}

/// May this chunk be kept? Its bytes are judged once all are there.
///
/// # Errors
/// It may not, and why.
pub(super) fn chunk(chunk: &Snapshot, from: NodeId, known: &Known) -> Result<(), Refused> {
    leads(&chunk.vote, from, known)?;
    if chunk.vote < known.vote {
        return Ok(());
    }
    let (last, stored) = (&chunk.meta.last_log_id, &chunk.meta.last_membership);
    let Some(last) = last else { return never("a snapshot of nothing".to_owned()) };
    of_reign(last, &chunk.vote)?;
    beside_committed(last, known)?;
    if stored.log_id().as_ref() > Some(last) {
        return never(format!("a snapshot up to {last} with a membership of after it"));
    }
    has_voters(stored.membership())
}

fn never<T>(why: String) -> Result<T, Refused> {
    Err(Refused::Never(why))
}

fn leads(vote: &Vote, from: NodeId, known: &Known) -> Result<(), Refused> {
    if !vote.committed {
        return never(format!("{from} was not elected in term {}", vote.leader_id.term));
    }
    speaks(vote, from, known)
}

/// Whose message is it, and in which term? An older vote than ours is openraft's to answer: it tells of the newer one.
fn speaks(vote: &Vote, from: NodeId, known: &Known) -> Result<(), Refused> {
    let (term, of) = (vote.leader_id.term, vote.leader_id.node_id);
    if of == known.me || of != from {
        return never(format!("{from} speaks in the name of {of}"));
    }
    let ours = known.vote.leader_id.term;
    if !is_within_reach(term, ours) {
        return never(format!("term {term} is out of reach of term {ours}"));
    }
    if *vote <= known.vote || !known.hears_leader {
        return Ok(());
    }
    if !known.is_voter {
        return Err(Refused::NotNow(format!("{of} is no voter that is known here, and there is a leader")));
    }
    if term == ours && vote.committed {
        return Err(Refused::NotNow(format!("{} leads in term {ours}", known.vote.leader_id.node_id)));
    }
    Ok(())
}

/// No entry is of after its leader's reign, and each has an index that the log can keep, and a next one.
fn of_reign(id: &LogId, vote: &Vote) -> Result<(), Refused> {
    if id.leader_id > vote.leader_id || id.index >= i64::MAX as u64 {
        return never(format!("entry {id} cannot be in a log of {}", vote.leader_id));
    }
    Ok(())
}

/// Every log that may lead has what was committed: before that nothing newer stands, and after it nothing older.
fn beside_committed(id: &LogId, known: &Known) -> Result<(), Refused> {
    let Some(committed) = &known.committed else { return Ok(()) };
    let fits = if id.index <= committed.index { id <= committed } else { id.leader_id >= committed.leader_id };
    if fits { Ok(()) } else { never(format!("entry {id} contradicts {committed}, which is committed")) }
}

/// Once committed, an entry that nobody can apply would stop every node for good.
fn understood(entry: &Entry) -> Result<(), Refused> {
    match &entry.payload {
        Payload::Blank => Ok(()),
        Payload::Records(records) => match decode_records(records) {
            Ok(_) => Ok(()),
            Err(error) => never(format!("entry {}: {error}", entry.log_id)),
        },
        Payload::Membership(membership) => has_voters(membership),
    }
}

/// A set without voters would let anybody win an election.
fn has_voters(membership: &Membership) -> Result<(), Refused> {
    let configs = membership.get_joint_config();
    if configs.is_empty() || configs.iter().any(std::collections::BTreeSet::is_empty) {
        return never("a membership without voters".to_owned());
    }
    Ok(())
}

fn shown(id: Option<&LogId>) -> String {
    id.map_or_else(|| "the beginning".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests;
