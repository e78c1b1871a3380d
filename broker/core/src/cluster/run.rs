//! One run: thousands of steps with faults, then everything is mended and has to come together again (C14).

use std::collections::BTreeMap;

use ballast_planted::{Bug, plant};

use super::broker::Role;
use super::history::History;
use super::plan::Plan;
use super::random::Random;
use super::world::{BROKERS, World};
use crate::image::Partition;

/// Steps with faults.
pub(super) const STEPS: usize = 6_000;

/// Calm steps before them, until somebody leads the partition.
const STEPS_TO_BEGIN_MAX: usize = 2_000;

/// What a run came to.
pub(super) struct Outcome {
    pub(super) violation: Option<String>,
    pub(super) plan: Plan,
    pub(super) acked: usize,
    pub(super) leader_epoch: i32,
    /// How often something happened that does not happen in every run.
    pub(super) seen: BTreeMap<&'static str, usize>,
}

/// Runs a seed, with a bug in it perhaps.
pub(super) fn run(seed: u64, planted: Option<Bug>, traced: bool) -> Outcome {
    let _planting = plant(planted);
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random);
    let mut world = World::new(plan.calm(), random, traced);
    for _ in 0..STEPS_TO_BEGIN_MAX {
        world.step();
        if world.quorum.partition().is_some_and(Partition::has_leader) {
            break;
        }
    }
    world.plan = plan.clone();
    for _ in 0..STEPS {
        world.step();
        if world.history.violation.is_some() {
            break;
        }
    }
    if world.history.violation.is_none() {
        world.heal();
    }
    let leader_epoch = world.quorum.partition().map_or(-1, |partition| partition.leader_epoch);
    let acked = world.history.acked_count();
    let History { violation, seen, .. } = world.history;
    Outcome { plan, acked, leader_epoch, violation, seen }
}

/// Rounds that a mended cluster has to come together; each passes 20 ms.
const ROUNDS: usize = 1_500;

impl World {
    /// Mends everything, and waits until every replica is in sync and has the same log.
    fn heal(&mut self) {
        self.trace(|| "everything is mended".to_owned());
        self.network.unblock_all();
        self.plan = self.plan.calm();
        let before = self.next_value;
        for round in 0..ROUNDS {
            for at in 0..self.brokers.len() {
                self.brokers[at].stops_at = None;
                if !self.brokers[at].up {
                    self.start(at);
                }
            }
            self.pass(20);
            for _ in 0..20 {
                self.commit();
                self.deliver_one();
                self.check_isr();
            }
            let written = self.history.last_acked().is_some_and(|value| value >= before);
            if !written && round % 20 == 0 {
                (0..self.brokers.len()).for_each(|at| self.produce(at));
            }
            if self.history.violation.is_some() || (written && self.is_whole()) {
                break;
            }
        }
        if self.history.violation.is_none() && !self.is_whole() {
            let ends: Vec<_> = self.brokers.iter().map(|broker| (broker.id, broker.log.end())).collect();
            let words = format!("C14: not whole after {ROUNDS} rounds: {:?}, logs {ends:?}", self.quorum.partition());
            self.history.fail(words);
        }
        for broker in &self.brokers {
            self.history.holds_all(&format!("C1: broker {}", broker.id), &broker.log);
        }
    }

    /// Is every replica in sync, in earnest?
    fn is_whole(&self) -> bool {
        let Some(partition) = self.quorum.partition() else { return false };
        let Some(leader) = self.brokers.iter().find(|broker| broker.id == partition.leader) else { return false };
        let leads = matches!(&leader.role, Role::Leader(machine) if machine.leader_epoch() == partition.leader_epoch
            && machine.high() == leader.log.end());
        let same = |id: i32| {
            let log = &self.brokers[World::at(id)].log;
            let from = log.start().max(leader.log.start());
            log.end() == leader.log.end() && (from..log.end()).all(|offset| log.at(offset) == leader.log.at(offset))
        };
        leads && partition.isr.len() == BROKERS.len() && BROKERS.into_iter().all(same)
    }
}
