//! Registration, heartbeats, fencing, elections, orderly stops, AlterPartition.

use ballast_wire::{NO_LEADER, Uuid};

use super::rig::{Rig, by_hand, new_topic, with_configs};
use crate::controller::{BrokerHeartbeat, Deposed, DirAssignment, HeartbeatReply, Input, IsrChange, Request, Response};
use crate::image::{Directories, FEATURE_METADATA, FeatureRange, Recovery};
use crate::machine::Machine as _;

#[test]
fn a_new_broker_is_fenced_until_it_has_applied_its_registration() {
    let mut rig = Rig::new(false, &[]);
    let epoch = rig.register(1, 1, -1).expect("nobody has this id");
    assert_eq!(rig.image.broker(1).map(|broker| (broker.epoch, broker.fenced)), Some((epoch, true)));
    let early = BrokerHeartbeat { metadata_index: u64::try_from(epoch).unwrap() - 1, ..rig.heartbeat(1) };
    let fenced = HeartbeatReply { is_caught_up: false, is_fenced: true, should_shut_down: false };
    assert_eq!(rig.beat_as(early), Ok(fenced));
    let waiting = BrokerHeartbeat { want_fence: true, ..rig.heartbeat(1) };
    assert_eq!(rig.beat_as(waiting), Ok(HeartbeatReply { is_caught_up: true, ..fenced }), "it wants to stay fenced");
    assert_eq!(rig.beat(1), HeartbeatReply { is_caught_up: true, is_fenced: false, should_shut_down: false });
    assert!(rig.image.broker(1).is_some_and(|broker| broker.is_active()));
}

#[test]
fn a_broker_epoch_is_the_index_of_the_registration() {
    let mut rig = Rig::new(false, &[]);
    let index = i64::try_from(rig.index).unwrap();
    assert_eq!(rig.register(7, 1, -1), Ok(index));
    assert_eq!(rig.register(7, 1, -1), Ok(index), "the same incarnation keeps it");
    let mut amended = rig.registration(7, 1, -1);
    amended.broker.listeners[0].port = 9999;
    assert_eq!(rig.register_as(amended), Ok(index));
    assert_eq!(rig.image.broker(7).map(|broker| (broker.listeners[0].port, broker.epoch)), Some((9999, index)));
}

#[test]
fn a_registration_sent_twice_before_the_commit_is_one_registration() {
    let mut rig = Rig::new(false, &[]);
    let request = rig.registration(1, 1, -1);
    let ids = [0, 1].map(|_| rig.send(Request::RegisterBroker(request.clone())));
    let index = i64::try_from(rig.index).unwrap();
    rig.commit();
    for id in ids {
        assert_eq!(rig.answer(id), Some(Response::RegisterBroker(Ok(index))));
    }
}

#[test]
fn registrations_that_cannot_be_are_refused_with_their_cause() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let good = rig.registration(2, 1, -1);
    let mut foreign = good.clone();
    foreign.cluster_id = "elsewhere".to_owned();
    assert_eq!(rig.register_as(foreign), Err(104));
    for dirs in [vec![], vec![Uuid([101; 16])], vec![Uuid([5; 16]), Uuid([5; 16])], vec![Uuid::ZERO]] {
        let mut bad = good.clone();
        bad.broker.log_dirs = dirs.clone();
        assert_eq!(rig.register_as(bad), Err(119), "{dirs:?}");
    }
    let mut long = good.clone();
    long.broker.listeners[0].host = "h".repeat(1 << 15);
    assert_eq!(rig.register_as(long), Err(119), "clients of old versions could not be told");
    let mut silent = good.clone();
    silent.broker.features.remove(FEATURE_METADATA);
    assert_eq!(rig.register_as(silent), Err(119), "as Apache Kafka says of a broker that does not name it");
    let mut old = good.clone();
    old.broker.features.insert(FEATURE_METADATA.to_owned(), FeatureRange { min: 1, max: 7 });
    assert_eq!(rig.register_as(old), Err(35));
    assert!(rig.register_as(good).is_ok());
}

#[test]
fn another_process_with_the_id_of_a_live_broker_is_refused_until_the_session_ends() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    assert_eq!(rig.register(1, 2, -1), Err(101));
    rig.pass(9_000, &[]);
    assert!(rig.register(1, 2, -1).is_ok());
}

