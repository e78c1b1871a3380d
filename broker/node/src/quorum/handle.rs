//! The metadata quorum as the broker holds it: propose, watch, stop.
//!
//! ```text
//! start ── store and machine opened ── openraft ── sole voter: initialize, elect at once · several: `members`
//! propose ── appended, synced, committed, applied ── index        leads · image · listen · describe · fatal
//! ```
//! Holds: a quorum of one waits for no timer, and whatever stops openraft is told by `fatal` with its first cause.
//! Dropping the handle stops everything that it started.
//!
//! Read next: start, leadership, store, machine, serve (what others ask), members (who belongs to it).

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballast_core::image::{Image, decode_records};
use ballast_net::BoxFuture;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use openraft::Raft;
use openraft::error::{ClientWriteError, Fatal, RaftError};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::arrivals::{Doors, Doubles};
use super::campaign::Timers;
use super::describe::QuorumView;
use super::error::{Fault, ProposeError, QuorumError};
use super::first_start::Held;
use super::incoming::Incoming;
use super::machine::{Machine, Publication};
use super::network::{Lane, Reach};
use super::rpc;
use super::signs::Signs;
use super::store::Store;
use super::types::{Membership, Metrics, NodeId, QuorumNode, TypeConfig, next_index};
use crate::hush::Hush;

/// Largest entry in bytes.
pub const ENTRY_BYTES_MAX: usize = 32 << 20;
/// Between two questions to a leader that does not answer.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// The metadata quorum, running. See the module.
pub struct Quorum {
    pub(super) raft: Raft<TypeConfig>,
    pub(super) store: Store,
    pub(super) machine: Machine,
    pub(super) leads: watch::Receiver<bool>,
    /// What watches openraft, for as long as this is here.
    pub(super) tasks: [JoinHandle<()>; 2],
    pub(super) signs: Arc<Signs>,
    pub(super) fault: Fault,
    pub(super) me: NodeId,
    pub(super) may_vote: bool,
    pub(super) timers: Timers,
    pub(super) reach: Option<Reach>,
    pub(super) held: Held,
    pub(super) incoming: Mutex<Incoming>,
    /// When somebody who leads, or believes it, last counted this node among the members; at first when it started.
    pub(super) counted_at: Mutex<Instant>,
    /// Ids that two nodes want.
    pub(super) doubles: Doubles,
    /// In this life. From then on nobody's refusal ends it.
    pub(super) has_caught_up: AtomicBool,
    /// What other nodes ask and are refused is told from time to time.
    pub(super) refusals: Hush,
    pub(super) doors: Doors,
}

impl Quorum {
    /// What stopped openraft, in our own words for it, if it was us.
    pub(super) fn stopped(&self, fatal: &Fatal<NodeId>) -> QuorumError {
        cause_of(&self.fault, fatal)
    }

    /// Who this node is.
    #[must_use]
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// Waits until this node has applied everything that was committed when it was called, as a leader says that has just
    /// made sure of its reign.
    pub async fn catch_up(&self) {
        let mut metrics = self.raft.metrics();
        loop {
            let (leader, membership) = {
                let seen = metrics.borrow_and_update();
                (seen.current_leader, seen.membership_config.membership().clone())
            };
            if let Some(leader) = leader {
                match self.read_index_of(leader, &membership).await {
                    Ok(index) => {
                        let applied = |seen: &Metrics| next_index(seen.last_applied.as_ref()) > index;
                        if metrics.wait_for(applied).await.is_ok() {
                            self.has_caught_up.store(true, Ordering::Relaxed);
                            return;
                        }
                    }
                    Err(why) => tracing::debug!(why, %leader, "the leader does not say how far it is"),
                }
            }
            // Asked again after a while, or when another leads; a question that failed is news too, and would wake us at once
            // for ever. Without openraft there will be no news.
            let is_other = |seen: &Metrics| seen.current_leader != leader;
            let other = async { metrics.wait_for(is_other).await.is_ok() };
            if tokio::time::timeout(ASK_AGAIN, other).await == Ok(false) {
                pending::<()>().await;
            }
        }
    }

    /// Asks one of Kafka's APIs at the leader's controller listener: the body of the answer. Give it a time limit.
    ///
    /// # Errors
    /// There is no other leader, or no way to it, or it did not answer; in words for the log.
    pub(crate) async fn ask_leader(&self, key: ApiKey, version: i16, body: Bytes) -> Result<Bytes, String> {
        let (_, reach, at) = self.way_to_leader()?;
        reach.ask_plainly(Lane::Quick, key, version, &at, body).await.map_err(|error| error.to_string())
    }

    /// As [`Quorum::ask_leader`], over a connection of its own: what is decided on may take long, and signs of life must not
    /// wait for it. Gives up as soon as somebody else leads.
    ///
    /// # Errors
    /// As [`Quorum::ask_leader`].
    pub(crate) async fn forward_to_leader(&self, key: ApiKey, version: i16, body: Bytes) -> Result<Bytes, String> {
        let mut metrics = self.raft.metrics();
        let (leader, reach, at) = self.way_to_leader()?;
        let gone = async {
            // Without openraft nobody leads.
            let _ = metrics.wait_for(|seen| seen.current_leader != Some(leader)).await;
        };
        tokio::select! {
            biased;
            answer = reach.ask_plainly(Lane::Leisurely, key, version, &at, body) => answer.map_err(|error| error.to_string()),
            () = gone => Err(format!("{leader} does not lead any more")),
        }
    }

