//! The metadata quorum as the broker holds it: start, propose, watch, stop.
//!
//! ```text
//! start ── store and machine opened ── openraft ── first start: initialize · sole voter: elect at once
//! propose ── appended, synced, committed, applied ── index        leads · image · listen · describe · fatal
//! ```
//! Holds: a quorum of one waits for no timer, and whatever stops openraft is told by `fatal` with its first cause.
//! Dropping the handle stops everything that it started.
//!
//! Read next: leadership, store, machine.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ballast_core::image::{Image, decode_records};
use ballast_log::disk::Disk;
use ballast_net::{BoxFuture, Clock, Entropy, random_u64};
use bytes::Bytes;
use openraft::error::{ClientWriteError, Fatal, InitializeError, RaftError};
use openraft::{Config, Raft, SnapshotPolicy};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::describe::QuorumView;
use super::error::{Fault, ProposeError, QuorumError};
use super::machine::{Machine, Publication};
use super::network::Peers;
use super::store::{Store, on_disk};
use super::types::{NodeId, QuorumNode, TypeConfig, next_index};
use super::{leadership, runtime};

/// Folder of the metadata log, within its log directory.
pub const LOG_DIR: &str = "__cluster_metadata-0";
/// Largest entry in bytes.
pub const ENTRY_BYTES_MAX: usize = 32 << 20;
/// Entries between two snapshots, and entries that are kept although a snapshot has them.
const SNAPSHOT_EVERY: u64 = 10_000;
const KEPT_BEHIND_SNAPSHOT: u64 = 10_000;

/// How patient the quorum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Between two heartbeats of the leader.
    pub heartbeat: Duration,
    /// A follower that hears nothing waits at least this long, and at most `election_max`, before it campaigns.
    pub election_min: Duration,
    /// See `election_min`.
    pub election_max: Duration,
}

impl Default for Timers {
    /// Patient enough for a busy machine whose syncs take their time.
    fn default() -> Timers {
        let ms = Duration::from_millis;
        Timers { heartbeat: ms(200), election_min: ms(1000), election_max: ms(2000) }
    }
}

/// What a quorum needs of the world.
pub struct QuorumConfig {
    /// Who we are.
    pub me: NodeId,
    /// The log directory in which the metadata lies, with our `directory.id`. It exists.
    pub dir: PathBuf,
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// Seeds the election timeout.
    pub entropy: Arc<dyn Entropy>,
    /// Stamps entries, for people who look at them.
    pub clock: Arc<dyn Clock>,
    /// How patient the quorum is.
    pub timers: Timers,
    /// Who votes, on the first start only: later the log says it. Empty: wait until a leader says so.
    pub voters: BTreeMap<NodeId, QuorumNode>,
}

/// The metadata quorum, running. See the module.
pub struct Quorum {
    pub(super) raft: Raft<TypeConfig>,
    pub(super) store: Store,
    machine: Machine,
    leads: watch::Receiver<bool>,
    watcher: JoinHandle<()>,
    fault: Fault,
}

impl Quorum {
    /// Opens what is on disk and takes part in the quorum. Does not wait for a leader: see [`Quorum::leads`].
    ///
    /// # Errors
    /// The disk failed, or holds what no crash can leave behind, or the log belongs to others.
    pub async fn start(config: QuorumConfig) -> Result<Quorum, QuorumError> {
        let QuorumConfig { me, dir, disk, entropy, clock, timers, voters } = config;
        let fault = Fault::default();
        let (store, machine) = {
            let (disk_of, dir, fault) = (Arc::clone(&disk), dir.join(LOG_DIR), fault.clone());
            on_disk(&*disk, move || open(&disk_of, &dir, clock, &fault)).await?
        };
        let started = Raft::new(me, Arc::new(raft_config(timers)), Peers, store.clone(), machine.clone());
        let raft = runtime::seeded(random_u64(&*entropy), started).await.map_err(|fatal| cause_of(&fault, &fatal))?;
        let (tell, leads) = watch::channel(false);
        let watcher = tokio::spawn(leadership::watch(raft.metrics(), tell));
        let quorum = Quorum { raft, store, machine, leads, watcher, fault };
        quorum.join(me, voters).await?;
        Ok(quorum)
    }

    /// Initializes on the first start; campaigns at once if nobody else can.
    async fn join(&self, me: NodeId, voters: BTreeMap<NodeId, QuorumNode>) -> Result<(), QuorumError> {
        let stopped = |fatal: &Fatal<NodeId>| cause_of(&self.fault, fatal);
        let is_alone = voters.len() == 1 && voters.contains_key(&me);
        let is_new = !self.raft.is_initialized().await.map_err(|fatal| stopped(&fatal))?;
        if is_new && !voters.is_empty() {
            match self.raft.initialize(voters).await {
                // NotAllowed: a leader was faster, and its log knows better.
                Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
                Err(RaftError::APIError(InitializeError::NotInMembers(error))) => {
                    return Err(QuorumError::NotAVoter { me, voters: error.membership.to_string() });
                }
                Err(RaftError::Fatal(fatal)) => return Err(stopped(&fatal)),
            }
        }
        let membership = |state: &openraft::RaftState<_, _, _>| state.membership_state.effective().membership().clone();
        let membership = self.raft.with_raft_state(membership).await.map_err(|fatal| stopped(&fatal))?;
        let stored: Vec<NodeId> = membership.voter_ids().collect();
        if is_alone && !stored.contains(&me) {
            let voters = stored.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(QuorumError::NotAVoter { me, voters });
        }
        if stored == [me] {
            // Nothing happens if it leads already, or is about to.
            self.raft.trigger().elect().await.map_err(|fatal| stopped(&fatal))?;
        }
        Ok(())
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
        QuorumView::of(&self.raft.metrics().borrow())
    }

    /// Done, with the first cause, when the quorum has stopped for any reason but a shutdown.
    pub fn fatal(&self) -> BoxFuture<'static, QuorumError> {
        let (mut metrics, fault) = (self.raft.metrics(), self.fault.clone());
        Box::pin(async move {
            loop {
                match metrics.borrow_and_update().running_state.clone() {
                    Ok(()) => {}
                    Err(Fatal::Stopped) => break,
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
        self.watcher.abort();
    }
}

/// Opens the log and the newest snapshot, and compares them.
fn open(
    disk: &Arc<dyn Disk>,
    dir: &std::path::Path,
    clock: Arc<dyn Clock>,
    fault: &Fault,
) -> Result<(Store, Machine), QuorumError> {
    let store = Store::open(Arc::clone(disk), dir, clock, fault.clone())?;
    let machine = Machine::open(Arc::clone(disk), dir, fault.clone())?;
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
    Ok((store, machine))
}

fn raft_config(timers: Timers) -> Config {
    let ms = |duration: Duration| duration.as_millis() as u64;
    let config = Config {
        cluster_name: "metadata".to_owned(),
        heartbeat_interval: ms(timers.heartbeat),
        election_timeout_min: ms(timers.election_min),
        election_timeout_max: ms(timers.election_max),
        snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_EVERY),
        max_in_snapshot_log_to_keep: KEPT_BEHIND_SNAPSHOT,
        replication_lag_threshold: SNAPSHOT_EVERY + KEPT_BEHIND_SNAPSHOT,
        ..Config::default()
    };
    config.validate().expect("timers are ordered: heartbeat < election_min < election_max")
}

/// What stopped openraft: our own words for it, if it was us.
fn cause_of(fault: &Fault, fatal: &Fatal<NodeId>) -> QuorumError {
    fault.cause().unwrap_or_else(|| QuorumError::Stopped(fatal.to_string()))
}