#[test]
fn a_broker_in_the_controllers_own_process_replaces_its_former_life_at_once() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let request = crate::controller::RegisterBroker { in_process: true, ..rig.registration(1, 2, -1) };
    assert!(rig.register_as(request).is_ok());
}

#[test]
fn a_released_broker_may_come_back_at_once() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let stop = BrokerHeartbeat { want_shutdown: true, ..rig.heartbeat(1) };
    assert_eq!(
        rig.beat_as(stop),
        Ok(HeartbeatReply { is_caught_up: true, is_fenced: true, should_shut_down: true }),
        "it leads nothing"
    );
    let previous = rig.epoch(1);
    assert!(rig.register(1, 2, previous).is_ok());
}

#[test]
fn a_silent_broker_is_fenced_and_its_leaderships_move() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    let topic = rig.topic("t", &[&[1, 2, 3], &[2, 3, 1]]);
    rig.pass(8_000, &[2, 3]);
    assert_eq!(rig.partition(topic, 0).leader, 1, "its time is not over");
    rig.pass(1_000, &[2, 3]);
    assert!(rig.image.broker(1).is_some_and(|broker| broker.fenced));
    let moved = rig.partition(topic, 0);
    assert_eq!((moved.leader, moved.leader_epoch, moved.isr), (2, 1, vec![2, 3]));
    let followed = rig.partition(topic, 1);
    assert_eq!((followed.leader, followed.leader_epoch, followed.isr), (2, 0, vec![2, 3]));
}

#[test]
fn nobody_is_fenced_for_the_time_that_the_controller_slept() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.now += 60_000;
    rig.step(Input::Timer);
    rig.commit();
    assert!(rig.image.brokers().all(|broker| !broker.fenced), "the brokers had no chance to be heard");
    rig.pass(9_000, &[2]);
    assert!(rig.image.broker(1).is_some_and(|broker| broker.fenced), "from now on they have");
    assert!(rig.image.broker(2).is_some_and(|broker| !broker.fenced));
}

#[test]
fn a_new_controller_gives_every_broker_a_whole_session() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.step(Input::StepDown);
    rig.now += 100_000;
    rig.step(Input::Lead { image: rig.image.clone(), deposed: None });
    rig.commit();
    assert_eq!(rig.controller.wake_at(), Some(rig.now + 9_000));
}

#[test]
fn the_controller_that_was_lost_is_fenced_a_session_after_it_was_last_heard_of() {
    for (silent_ms, left_ms) in [(2_000, 7_000), (30_000, 0)] {
        let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
        let topic = rig.topic("t", &[&[1, 2]]);
        rig.step(Input::StepDown);
        let heard_at = rig.now;
        rig.now += silent_ms;
        rig.step(Input::Lead { image: rig.image.clone(), deposed: Some(Deposed { broker: 1, heard_at }) });
        rig.commit();
        rig.pass(left_ms.max(1), &[2]);
        assert!(rig.image.broker(1).is_some_and(|broker| broker.fenced), "silent for {silent_ms} ms before");
        assert!(rig.image.broker(2).is_some_and(|broker| !broker.fenced), "the others have a whole session");
        assert_eq!(rig.partition(topic, 0).leader, 2);
    }
}

#[test]
fn a_deposed_controller_that_gives_a_sign_of_life_stays_in_the_cluster() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.step(Input::StepDown);
    let heard_at = rig.now;
    rig.now += 30_000;
    rig.step(Input::Lead { image: rig.image.clone(), deposed: Some(Deposed { broker: 1, heard_at }) });
    let beat = rig.heartbeat(1);
    rig.send(Request::BrokerHeartbeat(beat));
    rig.commit();
    rig.pass(1_000, &[1, 2]);
    assert!(rig.image.broker(1).is_some_and(|broker| !broker.fenced), "what waited for the activation counts first");
}

#[test]
fn heartbeats_under_another_epoch_are_stale() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let stale = BrokerHeartbeat { epoch: rig.epoch(1) - 1, ..rig.heartbeat(1) };
    assert_eq!(rig.beat_as(stale), Err(77));
    assert_eq!(rig.beat_as(BrokerHeartbeat { id: 9, ..BrokerHeartbeat::default() }), Err(77));
}