    /// The leader, and how to reach it, if it is another node.
    fn way_to_leader(&self) -> Result<(NodeId, &Reach, QuorumNode), String> {
        let (leader, membership) = {
            let metrics = self.raft.metrics();
            let seen = metrics.borrow();
            (seen.current_leader, seen.membership_config.membership().clone())
        };
        let leader = leader.filter(|leader| *leader != self.me).ok_or("nobody else leads")?;
        let node = membership.get_node(&leader).ok_or("the membership does not name the leader")?;
        let reach = self.reach.as_ref().ok_or("there is no way to the leader")?;
        Ok((leader, reach, reach.address_of(leader.node, node)))
    }

    async fn read_index_of(&self, leader: NodeId, membership: &Membership) -> Result<u64, String> {
        if leader == self.me {
            return self.read_index().await.map_err(|refused| refused.to_string());
        }
        let node = membership.get_node(&leader).ok_or("the membership does not name it")?;
        let reach = self.reach.as_ref().ok_or("there is no way to it")?;
        let at = reach.address_of(leader.node, node);
        let asked = reach.ask(rpc::READ_INDEX, Some(leader), &at, Vec::new(), rpc::index_of);
        asked.await.map_err(|error| error.to_string())
    }

    /// Appends an entry, as `ballast_core::image::encode_records` gives it; done once it is committed and applied here.
    /// Gives its index.
    ///
    /// # Errors
    /// Only `Stopped` leaves open whether it will be committed.
    pub fn propose(&self, entry: Vec<u8>) -> BoxFuture<'static, Result<u64, ProposeError>> {
        let (raft, fault) = (self.raft.clone(), self.fault.clone());
        Box::pin(async move {
            if entry.len() > ENTRY_BYTES_MAX {
                return Err(ProposeError::TooLarge { bytes: entry.len(), max: ENTRY_BYTES_MAX });
            }
            // Once committed, an entry that nobody understands would stop every node for good.
            decode_records(&entry).map_err(ProposeError::NotRecords)?;
            match raft.client_write(Bytes::from(entry)).await {
                Ok(written) => Ok(written.log_id.index),
                Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
                    Err(ProposeError::NotLeader { leader: forward.leader_id })
                }
                Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(error))) => {
                    Err(ProposeError::Stopped(error.to_string()))
                }
                Err(RaftError::Fatal(fatal)) => Err(ProposeError::Stopped(cause_of(&fault, &fatal).to_string())),
            }
        })
    }

    /// Does this node lead, with everything applied that was committed before? Tells of changes; a new reign is told even
    /// when the end of the one before was missed.
    #[must_use]
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.clone()
    }

    /// The image with everything applied so far.
    #[must_use]
    pub fn image(&self) -> Arc<Image> {
        self.machine.image()
    }

    /// Every change of the image, in order; the first is the whole image. Ends with the quorum.
    #[must_use]
    pub fn listen(&self) -> mpsc::UnboundedReceiver<Publication> {
        self.machine.listen()
    }

    /// The quorum as DescribeQuorum tells it.
    #[must_use]
    pub fn describe(&self) -> QuorumView {
        let contacts = self.reach.as_ref().map(Reach::contacts).unwrap_or_default();
        QuorumView::of(&self.raft.metrics().borrow(), &contacts)
    }

    /// Done, with the first cause, when the quorum has stopped for any reason but a shutdown.
    pub fn fatal(&self) -> BoxFuture<'static, QuorumError> {
        let (mut metrics, fault) = (self.raft.metrics(), self.fault.clone());
        Box::pin(async move {
            loop {
                match metrics.borrow_and_update().running_state.clone() {
                    Ok(()) => {}
                    Err(Fatal::Stopped) => match fault.cause() {
                        Some(cause) => return cause,
                        None => break,
                    },
                    Err(fatal) => return cause_of(&fault, &fatal),
                }
                if metrics.changed().await.is_err() {
                    return cause_of(&fault, &Fatal::Panicked);
                }
            }
            pending().await
        })
    }

    /// Leaves the quorum, ends what listeners hear, and closes the log. Proposals fail from here on.
    ///
    /// # Errors
    /// Closing the log failed, or the quorum had failed before.
    pub async fn shutdown(&self) -> Result<(), QuorumError> {
        if let Err(error) = self.raft.shutdown().await {
            tracing::error!(%error, "the metadata quorum did not stop by itself");
        }
        self.machine.hush();
        self.store.close().await
    }
}

impl Drop for Quorum {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// What stopped openraft: our own words for it, if it was us.
pub(super) fn cause_of(fault: &Fault, fatal: &Fatal<NodeId>) -> QuorumError {
    fault.cause().unwrap_or_else(|| QuorumError::Stopped(fatal.to_string()))
}
