//! Kafka Connect, one standalone worker: a file goes into a topic, the topic goes into another file, across a restart of the
//! broker and of the worker.
//!
//! Holds: the sink's offsets are a consumer group's, so a worker that comes back writes nothing twice.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use ballast_tests::foreign::java::Java;
use tempfile::TempDir;

use crate::session::{Session, last_lines, unique};

/// What the worker does.
pub(crate) const STEPS: &[&str] = &["copy", "restart", "resume"];

const TRIES_MAX: u32 = 600;
const TRY_PAUSE: Duration = Duration::from_millis(200);

struct Worker<'a> {
    java: &'a Java,
    folder: TempDir,
    /// More than one also says that nodes come and go.
    replicas: u8,
    child: Option<Child>,
}

/// Runs the worker.
pub(crate) fn standalone(session: &mut Session<'_>, java: &Java) {
    let topic = unique("connect");
    let mut worker = Worker::prepare(java, &session.bootstrap(), &topic, session.replicas());
    session.version("4.3.1");
    session.step("copy", || {
        worker.start();
        worker.write("one\ntwo\nthree\n");
        worker.await_output("one\ntwo\nthree\n")
    });
    session.restart();
    session.step("restart", || {
        worker.write("four\nfive\n");
        worker.await_output("one\ntwo\nthree\nfour\nfive\n")
    });
    session.step("resume", || {
        worker.stop();
        worker.start();
        worker.write("six\n");
        worker.await_output("one\ntwo\nthree\nfour\nfive\nsix\n")
    });
}

impl Worker<'_> {
    fn prepare<'a>(java: &'a Java, bootstrap: &str, topic: &str, replicas: u8) -> Worker<'a> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let session_ms = if replicas > 1 { 6_000 } else { 10_000 };
        let at = |name: &str| folder.path().join(name).display().to_string();
        let converters = "converter=org.apache.kafka.connect.storage.StringConverter";
        let worker = format!(
            "bootstrap.servers={bootstrap}\nkey.{converters}\nvalue.{converters}\noffset.storage.file.filename={}\n\
             offset.flush.interval.ms=200\nlisteners=http://127.0.0.1:0\nplugin.discovery=only_scan\n\
             topic.creation.enable=true\nconsumer.auto.offset.reset=earliest\nconsumer.session.timeout.ms={session_ms}\n",
            at("offsets")
        );
        let source = format!(
            "name={topic}-source\nconnector.class=org.apache.kafka.connect.file.FileStreamSourceConnector\ntasks.max=1\n\
             file={}\ntopic={topic}\ntopic.creation.default.partitions=1\ntopic.creation.default.replication.factor={replicas}\n",
            at("input")
        );
        let sink = format!(
            "name={topic}-sink\nconnector.class=org.apache.kafka.connect.file.FileStreamSinkConnector\ntasks.max=1\n\
             file={}\ntopics={topic}\n",
            at("output")
        );
        for (name, text) in [
            ("worker.properties", worker),
            ("source.properties", source),
            ("sink.properties", sink),
            ("input", String::new()),
        ] {
            fs::write(at(name), text).expect("a temporary file can be written");
        }
        Worker { java, folder, replicas, child: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self) {
        let paths = ["worker.properties", "source.properties", "sink.properties"].map(|name| self.path(name));
        let arguments: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        let mut command = self.java.class("org.apache.kafka.connect.cli.ConnectStandalone", &arguments);
        let log = File::create(self.path("log")).expect("the log can be written");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        self.child = Some(command.spawn().expect("java runs"));
    }

    /// SIGTERM: offsets are committed on the way out.
    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = std::process::Command::new("kill").arg(child.id().to_string()).status();
            child.wait().expect("a child can be awaited");
        }
    }

    fn write(&self, lines: &str) {
        let mut input = File::options().append(true).open(self.path("input")).expect("the input is there");
        input.write_all(lines.as_bytes()).expect("it can be written");
    }

    /// What came, each line once if nodes come and go: the source has no idempotent producer, and the sink reads again what
    /// it had not committed when its coordinator was lost.
    fn once(&self, output: &str) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for line in output.split_inclusive('\n') {
            if self.replicas == 1 || !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.concat()
    }

    fn await_output(&self, wanted: &str) -> String {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        for _ in 0..TRIES_MAX {
            if self.once(&read(&self.path("output"))) == wanted {
                return format!("{} lines", wanted.lines().count());
            }
            std::thread::sleep(TRY_PAUSE);
        }
        panic!("{:?} instead of {wanted:?}\n{}", read(&self.path("output")), last_lines(&read(&self.path("log"))));
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
