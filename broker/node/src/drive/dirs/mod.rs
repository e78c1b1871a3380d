//! Where this broker's replicas live, told to the controller (KIP-858).
//!
//! ```text
//! store (made, opened, moved a replica) ─► Placements ─► open ─► AssignReplicasToDirs ─► controller
//!                                                         ▲                                 │
//!                                                         └──── not decided, refused ◄──────┘
//! ```
//! Holds: a replica stays open until the metadata says where it is, or the controller has taken the answer; at most one
//! request is on its way. A replica that is where the metadata says is never asked about: with one log directory the
//! controller knows from the start.
//!
//! Read next: `ballast_core::controller` (what the controller does with it), `drive::elsewhere` (where it is another node).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ballast_core::controller::{DirAssignment, Request, Response};
use ballast_core::image::{Directories, Image, Partition as Replicas};
use ballast_wire::{BrokerId, PartitionIndex, Uuid};
use tokio::sync::mpsc;

use super::hosted::Hosted;
use crate::node::Node;

/// Replicas in one request, as many as Kafka's brokers send.
const ASSIGNMENTS_MAX: usize = 2_250;
/// After a request that was not decided in full the next one waits, twice as long each time.
const BACKOFF_MS_MIN: u64 = 50;
const BACKOFF_MS_MAX: u64 = 5_000;

/// A replica of this broker.
type Replica = (Uuid, PartitionIndex);

/// Where the store says that a replica has a place.
#[derive(Debug, Clone)]
pub(crate) struct Placements(mpsc::UnboundedSender<Replica>);

/// What it has said.
pub(crate) type Placed = mpsc::UnboundedReceiver<Replica>;

impl Placements {
    /// Both ends.
    pub(crate) fn channel() -> (Placements, Placed) {
        let (sender, placed) = mpsc::unbounded_channel();
        (Placements(sender), placed)
    }

    /// Never waits. Once the broker stops nobody listens any more.
    pub(crate) fn tell(&self, topic: Uuid, index: PartitionIndex) {
        let _ = self.0.send((topic, index));
    }
}

/// Runs as long as the broker.
pub(crate) async fn run(mut placed: Placed, node: Arc<Node>) {
    let mut open = BTreeSet::new();
    let mut backoff_ms = 0;
    loop {
        if open.is_empty() {
            backoff_ms = 0;
            match placed.recv().await {
                Some(replica) => open.insert(replica),
                None => return,
            };
        }
        tokio::time::sleep(Duration::from_millis(backoff_ms)).await;
        while let Ok(replica) = placed.try_recv() {
            open.insert(replica);
        }
        let lost = |state: &Replicas| node.store.is_out_of_reach(state);
        let due = due(&mut open, node.id, &node.store.image(), &node.store.hosted, lost);
        if due.is_empty() {
            continue;
        }
        let asked = due.len();
        let taken = assign(&node, due).await;
        backoff_ms = if taken.len() == asked { 0 } else { (backoff_ms * 2).clamp(BACKOFF_MS_MIN, BACKOFF_MS_MAX) };
        for DirAssignment { dir, topic, index } in taken {
            if node.store.hosted.by_id(topic, index).is_none_or(|partition| partition.directory() == dir) {
                open.remove(&(topic, index));
            }
        }
    }
}

/// What the controller has to be told, of the replicas that are `open`. Those that are where the image says, and those that
/// are gone, are open no longer. One that may lie in a directory that has failed, of which the metadata does not say, is lost.
fn due(
    open: &mut BTreeSet<Replica>,
    me: BrokerId,
    image: &Image,
    hosted: &Hosted,
    is_lost: impl Fn(&Replicas) -> bool,
) -> Vec<DirAssignment> {
    let mut due = Vec::new();
    open.retain(|(topic, index)| {
        let Some(state) = image.partition(*topic, *index) else { return false };
        let Some(told) = state.directory(me) else { return false };
        let dir = match hosted.by_id(*topic, *index) {
            Some(partition) => partition.directory(),
            None if Directories::reserved(told) && is_lost(state) => Directories::LOST,
            None => return false,
        };
        if told == dir {
            return false;
        }
        due.push(DirAssignment { dir, topic: *topic, index: *index });
        true
    });
    due.truncate(ASSIGNMENTS_MAX);
    due
}

/// Tells the controller where replicas live. Gives those that it has taken, as it said row by row.
async fn assign(node: &Node, assignments: Vec<DirAssignment>) -> Vec<DirAssignment> {
    let request = Request::AssignReplicasToDirs { broker: node.id, broker_epoch: node.broker_epoch(), assignments };
    match node.controller.ask(request).await.response {
        Response::AssignReplicasToDirs(Ok(rows)) => {
            let taken = rows.into_iter().filter_map(|(assignment, result)| match result {
                Ok(()) => Some(assignment),
                Err(error) => {
                    tracing::debug!(?assignment, %error, "a replica's log directory was not taken");
                    None
                }
            });
            taken.collect()
        }
        Response::AssignReplicasToDirs(Err(error)) => {
            tracing::debug!(%error, "the controller takes no log directories from this broker now");
            Vec::new()
        }
        Response::Refused(refusal) => {
            tracing::debug!(%refusal, "the controller takes no log directories now");
            Vec::new()
        }
        other => unreachable!("AssignReplicasToDirs was answered with {other:?}"),
    }
}

#[cfg(test)]
mod tests;
