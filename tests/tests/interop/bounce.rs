//! Three nodes of which one after another goes down and comes back for as long as a client works: stopped in order, then
//! killed, in turn.
//!
//! Holds: never two are down. The next one goes when the last is back and every partition has all its replicas in sync.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ballast_tests::foreign::peers::Peers;
use ballast_tests::nodes::Nodes;
use ballast_tests::raw::now_ms;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use crate::session::{last_lines, panic_text};

/// How long a node that was stopped stays away: its partitions have other leaders by then.
const STOPPED: Duration = Duration::from_millis(500);
/// How long one that was killed stays away: longer than its session (`subject`).
const KILLED: Duration = Duration::from_secs(4);
/// Between two nodes all three serve for so long: a group misses a member that died, before its next coordinator lets every
/// session begin anew.
const WHOLE: Duration = Duration::from_secs(4);
const ASK_PAUSE: Duration = Duration::from_millis(100);
const ASK_MAX: Duration = Duration::from_secs(5);
const HEAL_MS_MAX: i64 = 120_000;

/// Nodes with ids from 1 on.
pub(crate) trait Cluster: Send + 'static {
    fn bootstrap(&self) -> String;
    fn count(&self) -> u8;
    fn stop(&mut self, id: u8);
    fn kill(&mut self, id: u8);
    fn restart(&mut self, id: u8);
    fn logs(&self) -> String;
}

/// See the module.
pub(crate) struct Bounce {
    bootstrap: String,
    count: u8,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Box<dyn Cluster>>>,
    cluster: Option<Box<dyn Cluster>>,
}

#[derive(Default)]
struct Shared {
    enough: AtomicBool,
    /// How often a node has been down and is back.
    downs: AtomicU64,
}

impl Bounce {
    pub(crate) fn start(cluster: impl Cluster) -> Bounce {
        let (bootstrap, count, shared) = (cluster.bootstrap(), cluster.count(), Arc::<Shared>::default());
        let (told, cluster) = (Arc::clone(&shared), Box::new(cluster));
        #[expect(clippy::disallowed_methods, reason = "processes are stopped beside a client that runs in this thread")]
        let thread = thread::spawn(move || turns(cluster, &told));
        Bounce { bootstrap, count, shared, thread: Some(thread), cluster: None }
    }

    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Waits until every node has gone down and come back since the call.
    pub(crate) fn await_round(&self) {
        // One may be down now already.
        let wanted = self.shared.downs.load(Ordering::Relaxed) + u64::from(self.count) + 1;
        let thread = self.thread.as_ref().expect("it has not ended");
        while self.shared.downs.load(Ordering::Relaxed) < wanted && !thread.is_finished() {
            thread::sleep(ASK_PAUSE);
        }
    }

    /// No node goes down any more; says how often one did, or what failed.
    pub(crate) fn end(&mut self) -> Result<String, String> {
        self.shared.enough.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        self.cluster = Some(thread.join().map_err(|panic| panic_text(&*panic))?);
        Ok(format!("{} times a node was down", self.shared.downs.load(Ordering::Relaxed)))
    }

    pub(crate) fn log_tail(&self) -> String {
        self.cluster.as_ref().map_or_else(String::new, |cluster| {
            let logs = cluster.logs();
            logs.split("--- ").map(|log| format!("\n{}", last_lines(log))).collect()
        })
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        self.shared.enough.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What failed has been told, or nobody asks.
            let _ = thread.join();
        }
    }
}

fn turns(mut cluster: Box<dyn Cluster>, shared: &Shared) -> Box<dyn Cluster> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.bootstrap()).set("broker.address.family", "v4");
    config.set("reconnect.backoff.max.ms", "200").set("socket.timeout.ms", "5000");
    let client: BaseConsumer = config.create().expect("the settings are good");
    let mut ids = (1..=cluster.count()).cycle();
    let mut in_order = true;
    while !shared.enough.load(Ordering::Relaxed) {
        let id = ids.next().expect("a cycle goes on");
        if in_order {
            cluster.stop(id);
            thread::sleep(STOPPED);
        } else {
            cluster.kill(id);
            thread::sleep(KILLED);
        }
        cluster.restart(id);
        in_order = !in_order;
        heal(&client, &*cluster);
        shared.downs.fetch_add(1, Ordering::Relaxed);
        thread::sleep(WHOLE);
    }
    cluster
}

fn heal(client: &BaseConsumer, cluster: &dyn Cluster) {
    let deadline = now_ms() + HEAL_MS_MAX;
    while let Err(lacking) = whole(client, usize::from(cluster.count())) {
        assert!(now_ms() < deadline, "not whole again within {HEAL_MS_MAX} ms: {lacking}\n{}", cluster.logs());
        thread::sleep(ASK_PAUSE);
    }
}

/// Are all nodes there, and all replicas of everything in sync?
fn whole(client: &BaseConsumer, count: usize) -> Result<(), String> {
    let told = client.fetch_metadata(None, ASK_MAX).map_err(|error| error.to_string())?;
    if told.brokers().len() != count {
        return Err(format!("{} nodes", told.brokers().len()));
    }
    for topic in told.topics() {
        for partition in topic.partitions() {
            if partition.leader() < 0 || partition.isr().len() != partition.replicas().len() {
                let (name, id) = (topic.name(), partition.id());
                return Err(format!("{name}-{id}: leader {}, in sync {:?}", partition.leader(), partition.isr()));
            }
        }
    }
    Ok(())
}

impl Cluster for Nodes {
    fn bootstrap(&self) -> String {
        self.bootstrap()
    }

    fn count(&self) -> u8 {
        self.ids().max().expect("it has nodes")
    }

    fn stop(&mut self, id: u8) {
        let status = self.node_mut(id).stop();
        assert!(status.success(), "node {id} stopped with {status}:\n{}", self.node(id).log());
    }

    fn kill(&mut self, id: u8) {
        self.node_mut(id).kill();
    }

    fn restart(&mut self, id: u8) {
        self.restart(&[id]);
    }

    fn logs(&self) -> String {
        self.logs()
    }
}

impl Cluster for Peers {
    fn bootstrap(&self) -> String {
        self.bootstrap()
    }

    fn count(&self) -> u8 {
        self.count()
    }

    fn stop(&mut self, id: u8) {
        self.stop(id);
    }

    fn kill(&mut self, id: u8) {
        self.kill(id);
    }

    fn restart(&mut self, id: u8) {
        self.restart(id);
    }

    fn logs(&self) -> String {
        self.logs()
    }
}
