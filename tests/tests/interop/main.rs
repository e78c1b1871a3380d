//! Clients of others against a running broker: one command, one table.
//!
//! ```text
//! cargo test -p ballast-tests --test interop                        the clients that install in seconds
//! cargo test -p ballast-tests --test interop -- --long              those that compile for minutes too
//! cargo test -p ballast-tests --test interop -- franz-go kcat       these alone
//! cargo test -p ballast-tests --test interop -- --kafka franz-go    the scenarios themselves, against Apache Kafka
//! cargo test -p ballast-tests --test interop -- --bounce            against three nodes that come and go (with --kafka too)
//! cargo test -p ballast-tests --test interop -- --list              what there is
//! ```
//!
//! Each client is a small program in its own language (tests/interop/README.md has the scenario and how it tells its steps).
//! It gets a broker of its own, or three, and several clients are at work at a time. What is not installed goes into
//! `<target>/interop`; what cannot be had is skipped by name, and with `BALLAST_TEST_REQUIRE_ALL` set that is a
//! failure. `BALLAST_TEST_BOOTSTRAP=HOST:PORT` takes a broker that is there, `BALLAST_TEST_RESTART=COMMAND` says how to
//! restart it. `BALLAST_UPDATE_DOCS=1` writes what was found into docs/COMPATIBILITY.md.
//!
//! Holds: every step that a client's row in `clients` names is told by its program, as done, failed or not in the client;
//! one that is not told has failed.
//!
//! Read next: `clients` (the table), `session` (a program and its broker), `install`, `report`.

mod bounce;
mod clients;
mod connect;
mod console;
mod install;
mod kafka_python;
mod native;
mod report;
mod session;
mod subject;
mod tools;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clients::{CLIENTS, Client, Set};
use install::Cache;
use report::{Report, Verdict};
use session::{Session, quiet_panics};
use subject::{Kind, Subject};

/// What was asked for on the command line.
struct Wishes {
    names: Vec<String>,
    long: bool,
    bounces: bool,
    kind: Kind,
}

/// Clients that are at work at a time. Most of what they do is waiting.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    // Test runners ask what there is, and pass flags that mean something to the usual harness alone.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--list") {
        for client in CLIENTS {
            println!("{}: test", client.name);
        }
        return ExitCode::SUCCESS;
    }
    let wishes = Wishes {
        names: arguments.iter().filter(|argument| !argument.starts_with('-')).cloned().collect(),
        long: has("--long"),
        bounces: has("--bounce"),
        kind: if has("--kafka") { Kind::Kafka } else { Kind::from_env() },
    };
    quiet_panics();
    let reports = wishes.run_all();
    report::print(&reports);
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() && wishes.kind == Kind::Ballast {
        report::update_docs(&reports, wishes.bounces);
    }
    if reports.iter().all(Report::is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Wishes {
    fn want(&self, client: &Client) -> bool {
        if self.names.is_empty() {
            self.long || client.set == Set::Quick
        } else {
            self.names.iter().any(|name| client.name.contains(name.as_str()))
        }
    }

    /// Runs the wanted clients, several at a time, and reports in the order of the table.
    fn run_all(&self) -> Vec<Report> {
        let wanted: Vec<&Client> = CLIENTS.iter().filter(|client| self.want(client)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(client) = wanted.get(at) else { return done };
                done.push((at, self.run(client)));
            }
        };
        let mut reports: Vec<(usize, Report)> = thread::scope(|scope| {
            // A broker that all share is restarted for one client at a time.
            let at_once = if matches!(self.kind, Kind::Given(_)) { 1 } else { AT_ONCE };
            let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("what a client does wrong is told")).collect()
        });
        reports.sort_by_key(|(at, _)| *at);
        reports.into_iter().map(|(_, report)| report).collect()
    }

    fn run(&self, client: &Client) -> Report {
        if let (true, Some(why)) = (self.bounces, client.steady) {
            return Report::new(client, String::new(), vec![], Verdict::Steady(why));
        }
        let scenario = match (client.prepare)(&Cache::new()) {
            Ok(scenario) => scenario,
            Err(missing) => return Report::new(client, String::new(), vec![], Verdict::Skipped(missing)),
        };
        let mut subject = match Subject::start(&self.kind, self.bounces, client.settings) {
            Ok(subject) => subject,
            Err(why) => return Report::new(client, String::new(), vec![], Verdict::Skipped(why)),
        };
        let mut session = Session::new(client, &mut subject);
        session.run(scenario);
        let (version, steps) = session.finish();
        if steps.iter().any(session::Step::is_bad) {
            let (client, tail) = (client.name, session::log_tail(client.name));
            println!("    the end of the log of {client}: {tail}");
            println!("    the end of the log of its broker: {}", subject.log_tail());
        }
        Report::new(client, version, steps, Verdict::Ran)
    }
}
