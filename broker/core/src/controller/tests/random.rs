//! Anything may happen to a cluster, in any order: what always holds.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, NO_LEADER, PartitionEpoch, PartitionIndex, Uuid};
use proptest::prelude::*;

use super::rig::{Rig, new_topic};
use crate::controller::{BrokerHeartbeat, RegisterBroker, Request, TopicRef};
use crate::image::{Image, decode_records, encode_records};

#[derive(Clone, Debug)]
enum Op {
    Beat(BrokerId),
    Fence(BrokerId),
    Stop(BrokerId),
    Crash(BrokerId),
    Silence(BrokerId),
    Create(i16),
    Delete(usize),
    Isr(usize, u8),
    Elect(bool),
    NewController,
}

fn op() -> impl Strategy<Value = Op> {
    let id = || 1..=4i32;
    prop_oneof![
        4 => id().prop_map(Op::Beat),
        1 => id().prop_map(Op::Fence),
        2 => id().prop_map(Op::Stop),
        2 => id().prop_map(Op::Crash),
        1 => id().prop_map(Op::Silence),
        2 => (1..=3i16).prop_map(Op::Create),
        1 => (0..4usize).prop_map(Op::Delete),
        4 => (0..8usize, any::<u8>()).prop_map(|(at, members)| Op::Isr(at, members)),
        1 => any::<bool>().prop_map(Op::Elect),
        1 => Just(Op::NewController),
    ]
}

struct World {
    rig: Rig,
    lives: BTreeMap<BrokerId, u8>,
    seen: BTreeMap<(Uuid, PartitionIndex), (i32, PartitionEpoch)>,
    topics: usize,
}

impl World {
    fn new(elr: bool) -> World {
        let rig = Rig::with_brokers(elr, &[1, 2, 3, 4], &[("min.insync.replicas", "2"), ("num.partitions", "2")]);
        World { rig, lives: BTreeMap::new(), seen: BTreeMap::new(), topics: 0 }
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Beat(id) => drop(self.rig.beat_as(self.rig.heartbeat(id))),
            Op::Fence(id) => self.beat(BrokerHeartbeat { want_fence: true, ..self.rig.heartbeat(id) }),
            Op::Stop(id) => self.beat(BrokerHeartbeat { want_shutdown: true, ..self.rig.heartbeat(id) }),
            Op::Crash(id) => {
                let life = self.lives.entry(id).or_insert(1);
                *life = life.wrapping_add(1);
                let request = RegisterBroker { in_process: true, ..self.rig.registration(id, *life, -1) };
                self.rig.register_as(request).expect("its former life is over");
            }
            Op::Silence(id) => {
                let others: Vec<BrokerId> = (1..=4).filter(|other| *other != id).collect();
                self.rig.pass(9_000, &others);
            }
            Op::Create(factor) => {
                self.topics += 1;
                let name = format!("t{}", self.topics);
                self.rig.create(&[new_topic(&name, -1, factor)]);
            }
            Op::Delete(at) => {
                let topics = self.rig.image.topics().nth(at).map(|topic| topic.id);
                let topics = topics.map(|id| TopicRef { name: None, id }).into_iter().collect();
                self.rig.ask(Request::DeleteTopics { topics, timeout_ms: 1 });
            }
            Op::Isr(at, members) => self.change_isr(at, members),
            Op::Elect(unclean) => drop(self.rig.ask(Request::ElectLeaders { unclean, partitions: None })),
            Op::NewController => {
                self.rig.step(crate::controller::Input::StepDown);
                self.rig.step(crate::controller::Input::Lead { image: self.rig.image.clone(), deposed: None });
                self.rig.commit();
            }
        }
    }

    fn beat(&mut self, beat: BrokerHeartbeat) {
        self.rig.beat_as(beat).expect("every broker is registered");
    }

    fn change_isr(&mut self, at: usize, members: u8) {
        let topics = self.rig.image.topics();
        let found =
            topics.flat_map(|topic| topic.partitions().map(|(index, state)| (topic.id, index, state.clone()))).nth(at);
        let Some((topic, index, state)) = found.filter(|(_, _, state)| state.has_leader()) else { return };
        let wanted = |broker: &BrokerId| *broker == state.leader || members & (1 << broker) != 0;
        let isr: Vec<BrokerId> = state.replicas.iter().copied().filter(wanted).collect();
        let _ = self.rig.ask_isr(topic, index, &isr);
    }

    fn check(&mut self) {
        let image = self.rig.image.clone();
        let active = |id: BrokerId| image.broker(id).is_some_and(|broker| broker.is_active());
        for topic in image.topics() {
            for (index, state) in topic.partitions() {
                let what = format!("{}-{index}: {state:?}", topic.name);
                assert!(state.leader == NO_LEADER || active(state.leader), "an inactive broker leads {what}");
                assert!(
                    !state.has_leader() || state.isr.iter().all(|id| active(*id)),
                    "an inactive broker is in sync in {what}"
                );
                let (leader_epoch, partition_epoch) = self.seen.get(&(topic.id, index)).copied().unwrap_or_default();
                assert!(state.leader_epoch >= leader_epoch, "the leader epoch was {leader_epoch} in {what}");
                assert!(
                    state.partition_epoch >= partition_epoch,
                    "the partition epoch was {partition_epoch} in {what}"
                );
                self.seen.insert((topic.id, index), (state.leader_epoch, state.partition_epoch));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_inactive_broker_leads_and_no_epoch_ever_falls(elr in any::<bool>(), ops in prop::collection::vec(op(), 1..60)) {
        let mut world = World::new(elr);
        for op in &ops {
            world.run(op);
            world.check();
        }
        let mut replayed = Image::default();
        for (index, records) in &world.rig.log {
            let read = decode_records(&encode_records(records)).expect("what was proposed can be read");
            replayed.apply(*index, &read);
        }
        prop_assert_eq!(replayed.records(), world.rig.image.records());
    }
}
