//! What a node without a leader waits for, in words: the others are asked who they are when it is to be told.
//!
//! Holds: whatever stands in the way is named with its address: nobody there, no such host, another node, a listener that is
//! none of a controller.
//!
//! Read next: teller (when it is told), `first_start` (what the first start waits for).

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Uuid};
use tokio::task::JoinSet;

use super::super::first_start::Seen;
use super::super::handle::Quorum;
use super::super::network::Reach;
use super::super::rpc::{self, Identity};
use super::super::types::{NodeId, QuorumNode};

/// What became of a round without a leader.
#[derive(Debug, Default)]
pub(super) struct Cause {
    /// What the first start waits for, told by who would begin it.
    pub(super) first_start: Option<String>,
    /// What the nodes said that were asked to take this one in.
    pub(super) asked: Vec<String>,
    /// The leader has taken it in.
    pub(super) is_taken_in: bool,
}

/// Where a node stands that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It votes, with so many voters in all.
    Voter(usize),
    /// It listened to a quorum before.
    Listener,
    /// It has no part in one. Who would begin a new one, unless there is one already.
    New(Option<BrokerId>),
}

/// One of the others.
#[derive(Clone, Debug)]
struct Row {
    /// Who is expected there; the directory is zero if any will do.
    id: NodeId,
    at: QuorumNode,
    /// What says that it is there.
    says: &'static str,
    seen: Seen,
}

impl Row {
    /// What is wrong with it.
    fn trouble(&self) -> Option<String> {
        let Row { id, at, says, seen } = self;
        match seen {
            Seen::Silent(why) => Some(format!("{}@{at} ({why})", id.node)),
            Seen::Says(there) if there.id.node != id.node => {
                Some(format!("{at} is node {}, {says} says {}", there.id.node, id.node))
            }
            Seen::Says(there) if id.directory != Uuid::ZERO && there.id != *id => {
                Some(format!("{}@{at} (its directory is another: it cannot vote in its place yet)", id.node))
            }
            Seen::Says(_) => None,
        }
    }
}

/// The words. See the module.
fn words(standing: Standing, rows: &[Row], asked: &[String]) -> String {
    let troubles: Vec<String> = rows.iter().filter_map(Row::trouble).collect();
    let details = if troubles.is_empty() { asked } else { &troubles };
    let told = |text: String| if details.is_empty() { text } else { format!("{text} ({})", details.join(", ")) };
    match standing {
        Standing::Voter(voters) => {
            let answering = 1 + rows.len() - troubles.len();
            match (voters / 2 + 1).saturating_sub(answering) {
                0 => told("a majority of the voters answers; waiting for a leader".to_owned()),
                missing => {
                    let many = if missing == 1 { "any".to_owned() } else { missing.to_string() };
                    let troubles = troubles.join(", ");
                    format!("no majority of the voters answers: waiting for {many} of {troubles}")
                }
            }
        }
        Standing::Listener => told("waiting for a leader".to_owned()),
        Standing::New(begins) => {
            let begins = begins.map_or_else(String::new, |id| format!(", or for voter {id} to begin a new quorum"));
            told(format!("waiting for a leader to take this node in{begins}"))
        }
    }
}

/// Asks each address who is there, all at once.
pub(super) async fn see(reach: &Reach, whom: &BTreeMap<BrokerId, QuorumNode>) -> BTreeMap<BrokerId, Seen> {
    let mut asked = JoinSet::new();
    for (id, at) in whom {
        let (id, at, reach) = (*id, at.clone(), reach.clone());
        asked.spawn(async move {
            match reach.ask(rpc::IDENTIFY, None, &at, Vec::new(), Identity::read).await {
                Ok(identity) => (id, Seen::Says(identity)),
                Err(error) => (id, Seen::Silent(error.in_words())),
            }
        });
    }
    let mut seen = BTreeMap::new();
    // A task is aborted with this one alone.
    while let Some(Ok((id, row))) = asked.join_next().await {
        seen.insert(id, row);
    }
    seen
}

