//! Activation, proposals, parked answers, stepping down.

use super::rig::{Rig, controller, new_topic};
use crate::controller::{
    AlterPartition, BrokerHeartbeat, Effect, Input, IsrChange, Refusal, Request, Response, TopicError,
};
use crate::image::{ConfigResource, FEATURE_ELR, Image, Record};
use crate::machine::Machine as _;

fn create(name: &str) -> Request {
    Request::CreateTopics { topics: vec![new_topic(name, 1, 1)], validate_only: false, timeout_ms: 1_000 }
}

#[test]
fn a_new_cluster_begins_with_an_id_and_its_features() {
    let rig = Rig::new(true, &[("min.insync.replicas", "2")]);
    assert!(rig.image.cluster_id().is_some());
    assert_eq!(rig.image.feature(FEATURE_ELR), 1);
    assert_eq!(rig.image.controller().map(|controller| (controller.node, controller.epoch)), Some((1, 10)));
    let cluster = rig.image.configs(&ConfigResource::cluster()).expect("with ELR the minimum is the cluster's");
    assert_eq!(cluster.get("min.insync.replicas").map(String::as_str), Some("2"));
}

#[test]
fn a_later_controller_keeps_the_cluster_id() {
    let mut rig = Rig::new(false, &[]);
    let id = rig.image.cluster_id();
    rig.step(Input::StepDown);
    rig.step(Input::Lead { image: rig.image.clone(), deposed: None });
    assert!(matches!(
        rig.open.as_ref().map(|(_, records)| records.as_slice()),
        Some([Record::ControllerActivated { .. }])
    ));
    rig.commit();
    assert_eq!((rig.image.cluster_id(), rig.controller.epoch()), (id, Some(11)));
}

#[test]
fn a_passive_controller_refuses_and_an_activating_one_lets_wait() {
    let mut machine = controller(false, &[]);
    let mut effects = Vec::new();
    machine.step(0, Input::Request { id: 1, request: create("a") }, &mut effects);
    let refused = Response::Refused(Refusal::NotController);
    assert_eq!(effects, [Effect::Respond { to: 1, response: refused.clone() }]);
    effects.clear();
    machine.step(0, Input::Lead { image: Image::default(), deposed: None }, &mut effects);
    effects.clear();
    machine.step(0, Input::Request { id: 2, request: create("a") }, &mut effects);
    assert_eq!(effects, [], "it waits for the activation");
    machine.step(0, Input::StepDown, &mut effects);
    assert_eq!(effects, [Effect::Respond { to: 2, response: refused }]);
}

#[test]
fn an_answer_waits_for_the_commit_of_what_it_rests_on() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let first = rig.send(create("a"));
    assert_eq!(rig.answer(first), None, "nothing is committed yet");
    let again = rig.send(create("a"));
    assert_eq!(rig.answer(again), None, "that it exists rests on the same batch");
    rig.commit();
    assert!(rig.answer(first).is_some());
    let Some(Response::CreateTopics(rows)) = rig.answer(again) else { panic!("no answer") };
    assert_eq!(rows[0].1.as_ref().map_err(TopicError::code).err(), Some(36));
}

#[test]
fn what_is_decided_while_a_proposal_is_open_becomes_the_next_one() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let ids = ["a", "b", "c"].map(|name| rig.send(create(name)));
    let (proposal, records) = rig.open.take().expect("the first is proposed at once");
    let names = |records: &[Record]| -> Vec<String> {
        let topic = |record: &Record| match record {
            Record::Topic { name, .. } => Some(name.clone()),
            _ => None,
        };
        records.iter().filter_map(topic).collect()
    };
    assert_eq!(names(&records), ["a"]);
    rig.image.apply(rig.index, &records);
    let (index, image) = (rig.index, rig.image.clone());
    rig.index += 1;
    rig.step(Input::Committed { proposal, index, image });
    assert!(rig.answer(ids[0]).is_some() && rig.answer(ids[1]).is_none());
    assert_eq!(rig.open.as_ref().map(|(_, records)| names(records)), Some(vec!["b".to_owned(), "c".to_owned()]));
    rig.commit();
    assert!(rig.answer(ids[1]).is_some() && rig.answer(ids[2]).is_some());
}

