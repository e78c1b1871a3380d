//! The metadata quorum as the broker holds it: start, propose, watch, stop.
//!
//! ```text
//! start ── store and machine opened ── openraft ── sole voter: initialize, elect at once · several: `members`
//! propose ── appended, synced, committed, applied ── index        leads · image · listen · describe · fatal
//! ```
//! Holds: a quorum of one waits for no timer, and whatever stops openraft is told by `fatal` with its first cause.
//! Dropping the handle stops everything that it started.
//!
//! Read next: leadership, store, machine, serve (what others ask), members (who belongs to it).

use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballast_core::image::{Image, decode_records};
use ballast_log::disk::Disk;
use ballast_net::{BoxFuture, Clock, Entropy, random_u64};
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use openraft::error::{ClientWriteError, Fatal, RaftError};
use openraft::{Config, Raft, SnapshotPolicy};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::campaign::{self, Signs, Timers};
use super::describe::QuorumView;
use super::error::{Fault, ProposeError, QuorumError};
use super::first_start::Held;
use super::machine::{Machine, Publication};
use super::network::{Lane, Network, Peers, Reach};
use super::serve::Incoming;
use super::store::{Store, on_disk};
use super::types::{Membership, Metrics, NodeId, QuorumNode, TypeConfig, next_index};
use super::{leadership, rpc, runtime};

/// Folder of the metadata log, within its log directory.
pub const LOG_DIR: &str = "__cluster_metadata-0";
/// Largest entry in bytes.
pub const ENTRY_BYTES_MAX: usize = 32 << 20;
/// Entries between two snapshots, and entries that are kept although a snapshot has them.
const SNAPSHOT_EVERY: u64 = 10_000;
const KEPT_BEHIND_SNAPSHOT: u64 = 10_000;

/// Between two questions to a leader that does not answer.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// Bytes of a snapshot that one request carries, and how long one may take: its receiver syncs the last.
const SNAPSHOT_CHUNK_BYTES: u64 = 1 << 20;
const SNAPSHOT_CHUNK_MAX: Duration = Duration::from_secs(30);

/// What a quorum needs of the world.
pub struct QuorumConfig {
    /// Who we are.
    pub me: NodeId,
    /// The log directory in which the metadata lies, with our `directory.id`. It exists.
    pub dir: PathBuf,
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// Seeds the random part of every wait before an election.
    pub entropy: Arc<dyn Entropy>,
    /// Stamps entries, for people who look at them.
    pub clock: Arc<dyn Clock>,
    /// How patient the quorum is.
    pub timers: Timers,
    /// Who votes, on the first start only: later the log says it. Empty: whom `network` lists, or wait for a leader.
    pub voters: BTreeMap<NodeId, QuorumNode>,
    /// May this node vote and lead? One that may not listens, and never campaigns.
    pub may_vote: bool,
    /// The way to other nodes; `None` for a quorum of one that nobody reaches.
    pub network: Option<Network>,
}

/// The metadata quorum, running. See the module.
pub struct Quorum {
    pub(super) raft: Raft<TypeConfig>,
    pub(super) store: Store,
    machine: Machine,
    leads: watch::Receiver<bool>,
    /// What watches openraft, for as long as this is here.
    tasks: [JoinHandle<()>; 2],
    pub(super) signs: Arc<Signs>,
    pub(super) fault: Fault,
    pub(super) me: NodeId,
    pub(super) may_vote: bool,
    pub(super) reach: Option<Reach>,
    pub(super) held: Held,
    pub(super) incoming: Mutex<Incoming>,
    /// When somebody who leads, or believes it, last counted this node among the members; at first when it started.
    pub(super) counted_at: Mutex<Instant>,
    /// In this life. From then on nobody's refusal ends it.
    pub(super) has_caught_up: AtomicBool,
}

