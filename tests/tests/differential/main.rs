//! The same requests to Apache Kafka and to Ballast, and every field of the answers compared.
//!
//! `cases/` holds one file for each group of APIs: **the table is the test**. A case prepares a situation through the wire,
//! the same way on both brokers, sends one request in every version that both have, and lets the answers be compared
//! field by field, but for what `normal` sets aside everywhere and the case itself sets aside with a reason. What differs
//! is in `accepted` with a reason, or fails the test; an entry there that nothing meets any more fails it too.
//!
//! Apache Kafka is brought up by the test itself (Java 17 and Maven; skipped by name without them, required with
//! `BALLAST_TEST_REQUIRE_ALL=1`). `BALLAST_TEST_BOOTSTRAP=HOST:PORT` puts another fresh broker in the place of Ballast:
//! with a second Apache Kafka there, nothing may differ at all. `BALLAST_TEST_CASES=fetch` runs those cases alone whose
//! API or name holds the word.
//!
//! Read next: `case`, any file of `cases`, then `side` (what a case can do).

mod accepted;
mod case;
mod cases;
mod nodes;
mod normal;
mod page;
mod run;
mod side;
mod tree;

use std::collections::BTreeSet;

use ballast_tests::foreign::peers::Peers;
use ballast_tests::process::Serve;
use ballast_tests::raw::now_ms;
use ballast_wire::frame::ApiKey;

use self::accepted::ACCEPTED;
use self::run::{Outcome, advertised, ranges, readable, versions};
use self::side::Side;

/// Settings that both get: what a node of Kafka must be told, and what makes the run short.
const SETTINGS: [(&str, &str); 7] = [
    ("group.initial.rebalance.delay.ms", "0"),
    ("offsets.topic.num.partitions", "3"),
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
];

fn ballast() -> Serve {
    let settings: Vec<String> = SETTINGS.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Serve::start(&settings.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn apache_kafka_and_ballast_give_the_same_answers() {
    let Some(kafka) = Peers::start("differential", 1, &SETTINGS) else { return };
    let other = std::env::var("BALLAST_TEST_BOOTSTRAP").ok();
    let own = other.is_none().then(ballast);
    let bootstrap = other.clone().unwrap_or_else(|| own.as_ref().expect("one of the two").bootstrap.clone());
    let only = std::env::var("BALLAST_TEST_CASES").unwrap_or_default().to_lowercase();

    let (theirs, ours) = (advertised(&kafka.node(1)), advertised(&bootstrap));
    let start = now_ms() - 60_000;
    let (mut kafka, mut ballast) = (Side::new(&kafka.node(1), start), Side::new(&bootstrap, start));
    let mut outcome = Outcome::default();
    let groups = ours.contains_key(&ApiKey::FIND_COORDINATOR);
    cases::settle(&mut kafka, groups);
    cases::settle(&mut ballast, groups);
    for case in cases::all() {
        if !format!("{} {}", case.key, case.name).to_lowercase().contains(&only) {
            continue;
        }
        for version in versions(case, &theirs, &ours) {
            outcome.run(case, version, (&mut kafka, &mut ballast), |_| ());
        }
    }

    let unaccepted = outcome.unaccepted(&[ACCEPTED]);
    println!("{} answers compared, {} lines differ", outcome.compared, unaccepted.len());
    let untrue = outcome.untrue.iter().map(|(claim, versions)| format!("{} {claim}", ranges(versions)));
    let mut failures: Vec<String> = untrue.collect();
    failures.extend(unaccepted);
    if other.is_none() && only.is_empty() {
        failures
            .extend(outcome.stale(ACCEPTED).into_iter().map(|entry| format!("nothing differs so any more: {entry}")));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_advertised_api_has_an_accepted_case_in_every_version() {
    let ballast = ballast();
    let ours = advertised(&ballast.bootstrap);
    for (key, (min, max)) in &ours {
        // Produce 0 to 2 are advertised for librdkafka's sake alone (KAFKA-18659).
        let min = if *key == ApiKey::PRODUCE { 3 } else { *min };
        let readable = readable(*key);
        let covered: BTreeSet<i16> = cases::all()
            .filter(|case| case.key == *key && case.is_sound)
            .flat_map(|case| case.versions.0.max(readable.0)..=case.versions.1.min(readable.1))
            .collect();
        let missing: Vec<i16> = (min..=*max).filter(|version| !covered.contains(version)).collect();
        assert!(missing.is_empty(), "{key} has no case in versions {missing:?}");
    }
}

#[test]
fn names_tell_the_cases_of_an_api_apart() {
    let mut seen = BTreeSet::new();
    for case in cases::all() {
        assert!(seen.insert((case.key, case.name)), "{} has two cases {:?}", case.key, case.name);
    }
}
