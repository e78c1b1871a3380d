//! The rule of the first start, as a function of what the listed voters say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ballast_wire::BrokerId;

use super::super::rpc::{Identity, Voters};
use super::super::types::{NodeId, QuorumNode};

/// What became of asking a voter who it is.
#[derive(Clone, Debug)]
pub(in super::super) enum Seen {
    /// It said.
    Says(Identity),
    /// It did not, and why.
    Silent(String),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Decision {
    /// Send `set` to `to`, each of which holds none.
    Send {
        /// The founding voters.
        set: Voters,
        /// Who needs it.
        to: BTreeSet<NodeId>,
    },
    /// Every listed voter holds the set.
    Settled,
    /// Not now.
    Wait(Wait),
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Wait {
    /// Voters that do not answer, and why.
    For(Vec<(BrokerId, QuorumNode, String)>),
    /// Other nodes answer at the addresses of these voters.
    Elsewhere(Vec<(BrokerId, QuorumNode, NodeId)>),
    /// The set that is held does not name these: their directories are new, or they were never part of it.
    Outsiders(Vec<NodeId>),
    /// Two voters hold different sets.
    Contradiction,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::For(away) => {
                write!(f, "the first start needs every voter; waiting for ")?;
                for (at, (id, node, why)) in away.iter().enumerate() {
                    write!(f, "{}{id}@{node} ({why})", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Wait::Elsewhere(found) => {
                for (at, (id, node, is)) in found.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{node} is node {}, --quorum says {id}", is.node)?;
                }
                Ok(())
            }
            Wait::Outsiders(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                let ids = ids.join(", ");
                write!(f, "there is a quorum already, and {ids} is no voter of it: its leader has to take it in")
            }
            Wait::Contradiction => {
                f.write_str("the listed voters belong to different quorums: --quorum lists nodes of two clusters")
            }
        }
    }
}

/// See the module. `seen` has a row for each of `listed`.
pub(in super::super) fn decide(listed: &BTreeMap<BrokerId, QuorumNode>, seen: &BTreeMap<BrokerId, Seen>) -> Decision {
    let mut said = BTreeMap::new();
    let (mut away, mut elsewhere) = (Vec::new(), Vec::new());
    for (id, node) in listed {
        match seen.get(id) {
            Some(Seen::Says(identity)) if identity.id.node != *id => {
                elsewhere.push((*id, node.clone(), identity.id));
            }
            Some(Seen::Says(identity)) => drop(said.insert(identity.id, identity)),
            Some(Seen::Silent(why)) => away.push((*id, node.clone(), why.clone())),
            None => away.push((*id, node.clone(), "not asked yet".to_owned())),
        }
    }
    if !elsewhere.is_empty() {
        return Decision::Wait(Wait::Elsewhere(elsewhere));
    }
    if !away.is_empty() {
        return Decision::Wait(Wait::For(away));
    }
    let mut held = said.values().filter_map(|identity| identity.held.as_ref());
    let set = match held.next() {
        None => said.keys().map(|id| (*id, listed[&id.node].clone())).collect(),
        Some(first) => {
            if held.any(|other| !other.keys().eq(first.keys())) {
                return Decision::Wait(Wait::Contradiction);
            }
            first.clone()
        }
    };
    let outsiders: Vec<NodeId> = said.keys().filter(|id| !set.contains_key(id)).copied().collect();
    if !outsiders.is_empty() {
        return Decision::Wait(Wait::Outsiders(outsiders));
    }
    let empty = said.values().filter(|identity| identity.held.is_none());
    let to: BTreeSet<NodeId> = empty.map(|identity| identity.id).collect();
    if to.is_empty() { Decision::Settled } else { Decision::Send { set, to } }
}

#[cfg(test)]
mod tests;