//@ kafka.md §8.4: a sole replica is elected when it is back, with a new leader epoch.
#[test]
fn a_sole_replica_leads_again_after_a_clean_restart_with_a_new_epoch() {
    for elr in [false, true] {
        let mut rig = Rig::with_brokers(elr, &[1], &[]);
        let topic = rig.topic("t", &[&[1]]);
        let before = rig.partition(topic, 0);
        let previous = rig.epoch(1);
        let stop = BrokerHeartbeat { want_shutdown: true, ..rig.heartbeat(1) };
        assert!(!rig.beat_as(stop).expect("registered").should_shut_down, "it leads, so the change comes first");
        assert_eq!(rig.partition(topic, 0).leader, NO_LEADER, "ELR {elr}");
        let stop = BrokerHeartbeat { want_shutdown: true, ..rig.heartbeat(1) };
        assert!(rig.beat_as(stop).expect("registered").should_shut_down);
        rig.register(1, 2, previous).expect("it was released");
        rig.beat(1);
        let after = rig.partition(topic, 0);
        assert_eq!((after.leader, &after.isr, after.recovery), (1, &vec![1], Recovery::Recovered), "ELR {elr}");
        assert!(after.leader_epoch > before.leader_epoch, "ELR {elr}: {} is no new epoch", after.leader_epoch);
    }
}

//@ KIP-966: the sole last known leader comes back from an unclean stop, and is known to recover.
#[test]
fn a_sole_replica_leads_again_after_a_crash_with_a_new_epoch() {
    for (elr, recovery) in [(false, Recovery::Recovered), (true, Recovery::Recovering)] {
        let mut rig = Rig::with_brokers(elr, &[1], &[]);
        let topic = rig.topic("t", &[&[1]]);
        let crash = crate::controller::RegisterBroker { in_process: true, ..rig.registration(1, 2, -1) };
        rig.register_as(crash).expect("its former life is over");
        let gone = rig.partition(topic, 0);
        assert_eq!((gone.leader, gone.isr), (NO_LEADER, if elr { vec![] } else { vec![1] }), "ELR {elr}");
        rig.beat(1);
        let back = rig.partition(topic, 0);
        assert_eq!((back.leader, &back.isr, back.recovery), (1, &vec![1], recovery), "ELR {elr}");
        assert_eq!(back.leader_epoch, 2);
    }
}

//@ KIP-966: a broker that stopped uncleanly leaves every ISR and ELR.
#[test]
fn a_crashed_follower_leaves_the_isr_when_it_registers_again() {
    let mut rig = Rig::with_brokers(true, &[1, 2, 3], &[]);
    let topic = rig.topic("t", &[&[1, 2, 3]]);
    let crash = crate::controller::RegisterBroker { in_process: true, ..rig.registration(2, 2, -1) };
    rig.register_as(crash).expect("its former life is over");
    assert_eq!(rig.partition(topic, 0).isr, [1, 3]);
}

#[test]
fn an_orderly_stop_hands_over_and_waits_until_all_know() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    let topic = rig.topic("t", &[&[1, 2, 3]]);
    let known = rig.image.index();
    let stop = |rig: &Rig| BrokerHeartbeat { want_shutdown: true, ..rig.heartbeat(1) };
    let reply = rig.beat_as(stop(&rig)).expect("registered");
    assert_eq!((reply.should_shut_down, reply.is_fenced), (false, false));
    let moved = rig.partition(topic, 0);
    assert_eq!((moved.leader, moved.isr), (2, vec![2, 3]));
    for id in [2, 3] {
        let behind = BrokerHeartbeat { metadata_index: known, ..rig.heartbeat(id) };
        rig.beat_as(behind).expect("registered");
    }
    assert!(!rig.beat_as(stop(&rig)).expect("registered").should_shut_down, "2 and 3 have not applied the change");
    rig.beat(2);
    rig.beat(3);
    let reply = rig.beat_as(stop(&rig)).expect("registered");
    assert_eq!((reply.should_shut_down, reply.is_fenced), (true, true));
}

