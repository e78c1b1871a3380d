//! kcat: an old librdkafka (2.0.2 in Debian 12), on purpose.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{find, run, skip};

/// kcat, pointed at a broker.
pub struct Kcat {
    program: PathBuf,
    bootstrap: String,
}

impl Kcat {
    /// kcat for `bootstrap`, or a skip in the name of `test`.
    #[must_use]
    pub fn new(test: &str, bootstrap: &str) -> Option<Kcat> {
        let Some(program) = find("kcat") else {
            skip(test, "kcat");
            return None;
        };
        Some(Kcat { program, bootstrap: bootstrap.to_owned() })
    }

    /// A kcat command with the broker given.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-b", &self.bootstrap]);
        super::at_home(&mut command);
        command
    }

    /// What it prints when it ends well.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn output(&self, arguments: &[&str]) -> String {
        run(self.command().args(arguments))
    }

    /// Produces what `input` holds.
    ///
    /// # Panics
    /// If kcat fails.
    pub fn produce(&self, arguments: &[&str], input: &[u8]) {
        let mut command = self.command();
        command.arg("-P").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        child.stdin.take().expect("it is piped").write_all(input).expect("kcat reads its input");
        let output = child.wait_with_output().expect("kcat ends");
        assert!(output.status.success(), "{command:?}: {}\n{}", output.status, super::both(&output));
    }

    /// Every record of a partition from the beginning, one a line in `format`.
    ///
    /// # Panics
    /// If kcat fails.
    #[must_use]
    pub fn consume(&self, topic: &str, partition: i32, format: &str) -> String {
        let partition = partition.to_string();
        self.output(&["-C", "-t", topic, "-p", &partition, "-o", "beginning", "-e", "-q", "-f", format])
    }
}
