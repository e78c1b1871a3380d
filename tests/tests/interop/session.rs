//! One client's run: a program that tells its steps, or steps that are written here, and the broker that they talk to.
//!
//! The lines of a program (tests/interop/README.md): `version TEXT`, `step NAME ok|none|fail DETAIL`, `restart please`.
//! Anything else is its own business. A program that says nothing more for long is ended by `timeout`, with all its
//! children, so that reading its output always comes to an end.

use std::any::Any;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::clients::Client;
use crate::install::Cache;
use crate::subject::Subject;

/// The longest that a whole scenario may take, in seconds.
const SCENARIO_S_MAX: &str = "420";
const DETAIL_CHARS_MAX: usize = 160;

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    /// The client has no such thing.
    None,
    Fail,
}

/// A step as it was told.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
}

impl Step {
    pub(crate) fn is_bad(&self) -> bool {
        self.outcome == Outcome::Fail
    }
}

/// What a client runs.
pub(crate) enum Scenario {
    /// A program; its last arguments are `HOST:PORT` (or several with commas between), a name that belongs to this run, and
    /// how many replicas topics shall have.
    Program(Command),
    /// Steps that are written in this test.
    Steps(Box<dyn Fn(&mut Session<'_>)>),
}

/// A client's run.
pub(crate) struct Session<'a> {
    client: &'a Client,
    subject: &'a mut Subject,
    version: String,
    steps: Vec<Step>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(client: &'a Client, subject: &'a mut Subject) -> Session<'a> {
        Session { client, subject, version: String::new(), steps: Vec::new() }
    }

    /// `HOST:PORT` of the broker.
    pub(crate) fn bootstrap(&self) -> String {
        self.subject.bootstrap()
    }

    /// How many replicas a topic shall have: one, or as many as there are nodes that come and go.
    pub(crate) fn replicas(&self) -> u8 {
        self.subject.replicas()
    }

    /// Do nodes come and go meanwhile?
    pub(crate) fn bounces(&self) -> bool {
        self.replicas() > 1
    }

    /// Restarts the broker; it comes back at the same address.
    pub(crate) fn restart(&mut self) {
        self.subject.restart();
    }

    /// Says which version of the client runs.
    pub(crate) fn version(&mut self, version: &str) {
        version.clone_into(&mut self.version);
    }

    /// Runs a step: what it returns is the detail, a panic is its failure.
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce() -> String) {
        let (outcome, detail) = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(detail) => (Outcome::Ok, detail),
            Err(panic) => (Outcome::Fail, panic_text(&*panic)),
        };
        self.told(name, outcome, &detail);
    }

    pub(crate) fn run(&mut self, scenario: Scenario) {
        match scenario {
            Scenario::Program(command) => self.converse(&command),
            Scenario::Steps(steps) => steps(self),
        }
    }

    /// The version, and every step of the client's row: what was not told has failed, and so has a cluster that did not
    /// become whole again.
    pub(crate) fn finish(mut self) -> (String, Vec<Step>) {
        match self.subject.settle() {
            Ok(None) => {}
            Ok(Some(told)) => self.say(&told),
            Err(why) => self.told("nodes", Outcome::Fail, &why),
        }
        for name in self.client.steps {
            if !self.steps.iter().any(|step| step.name == *name) {
                self.told(name, Outcome::Fail, "not reached");
            }
        }
        (self.version, self.steps)
    }

    fn told(&mut self, name: &str, outcome: Outcome, detail: &str) {
        let known = self.client.steps.contains(&name);
        let outcome = if known { outcome } else { Outcome::Fail };
        if let (true, Outcome::Fail, Some((steps, why))) = (self.bounces(), outcome, self.client.shaky)
            && steps.contains(&name)
        {
            self.say(&format!("none  {name:<22}  {why}: {detail}"));
            self.steps.push(Step { name: name.to_owned(), outcome: Outcome::None });
            return;
        }
        let word = match outcome {
            Outcome::Ok => "ok",
            Outcome::None => "none",
            Outcome::Fail => "FAIL",
        };
        let detail = if known { detail.to_owned() } else { format!("not a step of {}: {detail}", self.client.name) };
        let shown = if outcome == Outcome::Fail { detail.clone() } else { shorten(&detail) };
        self.say(&format!("{word:4}  {name:<22}  {shown}"));
        self.steps.push(Step { name: name.to_owned(), outcome });
    }

    /// A line of this client's: others may be at work at the same time.
    fn say(&self, line: &str) {
        println!("    {:<30}  {line}", self.client.name);
    }

    fn converse(&mut self, command: &Command) {
        let mut child = bounded(command)
            .args([self.bootstrap(), unique(self.client.name), self.replicas().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log_path(self.client.name)).expect("the cache can be written"))
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut input = child.stdin.take().expect("it is piped");
        for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
            let Ok(line) = line else { continue };
            let mut words = line.trim_end().splitn(4, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("version"), ..) => self.version(line["version".len()..].trim()),
                (Some("step"), Some(name), Some(word)) => {
                    self.told(name, outcome(word), words.next().unwrap_or_default());
                }
                (Some("restart"), Some("please"), None) => {
                    self.restart();
                    // If it has ended meanwhile, its missing steps say so.
                    let _ = input.write_all(b"restarted\n");
                }
                _ => {}
            }
        }
        let status = child.wait().expect("a child can be awaited");
        if !status.success() {
            self.told("ends", Outcome::Fail, &format!("the program ended with {status}"));
        }
    }
}

fn outcome(word: &str) -> Outcome {
    match word {
        "ok" => Outcome::Ok,
        "none" => Outcome::None,
        _ => Outcome::Fail,
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("a panic").to_owned()
}

/// The same command, under a limit of time.
fn bounded(command: &Command) -> Command {
    let mut bounded = Command::new("timeout");
    bounded.args(["-k", "5", SCENARIO_S_MAX]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            bounded.env(key, value);
        }
    }
    ballast_tests::foreign::at_home(&mut bounded);
    if let Some(folder) = command.get_current_dir() {
        bounded.current_dir(folder);
    }
    bounded
}

/// A name for topics and groups that no other run has used.
pub(crate) fn unique(stem: &str) -> String {
    ballast_tests::target::unique(&stem.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

fn shorten(text: &str) -> String {
    text.chars().take(DETAIL_CHARS_MAX).collect()
}

fn log_path(client: &str) -> PathBuf {
    Cache::new().folder("logs").join(format!("{}.log", client.replace(['/', '@'], "-")))
}

/// The last lines that a client wrote to its standard error.
pub(crate) fn log_tail(client: &str) -> String {
    let path = log_path(client);
    let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    format!("{}\n{}", path.display(), last_lines(&text))
}

/// The last lines of a text, indented.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].iter().map(|line| format!("        {}\n", shorten(line))).collect()
}

/// A failed step is told by its line: the place in this test says nothing more.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| ()));
}
