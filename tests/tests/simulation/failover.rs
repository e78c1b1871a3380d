//! The claim of a cluster, in simulated time: when a leader is lost, writes with acks=all resume within the session
//! timeout and a second; one election of the quorum comes beside it if the active controller was lost too.
//!
//! `BALLAST_SEEDS=200` asks more seeds, `BALLAST_STORY=1` prints where the time went.

use ballast_tests::sim::failover::{LOSSES, Loss, Victim, cut_off_and_come_back, lose};
use ballast_tests::sim::run::seeds;

/// `broker.session.timeout.ms` of the simulated brokers.
const SESSION_MS: i64 = 3_000;
/// What noticing, electing and asking again may take beside it.
const BESIDE_MS: i64 = 1_000;
/// The longest that a voter waits for its leader (4 s by default: docs/CONFIG.md), and its votes.
const ELECTION_MS: i64 = 4_500;

/// Every way to lose `victim` is over within `limit_ms`, for all partitions that it led.
fn all_resume(victim: Victim, limit_ms: i64) {
    let mut late = Vec::new();
    for loss in LOSSES {
        let gaps: Vec<Option<i64>> = seeds(4).map(|seed| longest_gap(seed, loss, victim)).collect();
        println!("{victim:?} lost, {loss:?}: writes resumed after {gaps:?} ms");
        let is_late = |gap: &Option<i64>| gap.is_none_or(|ms| ms > limit_ms);
        let seeds = seeds(4).zip(gaps).filter(|(_, gap)| is_late(gap));
        late.extend(seeds.map(|(seed, gap)| format!("{loss:?}, BALLAST_SEED={seed}: {gap:?} ms")));
    }
    assert!(late.is_empty(), "writes did not resume within {limit_ms} ms: {late:#?}");
}

/// The longest time without writes of the partitions that the victim led; `None` if one took none for a minute.
fn longest_gap(seed: u64, loss: Loss, victim: Victim) -> Option<i64> {
    let (gaps, recorder) = lose(seed, loss, victim);
    if std::env::var_os("BALLAST_STORY").is_some() {
        recorder.entries().iter().for_each(|entry| println!("{} {:?}", entry.ms, entry.event));
    }
    let all: Option<Vec<i64>> = gaps.into_iter().map(|gap| gap.ms).collect();
    all.and_then(|all| all.into_iter().max())
}

#[test]
fn writes_resume_within_the_session_timeout_and_a_second() {
    all_resume(Victim::Leader, SESSION_MS + BESIDE_MS);
}

#[test]
fn writes_resume_after_one_election_more_when_the_controller_is_lost_too() {
    all_resume(Victim::Controller, ELECTION_MS + SESSION_MS + BESIDE_MS);
}

#[test]
fn a_voter_that_was_cut_off_raises_no_term_and_does_not_depose_the_leader_when_it_is_back() {
    for seed in seeds(4) {
        let (told, recorder) = cut_off_and_come_back(seed, 20_000);
        if std::env::var_os("BALLAST_STORY").is_some() {
            recorder.entries().iter().for_each(|entry| println!("{} {:?}", entry.ms, entry.event));
        }
        assert!(told.is_empty(), "BALLAST_SEED={seed}: {told:?}");
    }
}
