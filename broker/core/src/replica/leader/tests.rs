//! The leader's machine, stepped.

use super::{AcksAll, Effect, Input, IsrRefusal, Leader, LeaderConfig, LeaderState, StrangerFetch};
use crate::machine::{Machine, Tick};

const LAG_MAX_MS: u64 = 1000;

struct Rig {
    leader: Leader,
    now: Tick,
    effects: Vec<Effect>,
}

impl Rig {
    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.effects.clear();
        self.leader.step(self.now, input, &mut self.effects);
        self.leader.check();
        self.effects.clone()
    }

    fn after(&mut self, ms: u64, input: Input) -> Vec<Effect> {
        self.now += ms;
        self.step(input)
    }
}

/// Broker 1 leads, its log ends at 0, all brokers are eligible with epoch 7.
fn leader_with(replicas: &[i32], isr: &[i32], min_isr: usize, durable: bool) -> Rig {
    let state = LeaderState { leader_epoch: 3, partition_epoch: 5, replicas: replicas.to_vec(), isr: isr.to_vec() };
    let config = LeaderConfig { min_isr, durable, lag_max_ms: LAG_MAX_MS };
    let mut rig = Rig { leader: Leader::new(1, state, config, 0, 0, 100), now: 100, effects: vec![] };
    rig.step(Input::Eligible(replicas.iter().map(|id| (*id, 7)).collect()));
    rig
}

fn appended(end: i64) -> Input {
    Input::Appended { end }
}

fn fetched(by: i32, from: i64) -> Input {
    Input::Fetched { by, from, log_start: 0, broker_epoch: 7 }
}

fn refused(why: IsrRefusal) -> Input {
    Input::IsrRefused { partition_epoch: 5, why }
}

fn proposed(isr: &[i32]) -> Effect {
    let isr = isr.iter().map(|id| (*id, if *id == 1 { -1 } else { 7 })).collect();
    Effect::ProposeIsr { isr, partition_epoch: 5 }
}

#[test]
fn a_leader_alone_commits_what_it_appends() {
    let mut rig = leader_with(&[1], &[1], 1, false);
    assert_eq!(rig.step(appended(10)), [Effect::PublishHigh(10)]);
    assert_eq!(rig.leader.wake_at(), None, "nobody can fall behind");
}

#[test]
fn high_watermark_waits_for_the_slowest_in_sync_follower() {
    let mut rig = leader_with(&[1, 2, 3], &[1, 2, 3], 1, false);
    assert_eq!(rig.step(appended(10)), []);
    assert_eq!(rig.step(fetched(2, 10)), [], "broker 3 has nothing yet");
    assert_eq!(rig.step(fetched(3, 4)), [Effect::PublishHigh(4)]);
    assert_eq!(rig.step(fetched(3, 10)), [Effect::PublishHigh(10)]);
}

#[test]
fn with_flush_messages_1_only_synced_records_count() {
    let mut rig = leader_with(&[1], &[1], 1, true);
    assert_eq!(rig.step(appended(10)), []);
    assert_eq!(rig.step(Input::Synced { end: 7 }), [Effect::PublishHigh(7)]);
    assert_eq!(rig.step(Input::Synced { end: 12 }), [Effect::PublishHigh(10)], "never beyond the end");
}

#[test]
fn high_watermark_stands_still_below_min_isr() {
    let mut rig = leader_with(&[1, 2, 3], &[1], 2, false);
    assert!(rig.leader.is_under_min_isr());
    assert_eq!(rig.step(appended(10)), []);
    assert_eq!(rig.step(fetched(2, 10)), [proposed(&[1, 2])]);
    let committed = Input::IsrCommitted { isr: vec![1, 2], partition_epoch: 6 };
    assert_eq!(rig.step(committed), [Effect::PublishHigh(10)]);
}

#[test]
fn a_topic_with_fewer_replicas_than_min_isr_asks_for_all_of_them() {
    let mut rig = leader_with(&[1], &[1], 2, false);
    assert!(!rig.leader.is_under_min_isr());
    assert_eq!(rig.step(appended(3)), [Effect::PublishHigh(3)]);
}

#[test]
fn a_follower_proposed_for_the_isr_holds_the_watermark_before_it_is_committed() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    assert_eq!(rig.step(appended(10)), [Effect::PublishHigh(10)]);
    assert_eq!(rig.step(fetched(2, 10)), [proposed(&[1, 2])]);
    assert_eq!(rig.step(appended(20)), [], "2 may be in the committed ISR already");
    assert_eq!(rig.step(fetched(2, 20)), [Effect::PublishHigh(20)]);
}