#[test]
fn stepping_down_drops_what_is_not_committed_and_answers_everybody() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let ids = ["a", "b"].map(|name| rig.send(create(name)));
    let (lost, _) = rig.open.take().expect("it is proposed");
    rig.step(Input::StepDown);
    for id in ids {
        assert_eq!(rig.answer(id), Some(Response::Refused(Refusal::NotController)));
    }
    rig.step(Input::Committed { proposal: lost, index: 99, image: rig.image.clone() });
    assert_eq!(rig.controller.epoch(), None, "a commit of an earlier term activates nobody");
    rig.step(Input::Lead { image: rig.image.clone(), deposed: None });
    rig.commit();
    assert!(rig.image.topic("a").is_none());
    let again = rig.ask(create("a"));
    let Response::CreateTopics(rows) = again else { panic!("no answer") };
    assert!(rows[0].1.is_ok(), "the dropped topic does not exist for the next term");
}

#[test]
fn an_isr_that_is_on_its_way_to_the_log_is_lost_and_one_that_waits_is_not() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    rig.create(&[new_topic("a", 2, 3)]);
    let ids = [0, 1].map(|index| {
        let topic = rig.image.topic("a").expect("it was made");
        let partition = topic.partition(index).expect("it has two").clone();
        let isr = vec![(partition.leader, rig.epoch(partition.leader))];
        let change = IsrChange {
            topic: topic.id,
            index,
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            isr,
            recovery: 0,
        };
        let (broker, broker_epoch) = (partition.leader, rig.epoch(partition.leader));
        rig.send(Request::AlterPartition(AlterPartition { broker, broker_epoch, partitions: vec![change] }))
    });
    rig.step(Input::StepDown);
    assert_eq!(rig.answer(ids[0]), Some(Response::Refused(Refusal::Lost)), "it may be committed yet");
    assert_eq!(rig.answer(ids[1]), Some(Response::Refused(Refusal::NotController)), "it was never proposed");
}

#[test]
fn a_heartbeat_that_changes_nothing_waits_for_no_log() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.send(create("a"));
    let beat = BrokerHeartbeat { id: 1, epoch: rig.epoch(1), metadata_index: 0, ..BrokerHeartbeat::default() };
    let id = rig.send(Request::BrokerHeartbeat(beat));
    assert!(matches!(rig.answer(id), Some(Response::BrokerHeartbeat(Ok(_)))));
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let before = rig.image.index();
    let rows = rig.create_as(&[new_topic("a", 3, 1)], true);
    assert_eq!(rows, [("a".to_owned(), Ok((3, 1)))]);
    assert_eq!((rig.image.index(), rig.image.topic("a")), (before, None));
    assert_eq!(rig.create(&[new_topic("a", 3, 1)])[0].1, Ok((3, 1)), "it does not exist");
}

#[test]
fn producer_ids_are_given_out_once() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let block =
        |rig: &mut Rig, broker, broker_epoch| match rig.ask(Request::AllocateProducerIds { broker, broker_epoch }) {
            Response::AllocateProducerIds(block) => block.map(|ids| (ids.first, ids.len)).map_err(|error| error.code()),
            other => panic!("{other:?}"),
        };
    let (one, two) = (rig.epoch(1), rig.epoch(2));
    assert_eq!(block(&mut rig, 1, one), Ok((0, 1_000)));
    assert_eq!(block(&mut rig, 2, two), Ok((1_000, 1_000)));
    assert_eq!(block(&mut rig, 1, one - 1), Err(77));
    assert_eq!(block(&mut rig, 9, 1), Err(77));
    rig.step(Input::StepDown);
    rig.step(Input::Lead { image: rig.image.clone(), deposed: None });
    rig.commit();
    assert_eq!(block(&mut rig, 1, one), Ok((2_000, 1_000)), "the next controller goes on behind");
}
