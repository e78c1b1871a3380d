//! Bugs put in on purpose (`ballast-planted`): each is found by a check, and the seed that finds it is clean without it.
//!
//! `BALLAST_SEEDS=500 cargo test -p ballast-tests --test simulation planted -- --nocapture` looks for the first seed
//! that finds each of them and prints the table of docs/TESTING.md; `BALLAST_FROM=1000` begins at another seed,
//! `BALLAST_BUG=` takes one.
//!
//! Holds: a bug is found when a check says so. A panic is none, and its seed is passed over.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ballast_planted::Bug;
use ballast_tests::sim::faults::Class;
use ballast_tests::sim::run::{Outcome, Scenario, play, seeds};
use ballast_tests::sim::shape::Shape;

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

/// All that whole clusters are to find.
const FINDS: [Find; 12] = [
    find(Bug::AckBeforeFollowerFetch, three_keenly, 0, "C1"),
    find(Bug::WatermarkByIsr, who_joins_is_cut_off, 39, "C12"),
    find(Bug::TruncateToWatermark, three_keenly, 1, "C12"),
    find(Bug::UncleanKeepsMembership, power_fails_and_leaders_die, 11, "C4"),
    find(Bug::FsyncErrorIgnored, alone_keenly, 18, "C1"),
    find(Bug::DirectoryNotSynced, alone_keenly, 7, "C1"),
    find(Bug::IndexTrustedAfterCrash, power_frays_a_disk, 1, "C9"),
    find(Bug::EpochsNotTruncated, three_keenly, 4, "C14"),
    find(Bug::SnapshotKeptOnTruncate, leaders_write_alone, 0, "C9"),
    find(Bug::CommitWithoutGeneration, three_keenly, 3, "C7"),
    find(Bug::RaftVoteNotSynced, three_keenly, 7, "C13"),
    find(Bug::RaftTruncateNotSynced, controllers_write_alone, 24, "C8"),
];

fn three_keenly(seed: u64) -> Scenario {
    Scenario::of_three(seed).keenly()
}

fn alone_keenly(seed: u64) -> Scenario {
    Scenario::alone(seed).keenly()
}

/// Replicas fall behind, and lose their leader as they come back to the ISR.
fn who_joins_is_cut_off(seed: u64) -> Scenario {
    Scenario::of(seed, Shape::Apart).under(&[Class::Joining])
}

/// A broker comes back without what it had not synced, and others lead and die meanwhile.
fn power_fails_and_leaders_die(seed: u64) -> Scenario {
    Scenario::of_three(seed).under(&[Class::Power, Class::Leader, Class::KillOne])
}

/// Nearly everything is on the disk, names and lengths too, and here and there a sector is not.
fn power_frays_a_disk(seed: u64) -> Scenario {
    Scenario::alone(seed).under(&[Class::Power, Class::Moment])
}

/// Leaders that are not heard write segments that nobody else has, and cut them when they hear of the next leader.
fn leaders_write_alone(seed: u64) -> Scenario {
    Scenario::of_three(seed).under(&[Class::CutOneWay])
}

/// Controllers that are not heard write entries that nobody else has, and die as they cut them.
fn controllers_write_alone(seed: u64) -> Scenario {
    Scenario::of_three(seed).under(&[Class::Controller, Class::Moment])
}

/// So many seeds from the recorded one on may find a bug.
const SEEDS_MORE: u64 = 40;

/// Plays a seed, with the bug in it perhaps; nothing if that panics.
fn play_with(find: &Find, seed: u64, bug: Option<Bug>) -> Option<Outcome> {
    let scenario = Scenario { planted: bug, ..(find.scenario)(seed) };
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
        super::tell_story(&outcome);
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
    let wanted = std::env::var("BALLAST_BUG").unwrap_or_default();
    let range = if number("BALLAST_SEEDS").is_some() { seeds(0) } else { 0..0 };
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

#[test]
fn a_watermark_that_does_not_wait_for_who_is_about_to_join_is_found() {
    is_found(Bug::WatermarkByIsr);
}

#[test]
fn a_log_that_is_cut_at_the_watermark_is_found() {
    is_found(Bug::TruncateToWatermark);
}

#[test]
fn a_broker_that_keeps_its_place_after_a_crash_is_found() {
    is_found(Bug::UncleanKeepsMembership);
}

#[test]
fn segments_that_are_believed_after_a_crash_are_found() {
    is_found(Bug::IndexTrustedAfterCrash);
}

#[test]
fn snapshots_of_producers_that_outlive_their_records_are_found() {
    is_found(Bug::SnapshotKeptOnTruncate);
}

#[test]
fn a_cut_of_the_metadata_log_that_is_not_synced_is_found() {
    is_found(Bug::RaftTruncateNotSynced);
}
