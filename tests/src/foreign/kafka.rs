//! Apache Kafka as a broker: nodes in KRaft mode, each controller and broker in one, alone or several that form a cluster.
//!
//! [`Kafka`] gives the commands to whoever keeps the process himself (the benches). Flags of the virtual machine are those
//! of Kafka's own start script, with the heap that the caller chooses.
//!
//! Holds: internal topics have as many replicas as there are nodes, three at most, and a group does not wait for members
//! to come, as on nodes of ours.
//!
//! Read next: `peers` (running nodes, for tests that compare).

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

use super::both;
use super::jars::Jars;

/// Any id will do; a formatted folder must have one, and nodes of one cluster the same.
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
/// More replicas of an internal topic than this nobody needs.
const INTERNAL_REPLICAS_MAX: usize = 3;
/// Where a node lives.
#[derive(Debug)]
pub struct Site {
    /// Its folder; data go into `data` below it.
    pub folder: PathBuf,
    /// Where clients connect, on 127.0.0.1.
    pub port: u16,
    /// Its node id.
    pub id: u32,
    /// Node ids of the voters, this node among them, and the ports of their controllers on 127.0.0.1.
    pub quorum: Vec<(u32, u16)>,
    /// Broker settings, with Kafka's names; they win over those that every node gets.
    pub settings: Vec<(String, String)>,
}

impl Site {
    /// A place in this folder for a node that is alone, on ports of its own.
    ///
    /// # Errors
    /// No port is free.
    pub fn new(folder: &Path, settings: &[(&str, &str)]) -> Result<Site, String> {
        Ok(Site::at(folder, 1, vec![(1, free_port()?)], free_port()?, settings))
    }

    /// Places for nodes that form a cluster, one in each of these folders, with node ids from 1 on; all of them vote.
    ///
    /// # Errors
    /// No port is free.
    pub fn cluster(folders: &[&Path], settings: &[(&str, &str)]) -> Result<Vec<Site>, String> {
        let ids = 1..=folders.len() as u32;
        let quorum: Vec<(u32, u16)> = ids.map(|id| Ok((id, free_port()?))).collect::<Result<_, String>>()?;
        let place = |(folder, (id, _)): (&&Path, &(u32, u16))| {
            Ok(Site::at(folder, *id, quorum.clone(), free_port()?, settings))
        };
        folders.iter().zip(&quorum).map(place).collect()
    }

    fn at(folder: &Path, id: u32, quorum: Vec<(u32, u16)>, port: u16, settings: &[(&str, &str)]) -> Site {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Site { folder: folder.to_owned(), port, id, quorum, settings }
    }

    /// Is it one of several?
    #[must_use]
    pub fn has_peers(&self) -> bool {
        self.quorum.len() > 1
    }

    /// The port of its own controller.
    ///
    /// # Panics
    /// If it is not among the voters.
    #[must_use]
    pub fn controller_port(&self) -> u16 {
        let own = self.quorum.iter().find(|(id, _)| *id == self.id);
        own.unwrap_or_else(|| panic!("node {} is not among the voters {:?}", self.id, self.quorum)).1
    }

    /// The voters as `controller.quorum.voters` has them: `ID@HOST:PORT,…`.
    #[must_use]
    pub fn voters(&self) -> String {
        let voters: Vec<String> = self.quorum.iter().map(|(id, port)| format!("{id}@127.0.0.1:{port}")).collect();
        voters.join(",")
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

fn properties(site: &Site) -> String {
    let (id, voters, data) = (site.id, site.voters(), site.data());
    let (port, controller) = (site.port, site.controller_port());
    let replicas = site.quorum.len().min(INTERNAL_REPLICAS_MAX);
    let mut text = format!(
        "process.roles=broker,controller\n\
         node.id={id}\n\
         controller.quorum.voters={voters}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         inter.broker.listener.name=PLAINTEXT\n\
         offsets.topic.replication.factor={replicas}\n\
         transaction.state.log.replication.factor={replicas}\n\
         transaction.state.log.min.isr=1\n\
         share.coordinator.state.topic.replication.factor={replicas}\n\
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
