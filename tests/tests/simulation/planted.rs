//! Bugs put in on purpose (`ballast-planted`): each is found by a check, and the seed that finds it is clean without it.
//!
//! `BALLAST_SEEDS=500 cargo test -p ballast-tests --test simulation planted -- --nocapture` looks for the first seed
//! that finds each of them and prints the table of docs/TESTING.md; `BALLAST_FROM=1000` begins at another seed,
//! `BALLAST_BUG=` takes one.
//!
//! Holds: a bug is found when a check says so. A panic is none, and its seed is passed over.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ballast_planted::Bug;
use ballast_tests::sim::run::{Outcome, Scenario, play, seeds};

/// A bug and how it is found.
struct Find {
    bug: Bug,
    /// What a seed plays.
    scenario: fn(u64) -> Scenario,
    /// A seed that finds it.
    seed: u64,
    /// The check that says so.
    check: &'static str,
}

const fn find(bug: Bug, scenario: fn(u64) -> Scenario, seed: u64, check: &'static str) -> Find {
    Find { bug, scenario, seed, check }
}

/// All of them. Those without a test of their own below have no seed yet that is quick to show them.
const FINDS: [Find; 12] = [
    find(Bug::AckBeforeFollowerFetch, Scenario::of_three, 1, "C1"),
    find(Bug::WatermarkByIsr, Scenario::of_three, 0, "C12"),
    find(Bug::TruncateToWatermark, Scenario::of_three, 5, "C12"),
    find(Bug::UncleanKeepsMembership, Scenario::of_three, 1, "C12"),
    find(Bug::FsyncErrorIgnored, Scenario::alone, 19, "C1"),
    find(Bug::DirectoryNotSynced, Scenario::alone, 1, "C1"),
    find(Bug::IndexTrustedAfterCrash, Scenario::alone, 7, "C14"),
    find(Bug::EpochsNotTruncated, Scenario::of_three, 1, "C14"),
    find(Bug::SnapshotKeptOnTruncate, Scenario::of_three, 2, "C9"),
    find(Bug::CommitWithoutGeneration, Scenario::of_three, 3, "C7"),
    find(Bug::RaftVoteNotSynced, Scenario::of_three, 1, "C13"),
    find(Bug::RaftTruncateNotSynced, Scenario::of_three, 0, "C8"),
];

/// So many seeds from the recorded one on may find a bug.
const SEEDS_MORE: u64 = 40;

/// Plays a seed, with the bug in it perhaps; nothing if that panics.
fn play_with(find: &Find, seed: u64, bug: Option<Bug>) -> Option<Outcome> {
    let scenario = Scenario { planted: bug, ..(find.scenario)(seed).keenly() };
    catch_unwind(AssertUnwindSafe(|| play(&scenario))).ok()
}

/// The checks that say something, each once.
fn checks_of(outcome: &Outcome) -> Vec<&str> {
    let mut checks: Vec<&str> =
        outcome.violations.iter().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    checks.dedup();
    checks
}

/// The recorded seed finds the bug, or one of the next few does: whatever changes when something happens in a broker makes
/// another run of a seed.
fn is_found(bug: Bug) {
    let find = FINDS.iter().find(|find| find.bug == bug).expect("it is in the list");
    for seed in find.seed..find.seed + SEEDS_MORE {
        let Some(with) = play_with(find, seed, Some(bug)) else { continue };
        if checks_of(&with).contains(&find.check) {
            println!("{bug:?} is found by {} with seed {seed}: {}", find.check, with.violations[0]);
            // A seed that shows something without the bug too proves nothing.
            if play_with(find, seed, None).is_some_and(|without| without.violations.is_empty()) {
                return;
            }
        }
    }
    panic!("{} finds {bug:?} with none of the {SEEDS_MORE} seeds from {} on", find.check, find.seed);
}

/// One row of the table: the first of these seeds that finds the bug.
fn search(find: &Find, seeds: std::ops::Range<u64>) -> bool {
    let (first, mut panics) = (seeds.start, 0);
    for seed in seeds {
        let Some(outcome) = play_with(find, seed, Some(find.bug)) else {
            panics += 1;
            continue;
        };
        let is_clean = || play_with(find, seed, None).is_some_and(|without| without.violations.is_empty());
        if !outcome.violations.is_empty() && is_clean() {
            let (tried, checks) = (seed - first + 1, checks_of(&outcome).join(", "));
            println!("| {:?} | {seed} | {tried} | {checks} | {} | {panics} |", find.bug, outcome.violations[0]);
            return true;
        }
    }
    println!("| {:?} | not found | | | | {panics} |", find.bug);
    false
}

#[test]
fn every_bug_is_found_within_the_seeds_that_are_asked_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (from, wanted) = (number("BALLAST_FROM").unwrap_or(0), std::env::var("BALLAST_BUG").unwrap_or_default());
    let range = if number("BALLAST_SEEDS").is_some() { seeds(0) } else { 0..0 };
    let range = range.start + from..range.end + from;
    let mut missed = Vec::new();
    for find in FINDS.iter().filter(|find| format!("{:?}", find.bug).contains(&wanted)) {
        let twice = FINDS.iter().filter(|other| other.bug == find.bug).count();
        assert_eq!(twice, 1, "{:?} is in the list {twice} times", find.bug);
        if !range.is_empty() && !search(find, range.clone()) {
            missed.push(find.bug);
        }
    }
    assert!(missed.is_empty(), "{missed:?} are not found by seeds {range:?}");
}

#[test]
fn an_acknowledgement_before_the_followers_fetch_is_found() {
    is_found(Bug::AckBeforeFollowerFetch);
}

#[test]
fn a_failed_sync_that_is_ignored_is_found() {
    is_found(Bug::FsyncErrorIgnored);
}

#[test]
fn a_folder_that_is_not_synced_is_found() {
    is_found(Bug::DirectoryNotSynced);
}

#[test]
fn epochs_that_outlive_their_records_are_found() {
    is_found(Bug::EpochsNotTruncated);
}

#[test]
fn a_commit_of_a_past_generation_is_found() {
    is_found(Bug::CommitWithoutGeneration);
}

#[test]
fn a_vote_that_is_not_synced_is_found() {
    is_found(Bug::RaftVoteNotSynced);
}
