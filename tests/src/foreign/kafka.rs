//! Apache Kafka as a broker: one node in KRaft mode, controller and broker in one.
//!
//! Two ways in: [`Kafka`] gives the commands to whoever keeps the process himself (the benches), [`Peer`] is a running
//! node for tests that compare. Flags of the virtual machine are those of Kafka's own start script, with the heap that
//! the caller chooses.
//!
//! Holds: internal topics have one replica and a group does not wait for members to come, as on a node of ours.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

use super::jars::Jars;
use super::{both, skip};
use crate::raw::rows::eventually_within;

/// Any id will do; a formatted folder must have one.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qg";
/// As `kafka-server-start.sh` and `kafka-run-class.sh` start a broker.
const VM_FLAGS: [&str; 5] = [
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
];
const TOOL_HEAP: &str = "-Xmx256m";
/// Enough for a test: a few topics, a few records.
const PEER_HEAP: [&str; 2] = ["-Xms512m", "-Xmx512m"];
/// How long a node may take to accept connections, in ms. It takes about 5,000; a busy machine takes longer.
const START_MS_MAX: i64 = 180_000;

/// Where a node lives.
#[derive(Debug)]
pub struct Site {
    /// Its folder; data go into `data` below it.
    pub folder: PathBuf,
    /// Where clients connect, on 127.0.0.1.
    pub port: u16,
    /// For the controller, on 127.0.0.1.
    pub controller_port: u16,
    /// Broker settings, with Kafka's names; they win over those that every node gets.
    pub settings: Vec<(String, String)>,
}

impl Site {
    /// A place in this folder, on ports of its own.
    ///
    /// # Errors
    /// No port is free.
    pub fn new(folder: &Path, settings: &[(&str, &str)]) -> Result<Site, String> {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Ok(Site { folder: folder.to_owned(), port: free_port()?, controller_port: free_port()?, settings })
    }

    /// Where the data go.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn properties(&self) -> PathBuf {
        self.folder.join("server.properties")
    }
}

/// Apache Kafka's jars, used as a broker.
#[derive(Debug, Clone)]
pub struct Kafka(Jars);

impl Kafka {
    /// Kafka, if java and Maven are on the search path.
    ///
    /// # Errors
    /// Maven is there but cannot resolve the jars.
    pub fn find() -> Result<Option<Kafka>, String> {
        Ok(Jars::find()?.map(Kafka))
    }

    /// Writes the node's properties and formats its folder.
    ///
    /// # Errors
    /// The folder cannot be written, or Kafka refuses the settings.
    pub fn format(&self, site: &Site) -> Result<(), String> {
        let path = site.properties();
        fs::write(&path, properties(site)).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut command = self.0.java(&[TOOL_HEAP]);
        command.args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"]).arg(&path);
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{command:?}: {}\n{}", output.status, both(&output)))
    }

    /// The node's process, with these flags for the size of its heap. The folder has been formatted.
    #[must_use]
    pub fn serve(&self, site: &Site, heap: &[&str]) -> Command {
        let mut command = self.0.java(&[heap, &VM_FLAGS].concat());
        command.arg("kafka.Kafka").arg(site.properties());
        command
    }
}

/// A running Apache Kafka, gone with its folder when dropped.
pub struct Peer {
    child: Child,
    /// `HOST:PORT` of its listener.
    pub bootstrap: String,
    // Keeps the folder while the process may use it.
    _folder: TempDir,
}

impl Peer {
    /// A fresh node with these settings, or a skip in the name of `test`.
    ///
    /// # Panics
    /// If Kafka is there and does not come up; what it printed is in the message.
    #[must_use]
    pub fn start(test: &str, settings: &[(&str, &str)]) -> Option<Peer> {
        let Some(kafka) = Kafka::find().unwrap_or_else(|error| panic!("{error}")) else {
            skip(test, "java (17 or later) or mvn");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let site = Site::new(folder.path(), settings).unwrap_or_else(|error| panic!("{error}"));
        kafka.format(&site).unwrap_or_else(|error| panic!("{error}"));
        let log_path = folder.path().join("log");
        let log = File::create(&log_path).expect("the log can be written");
        let mut command = kafka.serve(&site, &PEER_HEAP);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let bootstrap = format!("127.0.0.1:{}", site.port);
        // From here on the process ends with the value, even if the test panics.
        let mut peer = Peer { child, bootstrap, _folder: folder };
        eventually_within(START_MS_MAX, "Apache Kafka accepts a connection", || {
            if let Some(status) = peer.child.try_wait().expect("a child can be awaited") {
                let text = fs::read_to_string(&log_path).unwrap_or_default();
                panic!("Apache Kafka ended with {status} before it was ready:\n{text}");
            }
            TcpStream::connect(&peer.bootstrap).ok()
        });
        Some(peer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The folder goes too: nothing is lost by haste.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn properties(site: &Site) -> String {
    let (port, controller, data) = (site.port, site.controller_port, site.data());
    let mut text = format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         inter.broker.listener.name=PLAINTEXT\n\
         offsets.topic.replication.factor=1\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n\
         group.initial.rebalance.delay.ms=0\n\
         log.dirs={}\n",
        data.display()
    );
    for (key, value) in &site.settings {
        writeln!(text, "{key}={value}").expect("a string takes whatever is written");
    }
    text
}

/// Ports for brokers: below those that the system gives to outgoing connections, or somebody's connection could take it
/// before the broker does, a client's own attempt to connect among them.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A port that nobody listens on now, and that no node of this process was given before.
///
/// # Errors
/// None is free.
pub fn free_port() -> Result<u16, String> {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.len() as u32;
    // Suites that run side by side begin apart.
    let first = std::process::id().wrapping_mul(97) % count;
    for _ in 0..count {
        let next = (first + u32::from(GIVEN.fetch_add(1, Ordering::Relaxed))) % count;
        let port = PORTS.start + next as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port is free".to_owned())
}
