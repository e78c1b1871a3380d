//! The broker under test: our own, or any other.
//!
//! A test says which settings its broker must have and gets a running one. By default that is a `ballast serve` of its
//! own, except that tests without wishes share one. With `BALLAST_TEST_BOOTSTRAP=HOST:PORT` every test goes to the broker
//! that listens there: run against Apache Kafka, the tests themselves are put to the test. `BALLAST_TEST_SETTINGS` then
//! lists what that broker was started with (`key=value`, separated by blanks); a test that wishes for something else is
//! skipped, and so is what only Ballast promises ([`Broker::is_ballast`]):
//!
//! ```text
//! kafka node /tmp/peer 29092 log.retention.check.interval.ms=200 max.incremental.fetch.session.cache.slots=8 &
//! BALLAST_TEST_BOOTSTRAP=127.0.0.1:29092 \
//! BALLAST_TEST_SETTINGS="log.retention.check.interval.ms=200 max.incremental.fetch.session.cache.slots=8" \
//!     cargo test -p ballast-tests --test traps --test field_reports
//! ```
//!
//! Holds: topics have names of their own, so that tests may run side by side and again on the same broker.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::process::Serve;
use crate::raw::{Connection, now_ms};

/// A broker to talk to.
pub struct Broker {
    /// `HOST:PORT`.
    pub bootstrap: String,
    /// The process, when it is ours.
    pub serve: Option<Serve>,
}

/// A topic of a test.
#[derive(Debug, Clone)]
pub struct Topic {
    /// Unlike that of any other test.
    pub name: String,
    /// As the broker gave it.
    pub id: Uuid,
}

/// Settings of the broker that tests share: retention acts within their patience.
const SHARED: [&str; 1] = ["log.retention.check.interval.ms=200"];

/// Lives as long as one test uses it: a process in a static would outlive the tests.
static RUNNING: Mutex<Weak<Broker>> = Mutex::new(Weak::new());

/// The broker of tests without wishes.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn shared() -> Arc<Broker> {
    let mut running = RUNNING.lock();
    if let Some(broker) = running.upgrade() {
        return broker;
    }
    let broker = Arc::new(match std::env::var("BALLAST_TEST_BOOTSTRAP") {
        Ok(bootstrap) => Broker { bootstrap, serve: None },
        Err(_) => Broker::own(&SHARED),
    });
    *running = Arc::downgrade(&broker);
    broker
}

/// A broker with these settings (`key=value`). `None`: the broker that the tests were sent to has others.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn with(settings: &[&str]) -> Option<Broker> {
    let Ok(bootstrap) = std::env::var("BALLAST_TEST_BOOTSTRAP") else {
        return Some(Broker::own(settings));
    };
    let given = std::env::var("BALLAST_TEST_SETTINGS").unwrap_or_default();
    let missing: Vec<_> =
        settings.iter().filter(|wish| !given.split_whitespace().any(|setting| setting == **wish)).collect();
    if missing.is_empty() {
        return Some(Broker { bootstrap, serve: None });
    }
    eprintln!("SKIPPED: the broker at {bootstrap} was started without {missing:?}");
    None
}

impl Broker {
    fn own(settings: &[&str]) -> Broker {
        let serve = Serve::start(settings);
        Broker { bootstrap: serve.bootstrap.clone(), serve: Some(serve) }
    }

    /// Is it ours? If not, what only Ballast promises is not asked of it.
    #[must_use]
    pub fn is_ballast(&self) -> bool {
        self.serve.is_some()
    }

    /// A new connection.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(&self.bootstrap)
    }

    /// A new topic, ready for use.
    #[must_use]
    pub fn topic(&self, stem: &str, partitions: i32, configs: &[(&str, &str)]) -> Topic {
        let name = unique(stem);
        let id = self.connect().create_topic(&name, partitions, configs);
        Topic { name, id }
    }

    /// Memory of the process that is resident, in KiB. `None` for a broker that is not ours.
    ///
    /// # Panics
    /// If it has ended.
    #[must_use]
    pub fn resident_kib(&self) -> Option<u64> {
        let pid = self.serve.as_ref()?.pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
            .unwrap_or_else(|error| panic!("the broker (process {pid}) has ended: {error}"));
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
        Some(line.trim().trim_end_matches(" kB").trim().parse().expect("memory is a number of kB"))
    }
}

/// A name that no other test and no earlier run has used.
#[must_use]
pub fn unique(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{stem}-{}-{}-{number}", process::id(), now_ms() % 100_000)
}
