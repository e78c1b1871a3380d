//! Running nodes of Apache Kafka, for tests that compare: one that is alone, or several that form a cluster.
//!
//! Holds: they end with the value, and their folders go with them. A node that comes back is at the address that it had.

use std::fs::{self, File};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::kafka::{Kafka, Site};
use super::skip;
use crate::raw::rows::eventually_within;

/// Enough for a test: a few topics, a few records.
const HEAP: [&str; 2] = ["-Xms512m", "-Xmx512m"];
/// How long a node may take to accept connections, in ms. It takes about 5,000; a busy machine takes longer.
const START_MS_MAX: i64 = 180_000;
/// Node ids run from here on.
const FIRST_ID: u8 = 1;

/// Running nodes of Apache Kafka; all of them vote.
pub struct Peers {
    nodes: Vec<Node>,
    // Keeps the folders while processes may use them.
    _folder: TempDir,
}

struct Node {
    kafka: Kafka,
    site: Site,
    child: Child,
}

impl Peers {
    /// So many fresh nodes with these settings, in which `{id}` stands for a node's id, or a skip in the name of `test`. Done
    /// when all accept connections.
    ///
    /// # Panics
    /// If Kafka is there and one does not come up; what it printed is in the message.
    #[must_use]
    pub fn start(test: &str, count: u8, settings: &[(&str, &str)]) -> Option<Peers> {
        let Some(kafka) = Kafka::find().unwrap_or_else(|error| panic!("{error}")) else {
            skip(test, "java (17 or later) or mvn");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let folders: Vec<_> = (0..count).map(|id| folder.path().join((FIRST_ID + id).to_string())).collect();
        for folder in &folders {
            fs::create_dir(folder).expect("a folder can be made in it");
        }
        let folders: Vec<_> = folders.iter().map(std::path::PathBuf::as_path).collect();
        let sites = Site::cluster(&folders, settings).unwrap_or_else(|error| panic!("{error}"));
        let launch = |mut site: Site| {
            let id = site.id.to_string();
            site.settings.iter_mut().for_each(|(_, value)| *value = value.replace("{id}", &id));
            kafka.format(&site).unwrap_or_else(|error| panic!("{error}"));
            let child = spawn(&kafka, &site);
            Node { kafka: kafka.clone(), site, child }
        };
        // From here on they end with the value, even if the test panics.
        let mut peers = Peers { nodes: sites.into_iter().map(launch).collect(), _folder: folder };
        peers.nodes.iter_mut().for_each(Node::await_ready);
        Some(peers)
    }

    /// `HOST:PORT,…` of all.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let all: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.site.port)).collect();
        all.join(",")
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.nodes.len() as u8
    }

    /// `HOST:PORT` of a node.
    #[must_use]
    pub fn node(&self, id: u8) -> String {
        format!("127.0.0.1:{}", self.nodes[usize::from(id - FIRST_ID)].site.port)
    }

    fn node_mut(&mut self, id: u8) -> &mut Node {
        &mut self.nodes[usize::from(id - FIRST_ID)]
    }

    /// kill -9 of a node.
    ///
    /// # Panics
    /// If it has ended already.
    pub fn kill(&mut self, id: u8) {
        let node = self.node_mut(id);
        node.child.kill().expect("a child can be killed");
        node.child.wait().expect("a child can be awaited");
    }

    /// SIGTERM to a node, and waits until it has stopped.
    ///
    /// # Panics
    /// If it has ended already.
    pub fn stop(&mut self, id: u8) {
        let node = self.node_mut(id);
        let told = Command::new("kill").arg(node.child.id().to_string()).status().expect("kill runs");
        assert!(told.success(), "Apache Kafka has ended:\n{}", node.log());
        node.child.wait().expect("a child can be awaited");
    }

    /// Starts a node again; done when it accepts connections.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn restart(&mut self, id: u8) {
        let node = self.node_mut(id);
        node.child = spawn(&node.kafka, &node.site);
        node.await_ready();
    }

    /// What every node has logged.
    #[must_use]
    pub fn logs(&self) -> String {
        self.nodes.iter().map(|node| format!("--- node {}\n{}", node.site.id, node.log())).collect()
    }
}

fn spawn(kafka: &Kafka, site: &Site) -> Child {
    let log = File::options().append(true).create(true).open(site.folder.join("log")).expect("the log can be written");
    let mut command = kafka.serve(site, &HEAP);
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

impl Node {
    fn log(&self) -> String {
        fs::read_to_string(self.site.folder.join("log")).unwrap_or_default()
    }

    fn await_ready(&mut self) {
        eventually_within(START_MS_MAX, "Apache Kafka accepts a connection", || {
            if let Some(status) = self.child.try_wait().expect("a child can be awaited") {
                panic!("Apache Kafka ended with {status} before it was ready:\n{}", self.log());
            }
            TcpStream::connect(("127.0.0.1", self.site.port)).ok()
        });
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // The folder goes too: nothing is lost by haste.
            let _ = node.child.kill();
            let _ = node.child.wait();
        }
    }
}
