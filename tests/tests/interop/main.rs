//! Clients of others against a running broker: one command, one table.
//!
//! ```text
//! cargo test -p ballast-tests --test interop                        the clients that install in seconds
//! cargo test -p ballast-tests --test interop -- --long              those that compile for minutes too
//! cargo test -p ballast-tests --test interop -- franz-go kcat       these alone
//! cargo test -p ballast-tests --test interop -- --kafka franz-go    the scenarios themselves, against Apache Kafka
//! cargo test -p ballast-tests --test interop -- --list              what there is
//! ```
//!
//! Each client is a small program in its own language (tests/interop/README.md has the scenario and how it tells its steps).
//! It gets a broker of its own. What is not installed goes into `<target>/interop`; what cannot be had is skipped by name,
//! and with `BALLAST_TEST_REQUIRE_ALL` set that is a failure. `BALLAST_TEST_BOOTSTRAP=HOST:PORT` takes a broker that is
//! there, `BALLAST_TEST_RESTART=COMMAND` says how to restart it. `BALLAST_UPDATE_DOCS=1` writes what was found into
//! docs/COMPATIBILITY.md.
//!
//! Holds: every step that a client's row in `clients` names is told by its program, as done, failed or not in the client;
//! one that is not told has failed.
//!
//! Read next: `clients` (the table), `session` (a program and its broker), `install`, `report`.

mod clients;
mod connect;
mod console;
mod install;
mod native;
mod report;
mod session;
mod subject;
mod tools;

use std::process::ExitCode;

use clients::{CLIENTS, Client, Set};
use install::Cache;
use report::{Report, Verdict};
use session::{Session, quiet_panics};
use subject::{Kind, Subject};

/// What was asked for on the command line.
struct Wishes {
    names: Vec<String>,
    long: bool,
    kind: Kind,
}

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
        kind: if has("--kafka") { Kind::Kafka } else { Kind::from_env() },
    };
    quiet_panics();
    let reports: Vec<Report> = CLIENTS.iter().filter(|client| wishes.want(client)).map(|c| wishes.run(c)).collect();
    report::print(&reports);
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() && wishes.kind == Kind::Ballast {
        report::update_docs(&reports);
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

    fn run(&self, client: &Client) -> Report {
        println!("{}", client.name);
        let scenario = match (client.prepare)(&Cache::new()) {
            Ok(scenario) => scenario,
            Err(missing) => {
                println!("    SKIPPED: {missing}");
                return Report::new(client, String::new(), vec![], Verdict::Skipped(missing));
            }
        };
        let mut subject = match Subject::start(&self.kind, client.settings) {
            Ok(subject) => subject,
            Err(why) => return Report::new(client, String::new(), vec![], Verdict::Skipped(why)),
        };
        let mut session = Session::new(client, &mut subject);
        session.run(scenario);
        let (version, steps) = session.finish();
        if steps.iter().any(session::Step::is_bad) {
            println!("    the end of its log: {}", session::log_tail(client.name));
            println!("    the end of the broker's log: {}", subject.log_tail());
        }
        Report::new(client, version, steps, Verdict::Ran)
    }
}
