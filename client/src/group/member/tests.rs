//! The member stepped by hand, against every answer that a coordinator gives.

use super::*;
use crate::group::Subscription;

const MS: Duration = Duration::from_millis(1);

struct Rig {
    member: Member,
    now: Instant,
    effects: Vec<Effect>,
}

fn rig_with(change: impl FnOnce(&mut GroupConfig)) -> Rig {
    let mut config = GroupConfig::new("g");
    change(&mut config);
    let patience = Patience { pause: 100 * MS, pause_max: 1_000 * MS, first_join: 10_000 * MS };
    let now = Instant::now();
    Rig { member: Member::new(Arc::new(config), patience, now), now, effects: Vec::new() }
}

fn rig() -> Rig {
    rig_with(|_| ())
}

fn refused(code: ErrorCode) -> ClientError {
    ClientError::refused("asking", code)
}

impl Rig {
    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.member.step(self.now, input, &mut self.effects);
        self.member.check();
        std::mem::take(&mut self.effects)
    }

    /// Lets time pass and steps every timer that is due.
    fn pass(&mut self, span: Duration) -> Vec<Effect> {
        let end = self.now + span;
        let mut all = Vec::new();
        while let Some(at) = self.member.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let due = self.step(Input::Timer);
            let idle = due.is_empty();
            all.extend(due);
            assert!(!idle || self.member.wake_at() != Some(at), "a timer that does nothing is set again");
        }
        self.now = end;
        all
    }

    /// Steps up to the join. Gives its attempt.
    fn joining(&mut self) -> Attempt {
        let effects = self.step(Input::Polled);
        let [Effect::Find(attempt)] = effects[..] else { panic!("{effects:?}") };
        join_of(&self.step(Input::Found(attempt, Ok(()))))
    }

    fn joined(&mut self, attempt: Attempt, leader: &str) -> Vec<Effect> {
        let members = if leader == "m" { vec![candidate("m"), candidate("n")] } else { Vec::new() };
        self.step(Input::Joined(attempt, Ok(answer(leader, members))))
    }

    /// Steps a follower into `Stable`, in generation 7.
    fn stable(&mut self) {
        let attempt = self.joining();
        self.stable_from(attempt);
    }

    fn stable_from(&mut self, join: Attempt) {
        let sync = sync_of(&self.joined(join, "n"));
        let effects = self.step(Input::Synced(sync, Ok(assignment())));
        assert!(matches!(effects[..], [Effect::Assigned { .. }]), "{effects:?}");
    }

    /// Waits for a heartbeat and answers it.
    fn beat(&mut self, result: Result<(), ClientError>) -> Vec<Effect> {
        let effects = self.pass(3_000 * MS);
        let Some(Effect::Heartbeat { attempt, .. }) = effects.last() else { panic!("{effects:?}") };
        self.step(Input::Beaten(*attempt, result))
    }
}

fn candidate(id: &str) -> Candidate {
    Candidate { id: id.to_owned(), instance_id: None, subscription: Subscription::to(vec!["t".into()]) }
}

fn answer(leader: &str, members: Vec<Candidate>) -> Joined {
    Joined {
        generation: 7,
        member_id: "m".into(),
        leader: leader.into(),
        protocol: "range".into(),
        members,
        skip_assignment: false,
    }
}

fn assignment() -> Bytes {
    super::super::protocol::encode_assignment(&partitions())
}

fn partitions() -> Partitions {
    [("t".to_owned(), vec![0, 1])].into()
}

fn join_of(effects: &[Effect]) -> Attempt {
    let [Effect::Join { attempt, .. }] = effects else { panic!("{effects:?}") };
    *attempt
}

fn sync_of(effects: &[Effect]) -> Attempt {
    let [Effect::Sync { attempt, .. }] = effects else { panic!("{effects:?}") };
    *attempt
}

/// Under which ids the effects join.
fn joins_as(effects: &[Effect]) -> Vec<&str> {
    let ids = effects.iter().filter_map(|effect| match effect {
        Effect::Join { member_id, .. } => Some(member_id.as_str()),
        _ => None,
    });
    ids.collect()
}

#[test]
fn a_member_joins_when_it_is_first_polled_and_again_with_the_id_it_was_given() {
    let mut rig = rig();
    assert_eq!(rig.member.wake_at(), None, "nobody has polled");
    let attempt = rig.joining();
    let effects = rig.step(Input::Named(attempt, "m".into()));
    assert_eq!(joins_as(&effects), ["m"], "KIP-394: at once, without a pause");
    rig.stable_from(join_of(&effects));
}