#[test]
fn only_one_change_of_the_isr_is_in_flight() {
    let mut rig = leader_with(&[1, 2, 3], &[1], 1, false);
    assert_eq!(rig.step(fetched(2, 0)), [proposed(&[1, 2])]);
    assert_eq!(rig.step(fetched(3, 0)), []);
    rig.step(refused(IsrRefusal::Ineligible));
    assert_eq!(rig.step(fetched(3, 0)), [proposed(&[1, 3])]);
}

#[test]
fn a_follower_without_progress_leaves_after_the_lag_limit() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(appended(10));
    assert_eq!(rig.after(LAG_MAX_MS / 2, Input::Timer), [], "half the limit is not the limit");
    assert_eq!(rig.after(LAG_MAX_MS, Input::Timer), [proposed(&[1])]);
    assert_eq!(rig.step(refused(IsrRefusal::Ineligible)), [], "without its vote nothing is committed");
}

#[test]
fn an_idle_follower_that_has_everything_stays() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(appended(10));
    rig.step(fetched(2, 10));
    assert_eq!(rig.after(10 * LAG_MAX_MS, Input::Timer), [], "its end is the leader's end");
}

#[test]
fn a_follower_one_fetch_behind_under_steady_load_stays() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    for round in 1..=20 {
        rig.step(appended(round * 10));
        let _ = rig.after(LAG_MAX_MS / 4, fetched(2, (round - 1) * 10));
        let proposals = rig.step(Input::Timer);
        assert_eq!(proposals, [], "round {round}");
    }
}

#[test]
fn a_fenced_or_reborn_follower_does_not_join() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(appended(10));
    let other_life = Input::Fetched { by: 2, from: 10, log_start: 0, broker_epoch: 6 };
    assert_eq!(rig.step(other_life), [], "KIP-903: the epoch it fetches with is not the registered one");
    rig.step(Input::Eligible([(1, 7)].into()));
    assert_eq!(rig.step(fetched(2, 10)), [], "it is fenced");
}

#[test]
fn a_follower_that_lacks_what_the_leader_was_elected_with_does_not_join() {
    let state = LeaderState { leader_epoch: 3, partition_epoch: 5, replicas: vec![1, 2], isr: vec![1] };
    let config = LeaderConfig { min_isr: 1, durable: false, lag_max_ms: LAG_MAX_MS };
    let mut rig = Rig { leader: Leader::new(1, state, config, 100, 40, 0), now: 0, effects: vec![] };
    assert!(!rig.leader.knows_the_end());
    rig.step(Input::Eligible([(1, 7), (2, 7)].into()));
    assert!(rig.leader.knows_the_end(), "alone in its ISR it commits its own log");
    assert_eq!(rig.step(fetched(2, 60)), []);
    assert_eq!(rig.step(fetched(2, 100)), [proposed(&[1, 2])]);
}

#[test]
fn an_older_isr_does_not_replace_a_newer_one() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(Input::IsrCommitted { isr: vec![1], partition_epoch: 5 });
    assert_eq!(rig.leader.isr(), [1, 2]);
    rig.step(Input::IsrCommitted { isr: vec![1], partition_epoch: 6 });
    assert_eq!(rig.leader.isr(), [1]);
}

#[test]
fn a_follower_caught_up_with_the_leaders_previous_end_has_had_everything_then() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(appended(10));
    rig.step(fetched(2, 5));
    rig.after(400, appended(20));
    rig.step(fetched(2, 10));
    assert_eq!(rig.leader.follower(2).unwrap().caught_up_at, Some(100), "it has what there was at tick 100");
    rig.after(400, fetched(2, 15));
    assert_eq!(rig.leader.follower(2).unwrap().caught_up_at, Some(100), "and not what there was at tick 500");
}

#[test]
fn a_replica_that_a_reassignment_adds_is_followed_and_joins() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(Input::Eligible([(1, 7), (2, 7), (3, 7)].into()));
    rig.step(appended(10));
    rig.step(fetched(2, 10));
    assert_eq!(rig.step(fetched(3, 10)), [], "a stranger's fetch counts for nothing");
    let reassigned = Input::Reassigned { replicas: vec![2, 3, 1], isr: vec![1, 2], partition_epoch: 6 };
    assert_eq!(rig.step(reassigned), []);
    assert_eq!(rig.step(fetched(3, 4)), [], "it lacks what is committed");
    let joins = Effect::ProposeIsr { isr: vec![(1, -1), (2, 7), (3, 7)], partition_epoch: 6 };
    assert_eq!(rig.step(fetched(3, 10)), [joins]);
    let older = Input::Reassigned { replicas: vec![1, 2], isr: vec![1, 2], partition_epoch: 6 };
    rig.step(older);
    assert_eq!(rig.leader.replicas(), [2, 3, 1]);
}

