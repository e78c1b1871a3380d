//! The simulated cluster at work: seeds with and without faults, and the proof that a seed is enough to play a run again.
//!
//! `BALLAST_SEEDS=5000 cargo test --release -p ballast-tests --test simulation` is the long run. A seed that fails prints the
//! line that plays it again; `BALLAST_STORY=1` prints all that happened in it, `BALLAST_TRACE=1` what its brokers said.

mod failover;
mod planted;

use ballast_tests::sim::disk::Mistake;
use ballast_tests::sim::run::{Outcome, Scenario, play, seeds};

/// Plays seeds and panics with the first lines of each that fails.
fn play_all(test: &str, usual: u64, scenario: fn(u64) -> Scenario) {
    let mut failed = Vec::new();
    let (mut runs, mut simulated_ms, mut records) = (0, 0, 0);
    for seed in seeds(usual) {
        let scenario = scenario(seed);
        let outcome = play(&scenario);
        runs += 1;
        simulated_ms += outcome.lasted_ms;
        records += outcome.evidence.logs.values().map(Vec::len).sum::<usize>();
        tell_story(&outcome);
        if !outcome.violations.is_empty() {
            let classes = &scenario.plan.classes;
            println!("BALLAST_SEED={seed} cargo test -p ballast-tests --test simulation {test}    {classes:?}");
            outcome.violations.iter().for_each(|line| println!("  {line}"));
            failed.push(seed);
        }
    }
    println!("{test}: {runs} runs, {} simulated seconds, {records} records", simulated_ms / 1_000);
    assert!(failed.is_empty(), "{} of {runs} seeds failed: {failed:?}", failed.len());
}

fn tell_story(outcome: &Outcome) {
    if std::env::var_os("BALLAST_STORY").is_some() {
        outcome.evidence.history.iter().for_each(|entry| println!("{} {:?}", entry.ms, entry.event));
    }
}

#[test]
fn one_broker_keeps_every_promise() {
    play_all("one_broker_keeps_every_promise", 40, Scenario::alone);
}

#[test]
fn one_seed_gives_one_run_and_another_seed_another() {
    let mut seen = Vec::new();
    for (seed, scenario) in seeds(3).flat_map(|seed| [(seed, Scenario::alone(seed)), (seed, Scenario::of_three(seed))])
    {
        let (first, second) = (play(&scenario), play(&scenario));
        let differs = first.evidence.history.iter().zip(&second.evidence.history).find(|(one, other)| one != other);
        assert_eq!(first.fingerprint, second.fingerprint, "seed {seed} gave two runs, which part at {differs:?}");
        assert!(!seen.contains(&first.fingerprint), "seed {seed} gave the run of another seed");
        seen.push(first.fingerprint);
    }
}

#[test]
fn three_brokers_keep_every_promise() {
    play_all("three_brokers_keep_every_promise", 30, Scenario::of_three);
}

/// Plays seeds of a broker that makes `mistake` until one shows it; says which.
fn first_that_finds(mistake: Mistake, most: u64) -> Option<u64> {
    (0..most).find(|seed| {
        let played = std::panic::catch_unwind(|| play(&Scenario { mistake, ..Scenario::alone(*seed) }));
        // A broker that finds its files in a state that no crash leaves may stop the whole simulation.
        played.map_or(true, |outcome| !outcome.violations.is_empty())
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
