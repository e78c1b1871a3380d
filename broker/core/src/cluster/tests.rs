//! Seeds, and bugs that they must find.

use ballast_planted::Bug;

use super::run::{Outcome, run};

/// Seeds of an ordinary run of the tests; `BALLAST_SEEDS` asks for another number.
const SEEDS: u64 = 150;

/// A planted bug has to show within so many seeds.
const SEEDS_PER_BUG: u64 = 500;

/// What has to happen somewhere, or the runs are tamer than they look.
const RARE: &[&str] = &[
    "a leader begins with metadata that is not the newest",
    "a fetch proves nothing",
    "a log is cut",
    "a log start moves",
    "a log starts over",
    "a power loss takes records",
    "a proposal fails otherwise",
    "a proposal is overtaken (95)",
    "a proposal is refused (107)",
    "an ISR is put in place",
    "somebody out of sync is eligible",
    "the last leader is elected uncleanly",
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

fn passes(seed: u64, traced: bool) -> Outcome {
    let outcome = run(seed, None, traced);
    if let Some(violation) = &outcome.violation {
        panic!(
            "{violation}\n{:?}\nreplay: BALLAST_SEED={seed} cargo test -p ballast-core --lib -- cluster::tests::promises --nocapture",
            outcome.plan
        );
    }
    outcome
}

#[test]
fn promises_are_kept_whatever_happens() {
    if let Some(seed) = number("BALLAST_SEED") {
        passes(seed, true);
        return;
    }
    let seeds = 0..number("BALLAST_SEEDS").unwrap_or(SEEDS);
    let outcomes: Vec<Outcome> = seeds.map(|seed| passes(seed, false)).collect();
    let acked: usize = outcomes.iter().map(|outcome| outcome.acked).sum();
    let epochs: i32 = outcomes.iter().map(|outcome| outcome.leader_epoch).sum();
    println!("{} seeds, {acked} records acknowledged, {epochs} leader epochs", outcomes.len());
    assert!(acked > outcomes.len() * 20, "{acked} records in {} runs prove nothing", outcomes.len());
    assert!(epochs as usize > outcomes.len() * 2, "{epochs} leader epochs in {} runs prove nothing", outcomes.len());
    for event in RARE {
        let times: usize = outcomes.iter().filter_map(|outcome| outcome.seen.get(event)).sum();
        println!("{times:>8} {event}");
        assert!(times > 0, "in {} runs it never happened that {event}", outcomes.len());
    }
}

#[test]
fn a_seed_plays_the_same_for_ever() {
    let (first, second) = (passes(11, false), passes(11, false));
    assert_eq!((first.acked, first.leader_epoch, first.seen), (second.acked, second.leader_epoch, second.seen));
}

/// The first seed that shows the bug, and how.
fn finds(planted: Bug) {
    for seed in 0..SEEDS_PER_BUG {
        if let Some(violation) = run(seed, Some(planted), false).violation {
            println!("{planted:?}: seed {seed}: {violation}");
            return;
        }
    }
    panic!("{planted:?} was not found within {SEEDS_PER_BUG} seeds");
}

#[test]
fn an_acknowledgement_before_the_followers_fetch_is_found() {
    finds(Bug::AckBeforeFollowerFetch);
}

#[test]
fn a_watermark_by_the_isr_instead_of_the_maximal_isr_is_found() {
    finds(Bug::WatermarkByIsr);
}

#[test]
fn truncation_to_the_watermark_is_found() {
    finds(Bug::TruncateToWatermark);
}

#[test]
fn an_unclean_broker_that_keeps_its_membership_is_found() {
    finds(Bug::UncleanKeepsMembership);
}

#[test]
fn an_epoch_cache_that_is_not_truncated_is_found() {
    finds(Bug::EpochsNotTruncated);
}

#[test]
fn a_late_proposal_that_is_taken_for_refused_is_found() {
    finds(Bug::StaleProposalForgotten);
}

#[test]
fn an_answer_to_another_question_is_found() {
    finds(Bug::AnyAnswerIsTaken);
}

#[test]
fn a_fetch_before_the_sync_at_d2_is_found() {
    finds(Bug::FetchBeforeSync);
}

#[test]
fn a_watermark_that_covers_what_the_leader_deleted_is_found() {
    finds(Bug::WatermarkBeforeStart);
}