#[test]
fn a_replica_that_is_taken_away_no_longer_holds_the_watermark() {
    let mut rig = leader_with(&[1, 2, 3], &[1, 2, 3], 1, false);
    rig.step(appended(10));
    rig.step(fetched(2, 10));
    let reassigned = Input::Reassigned { replicas: vec![1, 2], isr: vec![1, 2], partition_epoch: 6 };
    assert_eq!(rig.step(reassigned), [Effect::PublishHigh(10)]);
    assert_eq!(rig.leader.follower(3), None);
}

#[test]
fn the_watermark_waits_for_a_caught_up_replica_outside_the_isr() {
    let mut rig = leader_with(&[1, 2, 3], &[1], 1, false);
    rig.step(fetched(2, 0));
    rig.step(fetched(3, 0));
    assert_eq!(rig.step(appended(10)), [], "3 had everything a moment ago and may join; 2 is proposed");
    assert_eq!(rig.step(fetched(2, 10)), []);
    assert_eq!(rig.step(fetched(3, 8)), [Effect::PublishHigh(8)]);
    assert!(rig.leader.wake_at().is_some(), "though the leader is alone in its ISR");
    assert_eq!(rig.after(LAG_MAX_MS + 1, Input::Timer), [Effect::PublishHigh(10)], "it has fallen back");
}

#[test]
fn acks_all_is_told_when_the_in_sync_replicas_have_become_too_few() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 2, false);
    rig.step(appended(10));
    assert_eq!(rig.leader.acks_all(10), AcksAll::Waiting);
    rig.step(fetched(2, 10));
    assert_eq!(rig.leader.acks_all(10), AcksAll::Done);
    rig.step(Input::IsrCommitted { isr: vec![1], partition_epoch: 6 });
    assert!(rig.leader.is_under_min_isr(), "19 for what comes now");
    assert_eq!(rig.leader.acks_all(10), AcksAll::TooFewReplicas, "20 for what was appended before");
    rig.step(appended(20));
    assert_eq!(rig.leader.acks_all(20), AcksAll::Waiting, "the watermark is frozen");
}

#[test]
fn low_watermark_is_the_least_start_of_the_replicas_that_are_alive() {
    let mut rig = leader_with(&[1, 2, 3], &[1, 2, 3], 1, false);
    rig.step(appended(50));
    assert_eq!(rig.leader.low_watermark(30), -1, "nobody has said yet");
    for (by, log_start) in [(2, 10), (3, 20)] {
        rig.step(Input::Fetched { by, from: 50, log_start, broker_epoch: 7 });
    }
    assert_eq!(rig.leader.low_watermark(30), 10);
    rig.step(Input::Eligible([(1, 7), (3, 7)].into()));
    assert_eq!(rig.leader.low_watermark(30), 20, "2 is fenced");
}

#[test]
fn a_refused_member_no_longer_holds_the_watermark() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    rig.step(Input::Eligible([(1, 7)].into()));
    assert_eq!(rig.step(appended(10)), [], "it is proposed");
    assert_eq!(rig.step(refused(IsrRefusal::Ineligible)), [Effect::PublishHigh(10)]);
}

#[test]
fn a_proposal_that_was_overtaken_may_have_been_applied() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    rig.step(Input::Eligible([(1, 7)].into()));
    rig.step(appended(10));
    assert_eq!(rig.step(refused(IsrRefusal::Overtaken)), [], "perhaps an earlier copy of it changed the epoch");
    assert_eq!(rig.after(LAG_MAX_MS / 4, Input::Timer), [], "asking again is of no use");
    let committed = Input::IsrCommitted { isr: vec![1], partition_epoch: 7 };
    assert_eq!(rig.step(committed), [Effect::PublishHigh(10)], "the metadata says that it was not");
}

#[test]
fn a_refusal_does_not_speak_for_a_copy_whose_answer_was_lost() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    rig.step(appended(10));
    rig.step(refused(IsrRefusal::Lost));
    assert_eq!(rig.after(50, Input::Timer), [proposed(&[1, 2])], "asked again");
    rig.step(Input::Eligible([(1, 7)].into()));
    assert_eq!(rig.step(refused(IsrRefusal::Ineligible)), [], "the first copy may still come, when 2 is back");
    let effects = rig.after(LAG_MAX_MS, Input::Timer);
    assert!(effects.contains(&proposed(&[1, 2])), "{effects:?}");
    assert_eq!(rig.step(refused(IsrRefusal::Ineligible)), [Effect::PublishHigh(10)], "no copy lives that long");
}

