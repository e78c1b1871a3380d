//! The broker that the clients talk to: a `ballast serve` of their own, Apache Kafka, or one that is there.
//!
//! Holds: after a restart it answers at the address that it had.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ballast_tests::foreign::java::Java;
use ballast_tests::process::Serve;
use tempfile::TempDir;

use crate::session::last_lines;

/// What every broker here is started with: errors are asked for, and nobody waits for members that are not coming.
const SETTINGS: [&str; 2] = ["auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0"];
const START_TRIES_MAX: u32 = 600;
const TRY_PAUSE: Duration = Duration::from_millis(100);

/// Which broker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ballast,
    Kafka,
    /// `HOST:PORT`.
    Given(String),
}

impl Kind {
    pub(crate) fn from_env() -> Kind {
        std::env::var("BALLAST_TEST_BOOTSTRAP").map_or(Kind::Ballast, Kind::Given)
    }
}

/// A running broker.
pub(crate) enum Subject {
    Ballast(Serve),
    Kafka(Kafka),
    Given(String),
}

impl Subject {
    /// Starts a broker with the usual settings and these (`key=value`).
    pub(crate) fn start(kind: &Kind, settings: &[&str]) -> Result<Subject, String> {
        let settings = [&SETTINGS[..], settings].concat();
        Ok(match kind {
            Kind::Ballast => Subject::Ballast(Serve::start(&settings)),
            Kind::Kafka => Subject::Kafka(Kafka::start(&settings)?),
            Kind::Given(bootstrap) => Subject::Given(bootstrap.clone()),
        })
    }

    pub(crate) fn bootstrap(&self) -> String {
        match self {
            Subject::Ballast(serve) => serve.bootstrap.clone(),
            Subject::Kafka(kafka) => format!("127.0.0.1:{}", kafka.port),
            Subject::Given(bootstrap) => bootstrap.clone(),
        }
    }

    /// Stops it in order and starts it again.
    pub(crate) fn restart(&mut self) {
        match self {
            Subject::Ballast(serve) => {
                let status = serve.stop();
                assert!(status.success(), "the broker stopped with {status}:\n{}", serve.log());
                serve.restart();
            }
            Subject::Kafka(kafka) => kafka.restart(),
            Subject::Given(_) => {
                let command =
                    std::env::var("BALLAST_TEST_RESTART").expect("BALLAST_TEST_RESTART says how to restart it");
                let status = Command::new("sh").args(["-c", &command]).status().expect("sh runs");
                assert!(status.success(), "{command}: {status}");
            }
        }
    }

    pub(crate) fn log_tail(&self) -> String {
        match self {
            Subject::Ballast(serve) => last_lines(&serve.log()),
            Subject::Kafka(kafka) => last_lines(&kafka.log()),
            Subject::Given(_) => "kept elsewhere".to_owned(),
        }
    }
}

/// Apache Kafka, one node, controller and broker in one, from the jars that bring its tools.
pub(crate) struct Kafka {
    java: Java,
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Kafka {
    fn start(settings: &[&str]) -> Result<Kafka, String> {
        let java = Java::found().ok_or("java (17 or later) or mvn")?;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (port, controller) = (free_port(), free_port());
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             controller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\nlog.dirs={}\n{}\n",
            folder.path().join("data").display(),
            settings.join("\n"),
        );
        let path = folder.path().join("server.properties");
        fs::write(&path, properties).expect("a temporary file can be written");
        let path = path.to_str().expect("temporary paths are UTF-8");
        let mut format = java.class("kafka.tools.StorageTool", &["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", path]);
        assert!(format.stdout(Stdio::null()).status().expect("java runs").success(), "the folder was not formatted");
        let child = Kafka::spawn(&java, &folder);
        let kafka = Kafka { java, child, folder, port };
        kafka.await_port();
        Ok(kafka)
    }

    fn spawn(java: &Java, folder: &TempDir) -> Child {
        let log = File::options().append(true).create(true).open(folder.path().join("log")).expect("it can be written");
        let path = folder.path().join("server.properties");
        let mut command = java.class("kafka.Kafka", &[path.to_str().expect("temporary paths are UTF-8")]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        command.spawn().expect("java runs")
    }

    fn await_port(&self) {
        for _ in 0..START_TRIES_MAX {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(TRY_PAUSE);
        }
        panic!("Apache Kafka did not come up:\n{}", self.log());
    }

    fn restart(&mut self) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(told.success(), "Apache Kafka has ended:\n{}", self.log());
        self.child.wait().expect("a child can be awaited");
        self.child = Kafka::spawn(&self.java, &self.folder);
        self.await_port();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