impl Quorum {
    /// Opens what is on disk and takes part in the quorum. Does not wait for a leader: see [`Quorum::leads`].
    ///
    /// # Errors
    /// The disk failed, or holds what no crash can leave behind, or the log belongs to others.
    pub async fn start(config: QuorumConfig) -> Result<Quorum, QuorumError> {
        let QuorumConfig { me, dir, disk, entropy, clock, timers, voters, may_vote, network } = config;
        let fault = Fault::default();
        let (store, machine, held) = {
            let (disk_of, dir, fault, clock) =
                (Arc::clone(&disk), dir.join(LOG_DIR), fault.clone(), Arc::clone(&clock));
            on_disk(&*disk, move || open(&disk_of, &dir, clock, &fault)).await?
        };
        if network.is_some() {
            store.forget_reign(me);
        }
        let signs = Arc::new(Signs::default());
        let reach = network.map(|network| Reach::new(me, network, clock, store.clone(), Arc::clone(&signs)));
        let peers = Peers(reach.clone());
        let started = Raft::new(me, Arc::new(raft_config(timers)), peers, store.clone(), machine.clone());
        let raft = runtime::seeded(random_u64(&*entropy), started).await.map_err(|fatal| cause_of(&fault, &fatal))?;
        let (tell, leads) = watch::channel(false);
        // By then the others have waited, and are about to elect another.
        let watcher = tokio::spawn(leadership::watch(raft.metrics(), tell, timers.silence));
        let standing = campaign::run(raft.clone(), Arc::clone(&signs), timers, random_u64(&*entropy), may_vote);
        let tasks = [watcher, tokio::spawn(standing)];
        let (held, incoming) = (held, Mutex::default());
        let (counted_at, has_caught_up) = (Mutex::new(Instant::now()), AtomicBool::new(false));
        let quorum = Quorum {
            raft,
            store,
            machine,
            leads,
            tasks,
            signs,
            fault,
            me,
            may_vote,
            reach,
            held,
            incoming,
            counted_at,
            has_caught_up,
        };
        quorum.join(voters).await?;
        Ok(quorum)
    }

    /// Initializes on the first start; campaigns at once if nobody else can.
    async fn join(&self, voters: BTreeMap<NodeId, QuorumNode>) -> Result<(), QuorumError> {
        let me = self.me;
        let is_alone = voters.len() == 1 && voters.contains_key(&me);
        let is_new = !self.raft.is_initialized().await.map_err(|fatal| self.stopped(&fatal))?;
        if is_new && !voters.is_empty() {
            self.initialize(voters).await?;
        }
        let stored: Vec<NodeId> = self.membership().await.voter_ids().collect();
        let names = || stored.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if is_alone && !stored.contains(&me) {
            return Err(QuorumError::NotAVoter { me, voters: names() });
        }
        if self.reach.is_none() && stored.iter().any(|voter| *voter != me) {
            return Err(QuorumError::NoListener { voters: names() });
        }
        if !self.may_vote && stored.contains(&me) {
            if stored.len() == 1 {
                return Err(QuorumError::OnlyVoter);
            }
            tracing::warn!("this node votes in the metadata quorum and is a broker alone: remove its vote");
        }
        if stored == [me] {
            // Nothing happens if it leads already, or is about to.
            self.raft.trigger().elect().await.map_err(|fatal| self.stopped(&fatal))?;
        }
        Ok(())
    }

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

/// Opens the log and the newest snapshot, and compares them.
fn open(
    disk: &Arc<dyn Disk>,
    dir: &std::path::Path,
    clock: Arc<dyn Clock>,
    fault: &Fault,
) -> Result<(Store, Machine, Held), QuorumError> {
    let store = Store::open(Arc::clone(disk), dir, clock, fault.clone())?;
    let machine = Machine::open(Arc::clone(disk), dir, fault.clone())?;
    let held = Held::open(Arc::clone(disk), dir)?;
    let wanted = next_index(machine.last().as_ref());
    let (start, end) = store.bounds();
    if wanted < start {
        // A snapshot that does not open explains it better.
        return Err(machine.unreadable().unwrap_or(QuorumError::Gap { wanted, start }));
    }
    let committed = next_index(store.committed().as_ref());
    if committed > end.max(wanted) {
        return Err(QuorumError::Lost { committed: committed - 1, end });
    }
    Ok((store, machine, held))
}

/// openraft has no election timer of its own here (see campaign): what it calls the longest election timeout is the lease of
/// a leader, and the shortest is how long a vote may take.
fn raft_config(timers: Timers) -> Config {
    let ms = |duration: Duration| duration.as_millis() as u64;
    let lease = ms(timers.lease());
    let config = Config {
        cluster_name: "metadata".to_owned(),
        heartbeat_interval: ms(timers.heartbeat),
        election_timeout_min: lease.saturating_sub(1),
        election_timeout_max: lease,
        install_snapshot_timeout: ms(SNAPSHOT_CHUNK_MAX),
        snapshot_max_chunk_size: SNAPSHOT_CHUNK_BYTES,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_EVERY),
        max_in_snapshot_log_to_keep: KEPT_BEHIND_SNAPSHOT,
        replication_lag_threshold: SNAPSHOT_EVERY + KEPT_BEHIND_SNAPSHOT,
        enable_elect: false,
        ..Config::default()
    };
    config.validate().expect("a lease is longer than two heartbeats")
}

/// What stopped openraft: our own words for it, if it was us.
fn cause_of(fault: &Fault, fatal: &Fatal<NodeId>) -> QuorumError {
    fault.cause().unwrap_or_else(|| QuorumError::Stopped(fatal.to_string()))
}