#[test]
fn only_two_codes_say_that_a_proposal_was_not_applied() {
    for code in -1..150 {
        let certain = IsrRefusal::from_code(code) == IsrRefusal::Ineligible;
        assert_eq!(certain, code == 55 || code == 107, "{code}");
    }
    assert_eq!(IsrRefusal::from_code(95), IsrRefusal::Overtaken);
    assert_eq!(IsrRefusal::from_code(7), IsrRefusal::Lost);
    assert_eq!(IsrRefusal::from_code(41), IsrRefusal::Undecided, "another controller may decide");
}

#[test]
fn an_undecided_proposal_is_asked_again() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    assert_eq!(rig.step(refused(IsrRefusal::Undecided)), []);
    assert_eq!(rig.leader.wake_at(), Some(rig.now + 50));
    assert_eq!(rig.after(50, Input::Timer), [proposed(&[1, 2])]);
    assert_eq!(rig.after(50, Input::Timer), [], "a copy is on its way");
}

#[test]
fn an_answer_to_an_earlier_proposal_is_ignored() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    let other = Input::IsrRefused { partition_epoch: 4, why: IsrRefusal::Ineligible };
    assert_eq!(rig.step(other), []);
    assert_eq!(rig.step(fetched(2, 0)), [], "still proposed");
}

#[test]
fn strangers_and_former_lives_are_refused() {
    let rig = leader_with(&[1, 2], &[1, 2], 1, false);
    assert_eq!(rig.leader.judge_follower(2, 3, 7), Ok(()));
    assert_eq!(rig.leader.judge_follower(2, -1, -1), Ok(()), "an old follower names neither");
    assert_eq!(rig.leader.judge_follower(9, 3, 7), Err(StrangerFetch::Early(9)));
    assert_eq!(rig.leader.judge_follower(9, -1, 7), Err(StrangerFetch::NotAssigned(9)));
    assert_eq!(rig.leader.judge_follower(2, 3, 6), Err(StrangerFetch::FormerLife { given: 6, known: 7 }));
}

#[test]
fn a_fetch_of_a_former_life_says_nothing_about_the_log() {
    let mut rig = leader_with(&[1, 2], &[1, 2], 1, false);
    rig.step(appended(10));
    let late = Input::Fetched { by: 2, from: 10, log_start: 0, broker_epoch: 6 };
    assert_eq!(rig.step(late), [], "what that life had may be lost");
    assert_eq!(rig.leader.high(), 0);
}

#[test]
fn consumers_may_be_sent_to_members_of_the_isr_that_are_alive() {
    let mut rig = leader_with(&[1, 2, 3, 4], &[1, 2, 3], 1, false);
    rig.step(Input::Eligible([(1, 7), (2, 7), (4, 7)].into()));
    let ids: Vec<_> = rig.leader.in_sync_followers().map(|(id, _)| id).collect();
    assert_eq!(ids, [2]);
}

#[test]
fn a_proposal_that_is_asked_again_names_the_lives_that_were_in_sync() {
    let mut rig = leader_with(&[1, 2], &[1], 1, false);
    rig.step(fetched(2, 0));
    rig.step(refused(IsrRefusal::Lost));
    rig.step(appended(10));
    let reborn = Input::Fetched { by: 2, from: 0, log_start: 0, broker_epoch: 8 };
    rig.step(reborn);
    assert_eq!(rig.after(50, Input::Timer), [proposed(&[1, 2])], "KIP-903: in sync was epoch 7; 8 has yet to show it");
}

#[test]
fn a_leader_misses_a_member_of_its_isr_that_has_been_silent_and_nobody_else() {
    let mut rig = leader_with(&[1, 2, 3], &[1, 2], 1, false);
    assert!(!rig.leader.misses_a_member(rig.now + 500, 500), "members are believed to at the start");
    rig.after(400, fetched(2, 0));
    assert!(!rig.leader.misses_a_member(rig.now + 500, 500), "3 is not in the ISR");
    assert!(rig.leader.misses_a_member(rig.now + 501, 500));
    let alone = leader_with(&[1, 2], &[1], 1, false);
    assert!(!alone.leader.misses_a_member(alone.now + 10_000, 500), "who is alone commits alone");
}
