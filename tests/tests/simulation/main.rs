//! The simulated cluster at work: seeds with and without faults, and the proof that a seed is enough to play a run again.
//!
//! `BALLAST_SEEDS=5000 cargo test --release -p ballast-tests --test simulation` is the long run. A seed that fails prints the
//! line that plays it again; `BALLAST_STORY=1` prints all that happened in it, `BALLAST_TRACE=1` what its brokers said.

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
    for seed in seeds(3) {
        let (first, second) = (play(&Scenario::alone(seed)), play(&Scenario::alone(seed)));
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
