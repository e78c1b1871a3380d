//! A broker as a process of its own: ours or Apache Kafka, on one fresh folder, started and stopped as often as wanted.
//!
//! Holds: a node keeps its folder and its address over restarts, and its process never outlives it.
//!
//! Read next: `ballast` (how ours is started), `cluster` (several of them), `ballast_tests::foreign::kafka` (how the
//! peer is, here and in the tests).

mod ballast;
mod cluster;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ballast_tests::foreign::kafka::Site;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use ballast::Ballast;
pub use ballast_tests::foreign::kafka::Kafka;
pub use cluster::Cluster;

use crate::client::Client;
use crate::clock::{SECOND_NS, now_ns, rest, seconds_between};
use crate::load::{Cpu, Target};
use crate::process::cpu_seconds;
use crate::{Doing as _, Failure};

/// How long a broker may take to accept connections, in seconds.
const START_SECONDS_MAX: u64 = 180;
/// How long it may take to stop, in seconds.
const STOP_SECONDS_MAX: u64 = 180;

/// Lines of a log that say why a broker did not come up.
const LOG_LINES_SHOWN: usize = 5;
/// As Kafka's own start script gives it.
const KAFKA_HEAP: [&str; 2] = ["-Xms1g", "-Xmx1g"];
/// For each of several nodes on one machine.
const KAFKA_PEER_HEAP: [&str; 2] = ["-Xms512m", "-Xmx512m"];

/// What a node runs.
#[derive(Debug, Clone)]
pub enum Software {
    /// Ours.
    Ballast(Ballast),
    /// The peer.
    Kafka(Kafka),
}

impl Software {
    /// Its name in a table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Software::Ballast(_) => "Ballast",
            Software::Kafka(_) => "Kafka",
        }
    }
}

/// A broker: its folder, and its process while it runs.
#[derive(Debug)]
pub struct Node {
    software: Software,
    site: Site,
    child: Option<Child>,
    // Removed with the node, after its process has gone.
    _folder: TempDir,
}

impl Node {
    /// A node in a new folder below `root`, not yet started. Kafka's folder is formatted.
    ///
    /// # Errors
    /// The folder cannot be made or formatted.
    pub fn new(software: &Software, root: &Path, settings: &[(&str, &str)]) -> Result<Node, Failure> {
        fs::create_dir_all(root).doing(root.display())?;
        let folder = tempfile::tempdir_in(root).doing(root.display())?;
        let site = Site::new(folder.path(), settings).map_err(Failure::new)?;
        Node::at(software, site, folder)
    }

    fn at(software: &Software, site: Site, folder: TempDir) -> Result<Node, Failure> {
        if let Software::Kafka(kafka) = software {
            kafka.format(&site).map_err(Failure::new)?;
        }
        Ok(Node { software: software.clone(), site, child: None, _folder: folder })
    }

    /// A node that runs and answers.
    ///
    /// # Errors
    /// It does not come up.
    pub fn started(software: &Software, root: &Path, settings: &[(&str, &str)]) -> Result<Node, Failure> {
        let mut node = Node::new(software, root, settings)?;
        node.start()?;
        Ok(node)
    }

    /// What it runs.
    #[must_use]
    pub fn software(&self) -> &Software {
        &self.software
    }

    /// `HOST:PORT` for clients.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.site.port)
    }

    /// Its process id.
    ///
    /// # Errors
    /// It does not run.
    pub fn pid(&self) -> Result<u32, Failure> {
        self.child.as_ref().map(Child::id).ok_or_else(|| Failure::new(format!("{} does not run", self.software.name())))
    }

    /// CPU time that its process has used, in seconds.
    ///
    /// # Errors
    /// It does not run.
    pub fn cpu_seconds(&self) -> Result<f64, Failure> {
        cpu_seconds(self.pid()?)
    }

    /// For the load generator.
    ///
    /// # Errors
    /// It does not run.
    pub fn target(&self) -> Result<Target, Failure> {
        Ok(Target::one(self.bootstrap(), Some(Cpu::Process(self.pid()?))))
    }

    /// Starts the process and returns at once.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn spawn(&mut self) -> Result<(), Failure> {
        let mut command = match &self.software {
            Software::Ballast(ballast) => ballast.serve(&self.site),
            Software::Kafka(kafka) => {
                let heap = if self.site.has_peers() { &KAFKA_PEER_HEAP } else { &KAFKA_HEAP };
                kafka.serve(&self.site, heap)
            }
        };
        let log = File::create(self.log_path()).doing("cannot write the broker's log")?;
        let errors = log.try_clone().doing("cannot write the broker's log")?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        self.child = Some(command.spawn().doing(format_args!("cannot run {command:?}"))?);
        Ok(())
    }

    /// Starts the process and waits until it accepts a connection.
    ///
    /// # Errors
    /// It does not come up; the end of its log is in the message.
    pub fn start(&mut self) -> Result<Client, Failure> {
        self.spawn()?;
        self.await_connection()
    }

    /// Waits until it accepts a connection.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn await_connection(&self) -> Result<Client, Failure> {
        Client::connect_when_ready(&self.bootstrap(), START_SECONDS_MAX).map_err(|failure| {
            Failure::new(format!("{} did not come up: {failure}\n{}", self.software.name(), self.log_end()))
        })
    }

    /// The last lines of its log, for a person.
    #[must_use]
    pub fn log_end(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let mut lines: Vec<&str> = log.lines().rev().take(LOG_LINES_SHOWN).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Does its process run?
    #[must_use]
    pub fn runs(&self) -> bool {
        self.child.is_some()
    }

    /// SIGTERM, and waits for the end. Gives the seconds that it took.
    ///
    /// # Errors
    /// It does not stop in time.
    pub fn stop(&mut self) -> Result<f64, Failure> {
        let Some(child) = &mut self.child else { return Ok(0.0) };
        let since = now_ns();
        kill_process(pid_of(child), Signal::TERM).doing("cannot stop the broker")?;
        loop {
            if child.try_wait().doing("cannot wait for the broker")?.is_some() {
                self.child = None;
                return Ok(seconds_between(since, now_ns()));
            }
            if now_ns() > since + STOP_SECONDS_MAX * SECOND_NS {
                return Err(Failure::new(format!("{} does not stop", self.software.name())));
            }
            rest(0.002);
        }
    }

    /// kill -9.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn kill(&mut self) -> Result<(), Failure> {
        if let Some(mut child) = self.child.take() {
            child.kill().doing("cannot kill the broker")?;
            child.wait().doing("cannot wait for the broker")?;
        }
        Ok(())
    }

    fn log_path(&self) -> PathBuf {
        self.site.folder.join("log")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The folder goes too: nothing is lost by haste.
        let _ = self.kill();
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.output().doing(format_args!("cannot run {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(Failure::new(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&text))))
}