#[test]
fn alter_partition_puts_the_isr_that_the_leader_asks_for() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    let topic = rig.topic("t", &[&[1, 2, 3]]);
    let shrunk = rig.ask_isr(topic, 0, &[1, 2]).expect("2 is alive");
    assert_eq!((shrunk.isr, shrunk.partition_epoch, shrunk.leader_epoch), (vec![1, 2], 1, 0));
    let grown = rig.ask_isr(topic, 0, &[1, 2, 3]).expect("3 is alive");
    assert_eq!((grown.isr, grown.partition_epoch), (vec![1, 2, 3], 2));
    let same = rig.ask_isr(topic, 0, &[1, 2, 3]).expect("nothing changes");
    assert_eq!(same.partition_epoch, 2);
}

#[test]
fn alter_partition_is_refused_as_in_kafka() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    let topic = rig.topic("t", &[&[1, 2, 3]]);
    let good = rig.isr_change(topic, 0, &[1, 2]);
    let (leader_epoch, partition_epoch) = (good.leader_epoch, good.partition_epoch);
    let cases: Vec<(i16, i32, IsrChange)> = vec![
        (100, 1, IsrChange { topic: Uuid([77; 16]), ..good.clone() }),
        (3, 1, IsrChange { index: 5, ..good.clone() }),
        (41, 1, IsrChange { leader_epoch: leader_epoch + 1, ..good.clone() }),
        (41, 1, IsrChange { partition_epoch: partition_epoch + 1, ..good.clone() }),
        (74, 1, IsrChange { leader_epoch: leader_epoch - 1, ..good.clone() }),
        (95, 1, IsrChange { partition_epoch: partition_epoch - 1, ..good.clone() }),
        (42, 2, good.clone()),
        (42, 1, IsrChange { isr: vec![(1, -1), (9, -1)], ..good.clone() }),
        (42, 1, IsrChange { isr: vec![(2, -1)], ..good.clone() }),
        (42, 1, IsrChange { isr: vec![(1, -1), (1, -1)], ..good.clone() }),
        (42, 1, IsrChange { isr: vec![], ..good.clone() }),
        (42, 1, IsrChange { recovery: 1, ..good.clone() }),
        (42, 1, IsrChange { recovery: 7, ..good.clone() }),
        (107, 1, IsrChange { isr: vec![(1, -1), (2, 1)], ..good.clone() }),
    ];
    for (code, sender, change) in cases {
        let refused = rig.alter(sender, change.clone());
        assert_eq!(refused.map_err(|error| error.code()), Err(code), "{change:?}");
    }
    rig.fence(3);
    assert_eq!(rig.ask_isr(topic, 0, &[1, 2, 3]), Err(107), "3 is fenced");
    let stale = Request::AlterPartition(crate::controller::AlterPartition {
        broker: 1,
        broker_epoch: 0,
        partitions: vec![good],
    });
    let Response::AlterPartition(Err(error)) = rig.ask(stale) else { panic!("the broker's epoch is stale") };
    assert_eq!(error.code(), 77);
}

#[test]
fn an_unclean_election_waits_for_the_topics_leave() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let safe = rig.topic("safe", &[&[1, 2]]);
    let allowed = with_configs(by_hand("risky", &[&[1, 2]]), &[("unclean.leader.election.enable", Some("true"))]);
    rig.create(&[allowed]);
    let risky = rig.image.topic("risky").expect("created").id;
    for topic in [safe, risky] {
        rig.ask_isr(topic, 0, &[1]).expect("2 falls behind");
    }
    rig.fence(1);
    assert_eq!((rig.partition(safe, 0).leader, rig.partition(safe, 0).isr), (NO_LEADER, vec![1]));
    let risked = rig.partition(risky, 0);
    assert_eq!((risked.leader, risked.isr, risked.recovery), (2, vec![2], Recovery::Recovering));
    let elect = |rig: &mut Rig, unclean| match rig.ask(Request::ElectLeaders { unclean, partitions: None }) {
        Response::ElectLeaders(rows) => {
            rows.into_iter().map(|(topic, index, result)| (topic, index, result.is_ok())).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(elect(&mut rig, true), [("safe".to_owned(), 0, true)]);
    assert_eq!(rig.partition(safe, 0).leader, 2);
}

#[test]
fn leaderships_go_back_to_preferred_replicas_by_themselves() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[("leader.imbalance.check.interval.seconds", "20")]);
    let topic = rig.topic("t", &[&[1, 2]]);
    rig.fence(1);
    assert_eq!(rig.partition(topic, 0).leader, 2);
    rig.beat(1);
    rig.ask_isr(topic, 0, &[2, 1]).expect("1 has caught up");
    assert_eq!(rig.partition(topic, 0).leader, 2);
    rig.pass(21_000, &[1, 2]);
    assert_eq!(rig.partition(topic, 0).leader, 1);
}