impl Quorum {
    /// What this node waits for.
    pub(super) async fn waits_for(&self, reach: &Reach, cause: Cause) -> String {
        if cause.is_taken_in {
            let at = &reach.network().advertised;
            return format!("the leader has taken this node in, and has not reached it at {at} yet");
        }
        let (membership, listed) = (self.membership().await, &reach.network().listed);
        let is_new = membership.voter_ids().next().is_none();
        if let (true, Some(text)) = (is_new, cause.first_start) {
            return text;
        }
        let whom: BTreeMap<NodeId, QuorumNode> = if is_new {
            listed.iter().map(|(id, at)| (NodeId { node: *id, directory: Uuid::ZERO }, at.clone())).collect()
        } else {
            let address = |id: &NodeId| membership.get_node(id).map(|logged| reach.address_of(id.node, logged));
            membership.voter_ids().filter_map(|id| Some((id, address(&id)?))).collect()
        };
        let whom: BTreeMap<NodeId, QuorumNode> = whom.into_iter().filter(|(id, _)| id.node != self.me.node).collect();
        let seen = see(reach, &whom.iter().map(|(id, at)| (id.node, at.clone())).collect()).await;
        let says = |id: &NodeId| if listed.contains_key(&id.node) { "--quorum" } else { "the metadata log" };
        let row =
            |(id, at): (NodeId, QuorumNode)| Some(Row { id, at, says: says(&id), seen: seen.get(&id.node)?.clone() });
        let rows: Vec<Row> = whom.into_iter().filter_map(row).collect();
        let is_there = rows.iter().any(|row| matches!(&row.seen, Seen::Says(identity) if identity.held.is_some()));
        let standing = match membership.voter_ids().any(|voter| voter == self.me) {
            true => Standing::Voter(membership.voter_ids().count()),
            false if is_new => Standing::New(listed.keys().next().copied().filter(|_| !is_there)),
            false => Standing::Listener,
        };
        words(standing, &rows, &cause.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(node: BrokerId, seen: Seen) -> Row {
        let at = QuorumNode { host: "h".to_owned(), port: 9090 + u16::try_from(node).expect("a small id") };
        Row { id: NodeId { node, directory: Uuid::ZERO }, at, says: "--quorum", seen }
    }

    fn is(node: BrokerId) -> Seen {
        Seen::Says(Identity { id: NodeId { node, directory: Uuid([1; 16]) }, held: None, may_vote: true })
    }

    fn away() -> Seen {
        Seen::Silent("cannot be reached: refused".to_owned())
    }

    #[test]
    fn a_voter_waits_for_as_many_as_a_majority_lacks() {
        let told = |of: usize, rows: &[Row]| words(Standing::Voter(of), rows, &[]);
        assert_eq!(
            told(3, &[row(2, away()), row(3, away())]),
            "no majority of the voters answers: waiting for any of 2@h:9092 (cannot be reached: refused), 3@h:9093 \
             (cannot be reached: refused)"
        );
        let five = told(5, &[row(2, away()), row(3, away()), row(4, away()), row(5, away())]);
        assert!(five.starts_with("no majority of the voters answers: waiting for 2 of 2@h:9092 ("), "{five}");
        let elected_soon = told(3, &[row(2, is(2)), row(3, away())]);
        assert!(elected_soon.starts_with("a majority of the voters answers; waiting for a leader"), "{elected_soon}");
    }

    #[test]
    fn whoever_is_at_anothers_address_is_named_and_does_not_count() {
        let told = words(Standing::Voter(2), &[row(2, is(1))], &[]);
        assert_eq!(told, "no majority of the voters answers: waiting for any of h:9092 is node 1, --quorum says 2");
        let mut other = row(2, is(2));
        other.id.directory = Uuid([7; 16]);
        let told = words(Standing::Voter(2), &[other], &[]);
        assert!(told.contains("2@h:9092 (its directory is another"), "{told}");
    }

    #[test]
    fn a_new_node_says_what_is_wrong_with_the_others_else_what_they_answered() {
        let answered = ["h:9091: the node does not lead".to_owned()];
        let told = |rows: &[Row], begins| words(Standing::New(begins), rows, &answered);
        assert_eq!(
            told(&[row(1, is(1))], Some(1)),
            "waiting for a leader to take this node in, or for voter 1 to begin a new quorum (h:9091: the node does not \
             lead)"
        );
        assert_eq!(
            told(&[row(1, is(2))], None),
            "waiting for a leader to take this node in (h:9091 is node 2, --quorum says 1)"
        );
    }
}
