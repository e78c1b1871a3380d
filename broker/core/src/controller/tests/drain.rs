//! A broker that an operator empties of leaderships.

use ballast_wire::{BrokerId, Uuid};

use super::rig::{Rig, by_hand};
use crate::controller::{ConfigChange, ConfigOp, DRAIN_LEADERS, Input, Request, Response};
use crate::image::ConfigResource;

fn alter(rig: &mut Rig, broker: BrokerId, op: ConfigOp) {
    let value = (op == ConfigOp::Set).then(|| "true".to_owned());
    let change = ConfigChange { key: DRAIN_LEADERS.to_owned(), op, value };
    let resources = vec![(ConfigResource::broker(broker), vec![change])];
    match rig.ask(Request::IncrementalAlterConfigs { resources, validate_only: false }) {
        Response::AlterConfigs(rows) => assert_eq!(rows[0].1, Ok(())),
        other => panic!("{other:?}"),
    }
    // What was asked for is due at once.
    rig.step(Input::Timer);
    rig.commit();
}

fn leaders(rig: &Rig, topic: Uuid) -> Vec<BrokerId> {
    rig.image.topic_by_id(topic).expect("it was created").partitions().map(|(_, state)| state.leader).collect()
}

fn three() -> Rig {
    Rig::with_brokers(false, &[1, 2, 3], &[("leader.imbalance.check.interval.seconds", "20")])
}

#[test]
fn a_drained_broker_leads_nothing_that_another_can_lead() {
    let mut rig = three();
    let topic = rig.topic("t", &[&[1, 2], &[2, 1], &[3, 1], &[1, 3]]);
    let alone = rig.topic("alone", &[&[1]]);
    alter(&mut rig, 1, ConfigOp::Set);
    assert_eq!(leaders(&rig, topic), [2, 2, 3, 3]);
    assert_eq!(leaders(&rig, alone), [1], "emptying costs no availability");
    assert_eq!(rig.partition(topic, 0).isr, [1, 2], "it follows, in sync");
}

#[test]
fn balancing_gives_nothing_back_until_the_drain_ends() {
    let mut rig = three();
    let topic = rig.topic("t", &[&[1, 2]]);
    alter(&mut rig, 1, ConfigOp::Set);
    rig.pass(60_000, &[1, 2, 3]);
    assert_eq!(leaders(&rig, topic), [2]);
    let preferred = Request::ElectLeaders { unclean: false, partitions: Some(vec![("t".to_owned(), 0)]) };
    match rig.ask(preferred) {
        Response::ElectLeaders(rows) => assert_eq!(rows[0].2.clone().map_err(|error| error.code()), Err(80)),
        other => panic!("{other:?}"),
    }
    alter(&mut rig, 1, ConfigOp::Delete);
    assert_eq!(leaders(&rig, topic), [2], "that is for the next balancing to do");
    rig.pass(21_000, &[1, 2, 3]);
    assert_eq!(leaders(&rig, topic), [1]);
}

#[test]
fn a_drain_ends_with_the_life_of_the_broker() {
    let mut rig = three();
    rig.topic("t", &[&[1, 2]]);
    alter(&mut rig, 1, ConfigOp::Set);
    rig.fence(1);
    assert!(rig.image.configs(&ConfigResource::broker(1)).is_some(), "fenced is not over");
    rig.pass(10_000, &[2, 3]);
    rig.register(1, 2, -1).expect("a new life");
    assert_eq!(rig.image.configs(&ConfigResource::broker(1)), None);
}

#[test]
fn a_drained_broker_leads_again_when_it_is_the_last() {
    let mut rig = three();
    let topic = rig.topic("t", &[&[1, 2]]);
    alter(&mut rig, 1, ConfigOp::Set);
    rig.fence(2);
    assert_eq!(leaders(&rig, topic), [1]);
    // As soon as another is in sync it takes over.
    rig.beat(2);
    assert_eq!(rig.ask_isr(topic, 0, &[1, 2]), Err(108), "the change was made, and another leads");
    assert_eq!(leaders(&rig, topic), [2]);
}

#[test]
fn new_partitions_begin_on_others_and_a_new_controller_goes_on() {
    let mut rig = three();
    alter(&mut rig, 1, ConfigOp::Set);
    let created = rig.create(&[by_hand("t", &[&[1, 2]])]);
    assert!(created[0].1.is_ok(), "{created:?}");
    let topic = rig.image.topic("t").expect("it was created").id;
    assert_eq!(leaders(&rig, topic), [2]);

    let many: Vec<&[BrokerId]> = vec![&[3, 2]; 1_200];
    let topic = rig.topic("many", &many);
    alter(&mut rig, 3, ConfigOp::Set);
    let left = |rig: &Rig| leaders(rig, topic).iter().filter(|leader| **leader == 3).count();
    assert_eq!(left(&rig), 200, "a thousand in a pass");
    rig.step(Input::StepDown);
    rig.step(Input::Lead { image: rig.image.clone(), deposed: None });
    rig.commit();
    rig.step(Input::Timer);
    rig.commit();
    assert_eq!(left(&rig), 0);
}
