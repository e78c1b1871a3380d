//! kafka-python's command-line tools. Each step is one of them, run as users run it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ballast_tests::foreign::{both, run};

use crate::session::{Session, unique};
use crate::tools::{TRIES_MAX, TRY_PAUSE};

/// Commands of the admin tool that are run, and the two tools beside it.
pub(crate) const STEPS: &[&str] =
    &["cluster", "topics", "configs", "partitions", "produce", "consume", "groups", "delete"];

struct Tools<'a> {
    python: &'a Path,
    /// Where the brokers are, as arguments.
    nodes: Vec<&'a str>,
    /// Do they come and go?
    bounces: bool,
}

/// Runs kafka-python's tools.
pub(crate) fn run_tools(session: &mut Session<'_>, python: &Path) {
    let (topic, bootstrap, replicas) = (unique("kpa"), session.bootstrap(), session.replicas().to_string());
    let group = format!("{topic}-group");
    let nodes = bootstrap.split(',').flat_map(|node| ["-b", node]).collect();
    let tools = Tools { python, nodes, bounces: session.bounces() };
    session.version(run(Command::new(python).args(["-c", "import kafka; print(kafka.__version__)"])).trim());
    session.step("cluster", || {
        tools.admin(&["cluster", "describe"], &["cluster_id", "brokers"]);
        tools.admin(&["cluster", "describe-features"], &["metadata.version"]);
        tools.admin(&["cluster", "describe-quorum"], &["current_voters"]);
        tools.admin(&["cluster", "describe-log-dirs"], &["log_dir"])
    });
    session.step("topics", || {
        let create = ["topics", "create", "-t", &topic, "--num-partitions", "2", "--replication-factor", &replicas];
        tools.heard(&create, &[], "TopicAlreadyExists");
        tools.admin(&["topics", "list"], &[&topic]);
        tools.admin(&["topics", "describe", "-t", &topic], &[&topic, "leader_id"])
    });
    session.step("configs", || {
        tools.admin(&["configs", "alter", "-r", "topic", "-n", &topic, "-c", "retention.ms=7200000"], &[]);
        tools.admin(&["configs", "describe", "-r", "topic", "-n", &topic], &["7200000"])
    });
    session.step("partitions", || {
        tools.admin(&["partitions", "list-offsets", "-p", &format!("{topic}:0:latest")], &["offset"]);
        tools.admin(&["partitions", "list-reassignments"], &[])
    });
    session.step("produce", || tools.produce(&topic));
    session.step("consume", || tools.consume(&topic, &group));
    session.step("groups", || {
        tools.admin(&["groups", "list"], &[&group]);
        tools.admin(&["groups", "describe", "-g", &group], &["Empty"]);
        tools.admin(&["groups", "list-offsets", "-g", &group], &[&topic]);
        tools.heard(&["groups", "delete", "-g", &group], &[], "GroupIdNotFound")
    });
    session.step("delete", || tools.heard(&["topics", "delete", "-t", &topic], &[], "UnknownTopicOrPartition"));
}

impl Tools<'_> {
    fn command(&self, tool: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.python);
        command.arg("-m").arg(tool).args(&self.nodes).args(words);
        command
    }

    /// Runs the admin tool and looks for words in what it prints. While brokers come and go it is run until it ends well.
    fn admin(&self, words: &[&str], wanted: &[&str]) -> String {
        self.heard(words, wanted, "")
    }

    /// The same, where the words `heard` say on a repetition that an earlier run was heard and only its answer was lost.
    fn heard(&self, words: &[&str], wanted: &[&str], heard: &str) -> String {
        let mut tries = 1;
        loop {
            let mut command = self.command("kafka.admin", &[&["--format", "json"], words].concat());
            let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let told = both(&output);
            let missing = wanted.iter().find(|word| !told.contains(**word));
            if output.status.success() && missing.is_none() || tries > 1 && !heard.is_empty() && told.contains(heard) {
                return String::new();
            }
            let words = words.join(" ");
            assert!(self.bounces && tries < TRIES_MAX, "{words}: no {missing:?} after {tries}: {told}");
            tries += 1;
            std::thread::sleep(TRY_PAUSE);
        }
    }

    fn produce(&self, topic: &str) -> String {
        let mut produce = self.command("kafka.producer", &["-t", topic]);
        let mut child = produce.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("python runs");
        child.stdin.take().expect("it is piped").write_all(b"one\ntwo\nthree\n").expect("it reads its input");
        assert!(child.wait().expect("a child can be awaited").success(), "the producer failed");
        String::new()
    }

    fn consume(&self, topic: &str, group: &str) -> String {
        let words = ["-t", topic, "-g", group, "-C", "auto_offset_reset=earliest", "-C", "session_timeout_ms=6000"];
        let consume = self.command("kafka.consumer", &words);
        // It reads until it is told to stop.
        let mut bounded = Command::new("timeout");
        bounded.args(["-s", "INT", if self.bounces { "45" } else { "15" }]);
        bounded.arg(consume.get_program()).args(consume.get_args());
        let told = String::from_utf8_lossy(&bounded.output().expect("timeout runs").stdout).into_owned();
        assert!(["one", "two", "three"].iter().all(|value| told.contains(value)), "{told}");
        String::new()
    }
}
