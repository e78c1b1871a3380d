//! A broker of the built program, and commands that are run against it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::mask::mask;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ballast");
/// Looks at whether the broker is ready; a busy machine takes its time.
const LOOKS: u32 = 6_000;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// A broker that lives as long as its test, and what has been said to it.
pub(crate) struct Session {
    child: Option<Child>,
    folder: TempDir,
    pub(crate) bootstrap: String,
    transcript: String,
}

impl Session {
    /// A fresh broker.
    pub(crate) fn new() -> Session {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let ready = folder.path().join("ready");
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--http", "off"]);
        command.args(["--set", "group.initial.rebalance.delay.ms=0", "--set", "auto.create.topics.enable=false"]);
        command.arg("--ready-file").arg(&ready).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it runs");
        let bootstrap = (0..LOOKS).find_map(|_| {
            let text = fs::read_to_string(&ready).ok();
            if text.is_none() {
                std::thread::sleep(LOOK_PAUSE);
            }
            text?.lines().next().map(str::to_owned)
        });
        let bootstrap = bootstrap.expect("the broker is ready in time");
        Session { child: Some(child), folder, bootstrap, transcript: String::new() }
    }

    /// A session with nobody: for commands that fail before they ask.
    pub(crate) fn without_broker() -> Session {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        // Port 1 is nobody's.
        Session { child: None, folder, bootstrap: "127.0.0.1:1".to_owned(), transcript: String::new() }
    }

    /// A file for a command to read.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// Runs a command (words separated by blanks) and writes down what it said.
    pub(crate) fn run(&mut self, line: &str) -> &mut Session {
        self.run_with(line, "")
    }

    /// The same with something on its standard input.
    pub(crate) fn run_with(&mut self, line: &str, input: &str) -> &mut Session {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = self.output(&words, input);
        let folder = self.folder.path().display().to_string();
        let mut said = format!("$ ballast {line}\n");
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            said.push_str(&format!("stderr: {line}\n"));
        }
        if output.status.code() != Some(0) {
            said.push_str(&format!("status: {:?}\n", output.status.code().expect("it was not killed")));
        }
        self.transcript.push_str(&mask(&said, &self.bootstrap, &folder));
        self
    }

    /// Runs a command that is not written down.
    pub(crate) fn output(&self, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--bootstrap-server", &self.bootstrap]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        // A command that does not read its input may be gone by now.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    }

    /// Starts a command and lets it run.
    pub(crate) fn start(&self, line: &str) -> Child {
        let mut command = Command::new(PROGRAM);
        command.args(line.split_whitespace()).args(["--bootstrap-server", &self.bootstrap]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    }

    /// All that was said.
    pub(crate) fn transcript(&self) -> &str {
        &self.transcript
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
