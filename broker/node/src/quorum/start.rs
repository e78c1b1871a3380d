//! How the quorum starts: its log and snapshot opened and compared, openraft begun, a sole voter elected at once.
//!
//! Holds: a log that lost what was committed, or that a snapshot does not reach, is never started from.
//!
//! Read next: `handle` (what the broker does with it), `store` and `machine` (what is opened), `campaign`, `first_start`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ballast_log::disk::Disk;
use ballast_net::{Clock, Entropy, random_u64};
use openraft::{Config, Raft, SnapshotPolicy};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::admit::TERM_MAX;
use super::arrivals::{Doors, Doubles};
use super::campaign::{self, Candidate, Timers};
use super::error::{Fault, QuorumError};
use super::first_start::Held;
use super::handle::{Quorum, cause_of};
use super::machine::Machine;
use super::network::{Network, Peers, Reach};
use super::signs::Signs;
use super::store::{Store, on_disk};
use super::types::{NodeId, QuorumNode, next_index};
use super::{leadership, runtime};
use crate::hush::Hush;

/// Folder of the metadata log, within its log directory.
pub const LOG_DIR: &str = "__cluster_metadata-0";
/// Entries between two snapshots, and entries that are kept although a snapshot has them.
const SNAPSHOT_EVERY: u64 = 10_000;
const KEPT_BEHIND_SNAPSHOT: u64 = 10_000;
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
        let candidate = Candidate {
            me,
            raft: raft.clone(),
            store: store.clone(),
            signs: Arc::clone(&signs),
            reach: reach.clone(),
            timers,
        };
        let standing = campaign::run(candidate, random_u64(&*entropy), may_vote);
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
            timers,
            reach,
            held,
            incoming,
            counted_at,
            doubles: Doubles::default(),
            has_caught_up,
            refusals: Hush::new(1, Duration::from_secs(60)),
            doors: Doors::default(),
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
        let term = self.raft.metrics().borrow().vote.leader_id.term;
        if stored == [me] && term >= TERM_MAX {
            tracing::error!(term, "no further term can be kept by the metadata log: this node cannot lead");
        } else if stored == [me] {
            // Nothing happens if it leads already, or is about to.
            self.raft.trigger().elect().await.map_err(|fatal| self.stopped(&fatal))?;
        }
        Ok(())
    }
}

/// Opens the log and the newest snapshot, and compares them.
fn open(
    disk: &Arc<dyn Disk>,
    dir: &Path,
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
    if let (Some(applied), Some(last)) = (machine.last(), store.last())
        && last.leader_id < applied.leader_id
        && last.index > applied.index
    {
        // A snapshot came, and a crash before the log was cut that it contradicts. Those entries were never committed.
        store.cut_here(applied.index + 1)?;
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