#[test]
fn the_leader_divides_and_a_follower_waits_for_what_it_gets() {
    let mut leader = rig();
    let attempt = leader.joining();
    let effects = leader.joined(attempt, "m");
    let [Effect::Assign { attempt, assignor: Assignor::Range, members }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(members.len(), 2);
    let rows = vec![("m".to_owned(), assignment()), ("n".to_owned(), Bytes::new())];
    let effects = leader.step(Input::Computed(*attempt, Ok(rows.clone())));
    let [Effect::Sync { assignments, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*assignments, rows);

    let mut follower = rig();
    let attempt = follower.joining();
    let effects = follower.joined(attempt, "n");
    let [Effect::Sync { attempt, who, protocol, assignments }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((who.generation, protocol.as_str(), assignments.len()), (7, "range", 0));
    let effects = follower.step(Input::Synced(*attempt, Ok(assignment())));
    let who = Identity { generation: 7, member_id: "m".into() };
    assert_eq!(effects, [Effect::Assigned { who, partitions: partitions() }]);
}

#[test]
fn a_leader_that_has_come_back_divides_nothing_if_all_stays_as_it_was() {
    let mut rig = rig_with(|config| config.instance_id = Some("i".into()));
    let attempt = rig.joining();
    let joined = Joined { skip_assignment: true, ..answer("m", vec![candidate("m")]) };
    let effects = rig.step(Input::Joined(attempt, Ok(joined)));
    assert!(matches!(&effects[..], [Effect::Sync { assignments, .. }] if assignments.is_empty()), "{effects:?}");
    assert!(rig.member.leads(), "KIP-814: it watches the topics from here on");
}

#[test]
fn heartbeats_keep_their_interval_and_never_overlap() {
    let mut rig = rig();
    rig.stable();
    let effects = rig.pass(2_999 * MS);
    assert_eq!(effects, [], "too early");
    let effects = rig.pass(30_000 * MS);
    let [Effect::Heartbeat { attempt, who }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(who.generation, 7);
    // The answer was late: the next one goes at once.
    let effects = rig.step(Input::Beaten(*attempt, Ok(())));
    assert!(matches!(effects[..], [Effect::Heartbeat { .. }]), "{effects:?}");
}

#[test]
fn a_rebalance_takes_the_partitions_back_before_the_member_joins_again() {
    let mut rig = rig();
    rig.stable();
    let effects = rig.beat(Err(refused(ErrorCode::REBALANCE_IN_PROGRESS)));
    let [Effect::Revoke(attempt)] = effects[..] else { panic!("{effects:?}") };
    // While the application commits, the member stays alive and is not asked twice.
    let effects = rig.beat(Err(refused(ErrorCode::REBALANCE_IN_PROGRESS)));
    assert_eq!(effects, []);
    assert_eq!(rig.step(Input::Revoked(attempt - 1)), [], "an answer to an earlier question");
    let effects = rig.step(Input::Revoked(attempt));
    assert_eq!(joins_as(&effects), ["m"], "it keeps its id");
}

#[test]
fn a_member_that_misses_a_generation_loses_its_partitions_once_and_keeps_its_id() {
    let mut rig = rig();
    rig.stable();
    let effects = rig.beat(Err(refused(ErrorCode::ILLEGAL_GENERATION)));
    assert_eq!(effects, [Effect::Lost]);
    assert_eq!(joins_as(&rig.pass(100 * MS)), ["m"]);
}

#[test]
fn a_member_that_is_not_known_any_more_loses_its_partitions_once_and_its_id() {
    let mut rig = rig();
    rig.stable();
    let effects = rig.beat(Err(refused(ErrorCode::UNKNOWN_MEMBER_ID)));
    assert_eq!(effects, [Effect::Lost]);
    let effects = rig.pass(100 * MS);
    assert_eq!(joins_as(&effects), [""]);
    // The same while joining: nothing is lost twice.
    let effects = rig.step(Input::Joined(join_of(&effects), Err(refused(ErrorCode::UNKNOWN_MEMBER_ID))));
    assert_eq!(effects, []);
}

#[test]
fn a_coordinator_that_moved_or_fell_silent_is_found_again_and_the_partitions_stay() {
    let gone = ClientError::Disconnected { address: "a:1".into(), reason: "gone".into() };
    for error in [refused(ErrorCode::NOT_COORDINATOR), refused(ErrorCode::COORDINATOR_NOT_AVAILABLE), gone] {
        let mut rig = rig();
        rig.stable();
        assert_eq!(rig.beat(Err(error)), []);
        let effects = rig.pass(100 * MS);
        let [Effect::Find(attempt)] = effects[..] else { panic!("{effects:?}") };
        let effects = rig.step(Input::Found(attempt, Ok(())));
        assert!(matches!(effects[..], [Effect::Heartbeat { .. }]), "{effects:?}");
    }
}

#[test]
fn a_coordinator_that_is_loading_is_asked_again_with_pauses_that_double() {
    let mut rig = rig();
    let mut attempt = rig.joining();
    for pause in [100, 200, 400, 800, 1_000, 1_000] {
        let effects = rig.step(Input::Joined(attempt, Err(refused(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS))));
        assert_eq!(effects, []);
        assert_eq!(rig.pass((pause - 1) * MS), [], "a pause of {pause} ms");
        attempt = join_of(&rig.pass(MS));
    }
    rig.stable_from(attempt);
}

#[test]
fn a_sync_that_meets_a_new_rebalance_joins_again_with_its_id() {
    let mut rig = rig();
    let attempt = rig.joining();
    let sync = sync_of(&rig.joined(attempt, "n"));
    let effects = rig.step(Input::Synced(sync, Err(refused(ErrorCode::REBALANCE_IN_PROGRESS))));
    assert_eq!(effects, [], "nothing was owned");
    assert_eq!(joins_as(&rig.pass(100 * MS)), ["m"]);
}

#[test]
fn final_refusals_end_the_membership_and_say_why() {
    for code in [
        ErrorCode::FENCED_INSTANCE_ID,
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode(24),
        ErrorCode(26),
        ErrorCode(30),
        ErrorCode(81),
    ] {
        let mut rig = rig();
        let attempt = rig.joining();
        assert_eq!(rig.step(Input::Joined(attempt, Err(refused(code)))), [Effect::Fail(refused(code))]);
        assert!(rig.member.is_over() && rig.member.wake_at().is_none());
    }
    let mut rig = rig();
    rig.stable();
    let fenced = refused(ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(rig.beat(Err(fenced.clone())), [Effect::Lost, Effect::Fail(fenced)]);
}

#[test]
fn a_first_join_gives_up_in_time_and_a_later_one_never() {
    let nobody = || ClientError::refused("finding", ErrorCode::COORDINATOR_NOT_AVAILABLE);
    let mut rig = rig();
    let mut effects = rig.step(Input::Polled);
    while let [Effect::Find(attempt)] = effects[..] {
        effects = rig.step(Input::Found(attempt, Err(nobody())));
        if effects.is_empty() {
            effects = rig.pass(1_000 * MS);
        }
    }
    assert!(matches!(effects[..], [Effect::Fail(ClientError::TimedOut { .. })]), "{effects:?}");

    let mut rig = rig_with(|_| ());
    rig.stable();
    rig.beat(Err(nobody()));
    for _ in 0..100 {
        rig.step(Input::Polled);
        let effects = rig.pass(1_000 * MS);
        let [Effect::Find(attempt)] = effects[..] else { panic!("{effects:?}") };
        rig.step(Input::Found(attempt, Err(nobody())));
    }
    assert!(!rig.member.is_over());
}

#[test]
fn a_member_that_nobody_polls_leaves_and_comes_back_with_the_next_poll() {
    let mut rig = rig_with(|config| config.poll_interval_max = 10_000 * MS);
    rig.stable();
    for _ in 0..3 {
        rig.beat(Ok(()));
    }
    let effects = rig.pass(2_000 * MS);
    assert_eq!(effects, [Effect::Lost, Effect::Leave { member_id: "m".into() }]);
    assert_eq!(rig.member.wake_at(), None);
    assert_eq!(joins_as(&rig.step(Input::Polled)), [""]);
}

#[test]
fn a_dynamic_member_says_good_bye_and_a_static_one_keeps_its_place() {
    let mut rig = rig();
    rig.stable();
    assert_eq!(rig.step(Input::Leave), [Effect::Leave { member_id: "m".into() }]);
    assert!(rig.member.is_over());

    let mut rig = rig_with(|config| config.instance_id = Some("i".into()));
    rig.stable();
    assert_eq!(rig.step(Input::Leave), []);
    assert!(rig.member.is_over());
}

#[test]
fn a_refused_commit_counts_in_its_own_generation_only() {
    let mut rig = rig();
    rig.stable();
    let failed = |generation, code| Input::CommitFailed { generation, error: refused(code) };
    assert_eq!(rig.step(failed(6, ErrorCode::UNKNOWN_MEMBER_ID)), [], "of an earlier life");
    let effects = rig.step(failed(7, ErrorCode::REBALANCE_IN_PROGRESS));
    assert!(matches!(effects[..], [Effect::Revoke(_)]), "{effects:?}");
    assert_eq!(rig.step(failed(7, ErrorCode::ILLEGAL_GENERATION)), [Effect::Lost]);
}

#[test]
fn only_the_leader_starts_a_rebalance_when_topics_change() {
    let mut follower = rig();
    follower.stable();
    assert_eq!(follower.step(Input::TopicsChanged), []);

    let mut leader = rig();
    let attempt = leader.joining();
    let effects = leader.joined(attempt, "m");
    let [Effect::Assign { attempt, .. }] = &effects[..] else { panic!("{effects:?}") };
    let sync = sync_of(&leader.step(Input::Computed(*attempt, Ok(Vec::new()))));
    leader.step(Input::Synced(sync, Ok(assignment())));
    assert!(matches!(leader.step(Input::TopicsChanged)[..], [Effect::Revoke(_)]));
}

#[test]
fn a_malformed_assignment_is_an_error_and_an_empty_one_is_none() {
    let mut rig = rig();
    let attempt = rig.joining();
    let sync = sync_of(&rig.joined(attempt, "n"));
    let effects = rig.step(Input::Synced(sync, Ok(Bytes::from_static(b"\0\x01\x7f\xff\xff\xff"))));
    assert!(matches!(effects[..], [Effect::Fail(ClientError::BadAnswer { .. })]), "{effects:?}");

    let mut rig = rig_with(|_| ());
    let attempt = rig.joining();
    let sync = sync_of(&rig.joined(attempt, "n"));
    let effects = rig.step(Input::Synced(sync, Ok(Bytes::new())));
    assert!(matches!(&effects[..], [Effect::Assigned { partitions, .. }] if partitions.is_empty()), "{effects:?}");
}

/// Every answer in every state, in any order: the state never contradicts itself, and what is owned is given back or lost
/// before it is given again.
#[test]
fn any_order_of_answers_leaves_the_member_in_order() {
    use ballast_net::{SeededEntropy, random_below};
    for seed in 0..300 {
        let entropy = SeededEntropy::new(seed);
        let mut rig = rig();
        rig.member.patience.first_join = Duration::from_secs(1 << 30);
        let mut owned = false;
        for _ in 0..200 {
            let attempt = random_below(&entropy, rig.member.attempts + 2);
            let codes = [14, 15, 16, 22, 25, 27, 7];
            let error = refused(ErrorCode(codes[random_below(&entropy, codes.len() as u64) as usize]));
            let input = match random_below(&entropy, 14) {
                0 => Input::Found(attempt, Ok(())),
                1 => Input::Found(attempt, Err(error)),
                2 => Input::Named(attempt, "m".into()),
                3 => Input::Joined(attempt, Ok(answer("m", vec![candidate("m")]))),
                4 => Input::Joined(attempt, Ok(answer("n", Vec::new()))),
                5 => Input::Joined(attempt, Err(error)),
                6 => Input::Computed(attempt, Ok(Vec::new())),
                7 => Input::Synced(attempt, Ok(assignment())),
                8 => Input::Synced(attempt, Err(error)),
                9 => Input::Beaten(attempt, if attempt.is_multiple_of(2) { Ok(()) } else { Err(error) }),
                10 => Input::CommitFailed { generation: 7, error },
                11 => Input::Revoked(attempt),
                12 => Input::TopicsChanged,
                _ => Input::Polled,
            };
            // Half of the time the answer is to the latest question.
            let input = if random_below(&entropy, 2) == 0 { latest(&rig.member, input) } else { input };
            let mut effects = rig.step(input);
            effects.extend(rig.pass(random_below(&entropy, 2_000) as u32 * MS));
            for effect in effects {
                match effect {
                    Effect::Assigned { .. } => {
                        assert!(!std::mem::replace(&mut owned, true), "seed {seed}: given twice");
                    }
                    Effect::Lost => assert!(std::mem::replace(&mut owned, false), "seed {seed}: lost what it had not"),
                    Effect::Join { .. } => owned = false,
                    Effect::Fail(error) => panic!("seed {seed}: {error}"),
                    _ => {}
                }
            }
            if rig.member.is_over() {
                break;
            }
        }
    }
}

fn latest(member: &Member, input: Input) -> Input {
    let looking = match member.coordinator {
        Coordinator::Looking(attempt) => attempt,
        _ => 0,
    };
    match input {
        Input::Found(_, result) => Input::Found(looking, result),
        Input::Named(_, id) => Input::Named(member.pending, id),
        Input::Joined(_, result) => Input::Joined(member.pending, result),
        Input::Computed(_, result) => Input::Computed(member.pending, result),
        Input::Synced(_, result) => Input::Synced(member.pending, result),
        Input::Beaten(_, result) => Input::Beaten(member.beating.unwrap_or(0), result),
        Input::Revoked(_) => Input::Revoked(member.pending),
        other => other,
    }
}
