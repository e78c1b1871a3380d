//! What happens to the nodes.

use std::fmt;
use std::time::Duration;

use ballast_tests::nodes::wipe;

use super::cluster::{Cluster, SESSION};
use super::load::Load;

/// Whom it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    Leader,
    Follower,
    Controller,
}

/// Which packets are lost between a node and the two others. Clients reach all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packets {
    Sent,
    Received,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill(Whom),
    Freeze(Whom),
    Cut(Whom, Packets),
    /// Every node after another, by SIGTERM.
    Roll,
    /// A node comes back with an empty disk.
    Replace,
    KillAll,
}

/// Each of them, in an order that leaves the hardest for last.
pub(super) const FAULTS: [Fault; 14] = [
    Fault::Kill(Whom::Follower),
    Fault::Kill(Whom::Leader),
    Fault::Kill(Whom::Controller),
    Fault::Freeze(Whom::Follower),
    Fault::Freeze(Whom::Leader),
    Fault::Freeze(Whom::Controller),
    Fault::Cut(Whom::Leader, Packets::All),
    Fault::Cut(Whom::Leader, Packets::Sent),
    Fault::Cut(Whom::Leader, Packets::Received),
    Fault::Cut(Whom::Follower, Packets::Sent),
    Fault::Cut(Whom::Controller, Packets::All),
    Fault::Roll,
    Fault::Replace,
    Fault::KillAll,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = |whom: &Whom| match whom {
            Whom::Leader => "a leader",
            Whom::Follower => "a follower",
            Whom::Controller => "the active controller",
        };
        match self {
            Fault::Kill(of) => write!(f, "kill -9 of {}", whom(of)),
            Fault::Freeze(of) => write!(f, "SIGSTOP of {} for longer than its session", whom(of)),
            Fault::Cut(of, Packets::All) => write!(f, "{} cut off from the other nodes", whom(of)),
            Fault::Cut(of, Packets::Sent) => write!(f, "{} not heard by the other nodes", whom(of)),
            Fault::Cut(of, Packets::Received) => write!(f, "{} deaf to the other nodes", whom(of)),
            Fault::Roll => write!(f, "a rolling restart"),
            Fault::Replace => write!(f, "a node back with an empty disk"),
            Fault::KillAll => write!(f, "kill -9 of all nodes at once"),
        }
    }
}

impl Fault {
    /// Does it take more than processes?
    pub(super) fn needs_a_network(self) -> bool {
        matches!(self, Fault::Cut(..))
    }

    /// Lets it happen and be over; gives the node.
    pub(super) async fn happen(self, cluster: &mut Cluster, load: &Load) -> u8 {
        let target = match self {
            Fault::Kill(whom) | Fault::Freeze(whom) | Fault::Cut(whom, _) => find(whom, cluster),
            Fault::Replace => cluster.follower(),
            Fault::Roll | Fault::KillAll => 0,
        };
        let after = format!("while {self} lasts");
        match self {
            Fault::Kill(_) => {
                cluster.nodes.node_mut(target).kill();
                load.goes_on(1_000, &after).await;
                cluster.nodes.restart(&[target]);
            }
            Fault::Freeze(_) => {
                cluster.nodes.freeze(target);
                tokio::time::sleep(SESSION + Duration::from_secs(1)).await;
                load.goes_on(1_000, &after).await;
                cluster.nodes.thaw(target);
            }
            Fault::Cut(_, packets) => {
                cut(cluster, target, packets);
                tokio::time::sleep(SESSION + Duration::from_secs(1)).await;
                load.goes_on(1_000, &after).await;
                cluster.nodes.town().expect("there is a network").heal();
            }
            Fault::Roll => {
                for id in cluster.nodes.ids() {
                    assert!(cluster.nodes.node_mut(id).stop().success(), "{}", cluster.nodes.node(id).log());
                    cluster.nodes.restart(&[id]);
                    cluster.heals("between two restarts").await;
                }
            }
            Fault::Replace => {
                cluster.nodes.node_mut(target).kill();
                wipe(&cluster.nodes.data(target));
                cluster.nodes.restart(&[target]);
            }
            Fault::KillAll => {
                cluster.nodes.kill_all();
                let all: Vec<u8> = cluster.nodes.ids().collect();
                cluster.nodes.restart(&all);
            }
        }
        target
    }
}

fn find(whom: Whom, cluster: &Cluster) -> u8 {
    match whom {
        Whom::Leader => cluster.leader(),
        Whom::Follower => cluster.follower(),
        Whom::Controller => cluster.controller(),
    }
}

fn cut(cluster: &Cluster, target: u8, packets: Packets) {
    let town = cluster.nodes.town().expect("there is a network");
    for other in cluster.nodes.ids().filter(|id| *id != target) {
        if packets != Packets::Received {
            town.cut(target, other);
        }
        if packets != Packets::Sent {
            town.cut(other, target);
        }
    }
}
