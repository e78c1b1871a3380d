//! The simulated cluster at work: seeds with and without faults, and the proof that a seed is enough to play a run again.
//!
//! `BALLAST_SEEDS=5000 cargo test --profile long -p ballast-tests --test simulation` is the long run. A seed that fails prints
//! the line that plays it again; `BALLAST_STORY=1` prints all that happened in it, `BALLAST_TRACE=1` what its brokers said.

mod failover;
mod planted;

use ballast_tests::sim::disk::Mistake;
use ballast_tests::sim::run::{Outcome, Scenario, play, seeds};
use ballast_tests::sim::shape::SHAPES;
use ballast_tests::sim::table::Table;

/// A long run tells after so many seeds what it has done so far.
const TOLD_EVERY: u64 = 150;

/// Plays seeds, prints the table of docs/TESTING.md, and panics with the first lines of each seed that fails.
fn play_all(test: &str, seeds: std::ops::Range<u64>, scenario: fn(u64) -> Scenario) {
    let mut failed = Vec::new();
    let mut table = Table::default();
    for seed in seeds {
        let scenario = scenario(seed);
        let outcome = play(&scenario);
        table.add(&scenario, &outcome);
        tell_story(&outcome);
        if !outcome.violations.is_empty() {
            let classes = &scenario.plan.classes;
            println!("BALLAST_SEED={seed} cargo test -p ballast-tests --test simulation {test}    {classes:?}");
            outcome.violations.iter().for_each(|line| println!("  {line}"));
            failed.push(seed);
        }
        if table.seeds() % TOLD_EVERY == 0 {
            println!("{test}, so far\n{table}");
        }
    }
    println!("{test}\n{table}");
    assert!(failed.is_empty(), "{} seeds failed: {failed:?}", failed.len());
}

fn tell_story(outcome: &Outcome) {
    if std::env::var_os("BALLAST_STORY").is_some() {
        outcome.evidence.history.iter().for_each(|entry| println!("{} {:?}", entry.ms, entry.event));
    }
}

/// How many seeds a run plays, in halves: each is a test of its own, so that two cores have something to do.
const SEEDS: u64 = 200;

fn half(second: bool) -> std::ops::Range<u64> {
    let all = seeds(SEEDS);
    let middle = all.start + (all.end - all.start).div_ceil(2);
    if second { middle..all.end } else { all.start..middle }
}

#[test]
fn clusters_keep_every_promise() {
    play_all("clusters_keep_every_promise", half(false), Scenario::any);
}

#[test]
fn clusters_keep_every_promise_too() {
    // The first half plays a single seed.
    play_all("clusters_keep_every_promise", half(true), Scenario::any);
}

#[test]
fn one_seed_gives_one_run_and_another_seed_another() {
    let mut seen = Vec::new();
    for (seed, shape) in seeds(2).flat_map(|seed| SHAPES.map(|shape| (seed, shape))) {
        let scenario = Scenario::of(seed, shape);
        let (first, second) = (play(&scenario), play(&scenario));
        let differs = first.evidence.history.iter().zip(&second.evidence.history).find(|(one, other)| one != other);
        assert_eq!(first.fingerprint, second.fingerprint, "{shape:?} {seed} gave two runs, which part at {differs:?}");
        assert!(!seen.contains(&first.fingerprint), "{shape:?} {seed} gave the run of another seed");
        seen.push(first.fingerprint);
    }
}

/// Plays seeds of a broker that makes `mistake` until one shows it; says which.
fn first_that_finds(mistake: Mistake, most: u64) -> Option<u64> {
    (0..most).find(|seed| {
        let played = std::panic::catch_unwind(|| play(&Scenario { mistake, ..Scenario::alone(*seed) }));
        // A panic stops the simulation and shows nothing: what finds a mistake is a check.
        played.is_ok_and(|outcome| !outcome.violations.is_empty())
    })
}

#[test]
fn brokers_that_leave_syncs_out_are_found() {
    for mistake in [Mistake::NoFolderSync, Mistake::NoPartitionSync, Mistake::NoMetadataSync] {
        let seed = first_that_finds(mistake, 100);
        println!("{mistake:?} is found by seed {seed:?}");
        assert!(seed.is_some(), "{mistake:?} is not found by 100 seeds");
    }
}

/// Seeds whose faults are aimed (`Scenario::keenly`).
const KEEN_SEEDS: u64 = 12;

#[test]
fn one_broker_keeps_every_promise_under_aimed_faults() {
    let test = "one_broker_keeps_every_promise_under_aimed_faults";
    play_all(test, seeds(KEEN_SEEDS), |seed| Scenario::alone(seed).keenly());
}

#[test]
fn three_brokers_keep_every_promise_under_aimed_faults() {
    let test = "three_brokers_keep_every_promise_under_aimed_faults";
    play_all(test, seeds(KEEN_SEEDS), |seed| Scenario::of_three(seed).keenly());
}
