//! Hosts with an address and a folder each, nodes of a quorum that run on them, and short ways to ask and to wait.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ballast_core::image::{Record, encode_records};
use ballast_core::settings::Statics;
use ballast_log::disk::RealDisk;
use ballast_net::{Connection, SeededEntropy, SystemClock, TcpTransport, Transport as _};
use ballast_wire::{BrokerId, Uuid};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::super::campaign::Candidate;
use super::super::members::Keeper;
use super::super::*;
use crate::api::controllers::ControllerRequests;
use crate::drive::settings::LiveSettings;
use crate::net::conn::ConnLimits;
use crate::net::limits::{Budget, ConnectionCount};
use crate::net::listen::{self, Accept};
use crate::session::{AllowAll, Session};

/// Everything that is waited for comes within this time, or the test fails.
pub(super) const SOON: Duration = Duration::from_secs(60);
/// Silence after which a voter that came back without its data is replaced.
pub(super) const SESSION: Duration = Duration::from_millis(300);

/// Hosts with an address and a folder each; who runs on them comes and goes.
pub(super) struct Town {
    folder: TempDir,
    pub(super) addresses: BTreeMap<BrokerId, QuorumNode>,
    voters: Vec<BrokerId>,
}

impl Town {
    pub(super) async fn new(hosts: BrokerId, voters: &[BrokerId]) -> Town {
        let mut addresses = BTreeMap::new();
        let mut listeners = Vec::new();
        for id in 1..=hosts {
            let listener = TcpTransport.listen("127.0.0.1", 0, None).await.unwrap();
            addresses.insert(id, QuorumNode { host: "127.0.0.1".to_owned(), port: listener.local_addr().port() });
            listeners.push(listener);
        }
        Town { folder: TempDir::new().unwrap(), addresses, voters: voters.to_vec() }
    }

    pub(super) fn dir(&self, id: NodeId) -> PathBuf {
        self.folder.path().join(format!("{id}").replace('/', "_"))
    }

    pub(super) async fn start(&self, node: BrokerId, generation: u8) -> Member {
        let mut member = self.start_still(node, generation).await;
        member.goes_on();
        member
    }

    /// A node that answers, and stands for election, and does nothing else by itself: its looks are stepped.
    pub(super) async fn start_still(&self, node: BrokerId, generation: u8) -> Member {
        let id = id(node, generation);
        let dir = self.dir(id);
        std::fs::create_dir_all(&dir).unwrap();
        Member::start(id, &dir, &self.addresses, &self.voters).await
    }

    /// A node with the id of another that runs, at an address of its own: that of `host`.
    pub(super) async fn start_double(&self, id: NodeId, host: BrokerId) -> Member {
        let (dir, mut addresses) = (self.dir(id), self.addresses.clone());
        addresses.insert(id.node, self.addresses[&host].clone());
        std::fs::create_dir_all(&dir).unwrap();
        Member::start(id, &dir, &addresses, &self.voters).await
    }

    /// A node that finds its way in at the address of `at`, and knows no voter.
    pub(super) async fn start_learner(&self, id: NodeId, at: BrokerId, cluster: Option<Uuid>) -> Member {
        let (dir, at) = (self.dir(id), self.addresses[&at].clone());
        std::fs::create_dir_all(&dir).unwrap();
        let change = |config: &mut QuorumConfig| {
            config.may_vote = false;
            let network = config.network.as_mut().expect("it has one");
            (network.bootstrap, network.cluster) = (vec![at], cluster);
        };
        let mut member = Member::start_as(id, &dir, &self.addresses, &[], change).await;
        member.goes_on();
        member
    }
}

pub(super) fn id(node: BrokerId, generation: u8) -> NodeId {
    let mut directory = [generation; 16];
    directory[0] = node as u8;
    NodeId { node, directory: Uuid(directory) }
}

/// One node: a quorum, its listener, and what keeps it a member.
pub(super) struct Member {
    pub(super) quorum: Arc<Quorum>,
    tasks: Vec<JoinHandle<()>>,
}

impl Member {
    pub(super) async fn start(
        me: NodeId,
        dir: &Path,
        addresses: &BTreeMap<BrokerId, QuorumNode>,
        voters: &[BrokerId],
    ) -> Member {
        Member::start_as(me, dir, addresses, voters, |_| ()).await
    }

    pub(super) async fn start_as(
        me: NodeId,
        dir: &Path,
        addresses: &BTreeMap<BrokerId, QuorumNode>,
        voters: &[BrokerId],
        change: impl FnOnce(&mut QuorumConfig),
    ) -> Member {
        let at = addresses[&me.node].clone();
        let listed = voters.iter().map(|id| (*id, addresses[id].clone())).collect();
        let ms = Duration::from_millis;
        let mut config = QuorumConfig {
            me,
            dir: dir.to_owned(),
            disk: RealDisk::ephemeral(),
            entropy: Arc::new(SeededEntropy::new(u64::from(me.node.cast_unsigned()))),
            clock: Arc::new(SystemClock),
            timers: Timers { heartbeat: ms(50), silence: ms(600), election: ms(250), backoff: ms(250) },
            voters: BTreeMap::new(),
            may_vote: true,
            network: Some(Network {
                transport: Arc::new(TcpTransport),
                advertised: at.clone(),
                listens_at: at.clone(),
                listed,
                bootstrap: Vec::new(),
                cluster: None,
                request_timeout: ms(2000),
            }),
        };
        change(&mut config);
        let quorum = Arc::new(Quorum::start(config).await.expect("the quorum opens"));
        let tasks = vec![listening(&quorum, &at).await];
        Member { quorum, tasks }
    }

