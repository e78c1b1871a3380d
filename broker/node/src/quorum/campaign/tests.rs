//! The machine, stepped: who stands when. Nothing here waits.

use openraft::LeaderId;

use super::*;

const ME: u64 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn campaign(seed: u64) -> Campaign {
    Campaign::new(Timers::default(), Rng::new(seed))
}

fn look(term: u64, node: u64, committed: bool) -> Look {
    let vote = Vote { leader_id: LeaderId::new(term, NodeId::from(node)), committed };
    Look { vote, may_stand: !(committed && node == ME) }
}

/// How long it waits from `now` on.
fn wait(campaign: &Campaign, now: Instant) -> Duration {
    campaign.at.expect("it may stand") - now
}

#[test]
fn a_voter_stands_once_its_leader_was_silent_for_the_fetch_timeout_and_at_most_a_quarter_more() {
    for seed in 0..100 {
        let (mut campaign, start) = (campaign(seed), Instant::now());
        campaign.look(start, look(1, 1, true));
        assert_eq!(campaign.leader(), Some(NodeId::from(1)));
        campaign.heard(start + ms(700));
        let at = wait(&campaign, start + ms(700));
        assert!((ms(2_000)..ms(2_500)).contains(&at), "{at:?} after the last sign of life");
        assert!(!campaign.asks(start + ms(2_699)), "seed {seed}");
        assert!(campaign.asks(start + ms(3_200)), "seed {seed}");
        assert!(!campaign.asks(start + ms(3_200)), "once");
    }
}

#[test]
fn an_older_sign_of_life_shortens_nothing() {
    let (mut campaign, start) = (campaign(1), Instant::now());
    campaign.look(start + ms(500), look(1, 1, true));
    let before = campaign.at;
    campaign.heard(start);
    assert_eq!(campaign.at, before);
}

#[test]
fn a_candidate_without_a_majority_stands_again_after_another_random_time() {
    let (mut campaign, start) = (campaign(7), Instant::now());
    let mut waits = Vec::new();
    for term in 1..20 {
        campaign.look(start, look(term, ME, false));
        waits.push(wait(&campaign, start));
        assert!(!campaign.asks(start + ms(999)));
        assert!(campaign.asks(start + ms(2_000)));
    }
    waits.sort();
    waits.dedup();
    assert_eq!(waits.len(), 19, "two survivors that met once must not meet for ever");
}

#[test]
fn who_leads_or_may_not_vote_does_not_stand() {
    let (mut campaign, start) = (campaign(1), Instant::now());
    campaign.look(start, look(1, ME, true));
    assert_eq!(campaign.at, None);
    campaign.look(start, Look { may_stand: false, ..look(2, 1, true) });
    assert!(!campaign.asks(start + ms(100_000)));
    campaign.look(start + ms(100_000), look(2, 1, true));
    assert!(wait(&campaign, start + ms(100_000)) >= ms(2_000), "it became a voter just now");
}

#[test]
fn one_whose_log_is_shorter_lets_the_other_stand_first() {
    let (mut campaign, start) = (campaign(3), Instant::now());
    campaign.look(start, look(2, ME, false));
    campaign.lost(start, Lost::Behind);
    assert!(wait(&campaign, start) >= ms(3_000));
}

#[test]
fn one_that_was_outbid_by_a_shorter_log_stands_again_almost_at_once() {
    let (mut campaign, start) = (campaign(3), Instant::now());
    campaign.look(start, look(2, ME, false));
    campaign.lost(start, Lost::Outbid);
    assert!(wait(&campaign, start) < ms(250));
    // openraft takes the other's vote over: that does not make it wait as one who voted for it.
    campaign.look(start, look(2, 3, false));
    assert!(wait(&campaign, start) < ms(250));
    assert!(campaign.asks(start + ms(250)));
    campaign.look(start + ms(250), look(3, ME, false));
    assert!(wait(&campaign, start + ms(250)) >= ms(1_000), "its next try is patient again");
}

#[test]
fn a_leader_that_was_found_meanwhile_ends_the_hurry() {
    let (mut campaign, start) = (campaign(3), Instant::now());
    campaign.look(start, look(2, ME, false));
    campaign.lost(start, Lost::Outbid);
    campaign.look(start, look(2, 3, true));
    assert!(wait(&campaign, start) >= ms(2_000));
}

#[test]
fn one_that_was_refused_asks_again_as_a_candidate_does_and_is_patient_once_it_hears_its_leader() {
    let (mut campaign, start) = (campaign(5), Instant::now());
    campaign.look(start, look(1, 1, true));
    let asked = start + ms(2_500);
    assert!(campaign.asks(asked));
    campaign.look(asked, look(1, 1, true));
    let again = wait(&campaign, asked);
    assert!((ms(1_000)..ms(2_000)).contains(&again), "{again:?}");
    campaign.heard(asked - ms(1));
    assert_eq!(wait(&campaign, asked), again, "that sign came before it asked");
    campaign.heard(asked + ms(10));
    let patient = wait(&campaign, asked + ms(10));
    assert!((ms(2_000)..ms(2_500)).contains(&patient), "{patient:?}: it follows a leader again");
}