#[test]
fn elect_leaders_says_what_was_not_possible() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.topic("t", &[&[1, 2]]);
    let elect = |rig: &mut Rig, unclean, topic: &str| {
        let partitions = Some(vec![(topic.to_owned(), 0)]);
        match rig.ask(Request::ElectLeaders { unclean, partitions }) {
            Response::ElectLeaders(mut rows) => rows.remove(0).2.map_err(|error| error.code()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(elect(&mut rig, false, "t"), Err(84));
    assert_eq!(elect(&mut rig, true, "t"), Err(84));
    assert_eq!(elect(&mut rig, false, "none"), Err(3));
    rig.fence(1);
    assert_eq!(elect(&mut rig, false, "t"), Err(80));
    rig.fence(2);
    assert_eq!(elect(&mut rig, true, "t"), Err(83));
}

#[test]
fn an_unregistered_broker_is_in_no_isr() {
    let mut rig = Rig::with_brokers(true, &[1, 2], &[]);
    let topic = rig.topic("t", &[&[1, 2]]);
    let unregister = |rig: &mut Rig, id| match rig.ask(Request::UnregisterBroker { id }) {
        Response::UnregisterBroker(result) => result.map_err(|error| error.code()),
        other => panic!("{other:?}"),
    };
    assert_eq!(unregister(&mut rig, 1), Ok(()));
    assert_eq!((rig.partition(topic, 0).leader, rig.partition(topic, 0).isr), (2, vec![2]));
    assert_eq!(unregister(&mut rig, 1), Err(102));
}

#[test]
fn a_failed_directory_costs_the_leaderships_in_it_only() {
    let mut rig = Rig::new(false, &[]);
    for id in [1, 2] {
        let mut request = rig.registration(id, 1, -1);
        request.broker.log_dirs.push(Uuid([110 + u8::try_from(id).unwrap(); 16]));
        rig.register_as(request).expect("a new broker");
        rig.beat(id);
    }
    let topic = rig.topic("t", &[&[1, 2], &[1, 2]]);
    let assign = |rig: &mut Rig, index, dir| {
        let assignments = vec![DirAssignment { dir: Uuid([dir; 16]), topic, index }];
        let request = Request::AssignReplicasToDirs { broker: 1, broker_epoch: rig.epoch(1), assignments };
        match rig.ask(request) {
            Response::AssignReplicasToDirs(Ok(rows)) => rows[0].1.map_err(|error| error.code()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rig.partition(topic, 0).directory(1), Some(Directories::UNASSIGNED), "the broker chooses");
    assert_eq!(assign(&mut rig, 0, 101), Ok(()));
    assert_eq!(assign(&mut rig, 1, 111), Ok(()));
    assert_eq!(assign(&mut rig, 9, 111), Err(3));
    assert_eq!(rig.partition(topic, 0).directory(1), Some(Uuid([101; 16])));
    let failed = BrokerHeartbeat { offline_dirs: vec![Uuid([101; 16])], ..rig.heartbeat(1) };
    rig.beat_as(failed).expect("registered");
    assert_eq!(rig.image.broker(1).map(|broker| broker.log_dirs.clone()), Some(vec![Uuid([111; 16])]));
    assert_eq!((rig.partition(topic, 0).leader, rig.partition(topic, 1).leader), (2, 1));
    // With one directory left, new replicas are in it, and it can fail too.
    let created = rig.create(&[by_hand("u", &[&[1, 2]])]);
    assert!(created[0].1.is_ok());
    let other = rig.image.topic("u").expect("created").id;
    assert_eq!(rig.partition(other, 0).directory(1), Some(Uuid([111; 16])));
    let failed = BrokerHeartbeat { offline_dirs: vec![Uuid([111; 16])], ..rig.heartbeat(1) };
    rig.beat_as(failed).expect("registered");
    assert_eq!((rig.partition(other, 0).leader, rig.partition(other, 0).isr), (2, vec![2]));
    assert_eq!(rig.create(&[new_topic("v", 1, 2)])[0].1, Ok((1, 2)));
}