    /// From now on it keeps itself a member.
    pub(super) fn goes_on(&mut self) {
        self.tasks.push(tokio::spawn(keep_membership(Arc::clone(&self.quorum), SESSION)));
    }

    /// So many looks at what there is to do for a member, one after the other.
    pub(super) async fn looks(&self, times: usize) {
        let mut keeper = Keeper::new(Arc::clone(&self.quorum), SESSION).expect("it reaches others");
        for _ in 0..times {
            assert!(keeper.look().await.is_continue(), "it has a part in the quorum");
        }
    }

    /// Would a majority vote for it?
    pub(super) async fn is_backed(&self) -> bool {
        let Quorum { me, raft, store, signs, reach, timers, .. } = &*self.quorum;
        let (raft, store) = (raft.clone(), store.clone());
        let (signs, reach) = (Arc::clone(signs), reach.clone());
        Candidate { me: *me, raft, store, signs, reach, timers: *timers }.is_backed().await
    }

    /// Ends at once; nothing of it is left when this returns.
    pub(super) async fn crash(mut self) {
        for task in std::mem::take(&mut self.tasks) {
            task.abort();
            // It was cancelled.
            let _ = task.await;
        }
        self.quorum.raft.shutdown().await.expect("openraft ends");
    }

    pub(super) async fn leads(&self) {
        timeout(SOON, self.quorum.leads().wait_for(|leads| *leads)).await.expect("it leads soon").unwrap();
    }

    pub(super) async fn catches_up(&self) {
        timeout(SOON, self.quorum.catch_up()).await.expect("it catches up soon");
    }

    pub(super) fn topics(&self) -> usize {
        self.quorum.image().topic_count()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn listening(quorum: &Arc<Quorum>, at: &QuorumNode) -> JoinHandle<()> {
    let listener = loop {
        // The life before may hold the port for a moment.
        match TcpTransport.listen(&at.host, at.port, None).await {
            Ok(listener) => break listener,
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    };
    let pairs = [("listeners", "PLAINTEXT://127.0.0.1:0")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (statics, _) = Statics::merge(pairs).expect("settings");
    let settings = LiveSettings::new(quorum.me().node, Arc::new(statics)).expect("settings");
    let limits =
        ConnLimits { frame_bytes_max: 64 << 20, idle_max: Duration::from_secs(600), budget: Budget::new(256 << 20) };
    let quorum = Arc::clone(quorum);
    let service = move |connection: &Connection| ControllerRequests {
        quorum: Arc::clone(&quorum),
        authorizer: Arc::new(AllowAll),
        node: Arc::new(OnceLock::new()),
        session: Session {
            listener: "CONTROLLER".into(),
            principal: "User:ANONYMOUS".into(),
            host: connection.peer.ip(),
            client_id: "".into(),
        },
    };
    let (never, stop) = watch::channel(false);
    let (count, watched) = (ConnectionCount::new(), settings.watch());
    tokio::spawn(async move {
        let accept = Accept { name: "CONTROLLER".into(), listener, limits, count, settings: watched, service, stop };
        listen::run(accept).await;
        drop((never, settings));
    })
}

pub(super) fn topic(n: u64) -> Vec<u8> {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&n.to_be_bytes());
    encode_records(&[Record::Topic { name: format!("topic-{n}"), id: Uuid(id) }])
}

/// Whoever of `members` leads, once one does.
pub(super) async fn leader(members: &[&Member]) -> usize {
    let found = async {
        loop {
            if let Some(at) = members.iter().position(|member| *member.quorum.leads().borrow()) {
                return at;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, found).await.expect("somebody leads soon")
}

/// Proposes at whoever leads until it is committed.
pub(super) async fn propose(members: &[&Member], n: u64) -> usize {
    let proposed = async {
        loop {
            let at = leader(members).await;
            if members[at].quorum.propose(topic(n)).await.is_ok() {
                return at;
            }
        }
    };
    timeout(SOON, proposed).await.expect("it is committed soon")
}

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, waiting).await.unwrap_or_else(|_| panic!("not within {SOON:?}: {what}"));
}

pub(super) fn voters(member: &Member) -> Vec<NodeId> {
    member.quorum.describe().voters.iter().map(|voter| voter.id).collect()
}

pub(super) fn observers(member: &Member) -> Vec<NodeId> {
    member.quorum.describe().observers.iter().map(|observer| observer.id).collect()
}
