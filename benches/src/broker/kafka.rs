//! The peer: Apache Kafka from its published jars, one node in KRaft mode, controller and broker in one.
//!
//! The jars are those of `tests/interop/java/pom.xml`, resolved by Maven once into the build folder, where the tests keep
//! them too. Flags of the virtual machine are those of Kafka's own start script: a heap of 1 GiB, G1.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Site, build_folders, run};
use crate::{Doing as _, Failure};

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
const HEAP: &str = "1g";
const TOOL_HEAP: &str = "256m";

/// Apache Kafka's jars and the java that runs them.
#[derive(Debug, Clone)]
pub struct Kafka {
    java: PathBuf,
    jars: PathBuf,
}

impl Kafka {
    /// Kafka, if java and Maven are on the search path. `None`: the bench goes without a peer.
    ///
    /// # Errors
    /// Maven is there but cannot resolve the jars.
    pub fn find() -> Result<Option<Kafka>, Failure> {
        let (Some(java), Some(maven)) = (on_path("java"), on_path("mvn")) else { return Ok(None) };
        Ok(Some(Kafka { java, jars: resolve(&maven)? }))
    }

    /// Writes the node's properties and formats its folder.
    pub(super) fn format(&self, site: &Site) -> Result<(), Failure> {
        let properties = properties(site);
        fs::write(properties_path(site), properties).doing("cannot write the node's properties")?;
        let mut command = self.java(TOOL_HEAP);
        command.args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"]).arg(properties_path(site));
        run(&mut command)
    }

    pub(super) fn serve(&self, site: &Site) -> Command {
        let mut command = self.java(HEAP);
        command.arg("kafka.Kafka").arg(properties_path(site));
        command
    }

    fn java(&self, heap: &str) -> Command {
        let mut command = Command::new(&self.java);
        command.arg(format!("-Xms{heap}")).arg(format!("-Xmx{heap}")).args(VM_FLAGS);
        command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn").arg("-cp").arg(self.jars.join("*"));
        command
    }
}

fn properties_path(site: &Site) -> PathBuf {
    site.folder.join("server.properties")
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
        text.push_str(&format!("{key}={value}\n"));
    }
    text
}

/// Copies the jars beside the build's output, once.
fn resolve(maven: &Path) -> Result<PathBuf, Failure> {
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/java/pom.xml");
    let folder = build_folders()?.0.join("interop-java");
    let (jars, done) = (folder.join("jars"), folder.join("done"));
    fs::create_dir_all(&folder).doing(folder.display())?;
    // Whoever comes second waits, and finds them there.
    let lock = File::create(folder.join("lock")).doing(folder.display())?;
    lock.lock().doing("cannot lock the folder of the jars")?;
    let wanted = fs::read(&pom).doing(pom.display())?;
    if fs::read(&done).ok().as_ref() != Some(&wanted) {
        let mut command = Command::new(maven);
        command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
        command.arg(format!("-DoutputDirectory={}", jars.display()));
        run(&mut command)?;
        fs::write(&done, wanted).doing(done.display())?;
    }
    Ok(jars)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}
