//! The whole of a run: brokers, controllers, the network between them, and the clock.
//!
//! Read next: `deliver` (messages come in), `drive` (machines are fed and obeyed), `faults`, `history` (what must hold).

use ballast_wire::{BrokerId, Offset};

use super::broker::{Broker, Role, incarnation};
use super::history::History;
use super::network::{Envelope, Life, Message, Network};
use super::plan::Plan;
use super::quorum::Quorum;
use super::random::Random;
use crate::image::Partition;
use crate::machine::{Machine as _, Tick};
use crate::replica::{AcksAll, Input as LeaderInput, follower};

pub(super) const BROKERS: [BrokerId; 3] = [1, 2, 3];
pub(super) const SESSION_MS: Tick = 800;
pub(super) const HEARTBEAT_MS: Tick = 150;
/// `replica.lag.time.max.ms`; longer than any message lives.
pub(super) const LAG_MAX_MS: Tick = 500;
pub(super) const FETCH_BACKOFF_MS: Tick = 50;

pub(super) struct World {
    pub(super) now: Tick,
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) network: Network,
    pub(super) quorum: Quorum,
    pub(super) brokers: Vec<Broker>,
    pub(super) history: History,
    pub(super) next_value: u64,
    pub(super) next_call: u64,
    /// Print every event.
    pub(super) traced: bool,
}

impl World {
    /// Three brokers that start, and one partition on all of them.
    pub(super) fn new(plan: Plan, random: Random, traced: bool) -> World {
        let quorum = Quorum::new(&plan, SESSION_MS, HEARTBEAT_MS);
        let brokers = BROKERS.iter().map(|id| Broker::new(*id)).collect();
        let mut world = World {
            now: 0,
            random,
            network: Network::default(),
            quorum,
            brokers,
            history: History::default(),
            next_value: 1,
            next_call: 0,
            traced,
            plan,
        };
        for at in 0..world.brokers.len() {
            world.brokers[at].start(0);
        }
        world
    }

    pub(super) fn trace(&self, event: impl FnOnce() -> String) {
        if self.traced {
            eprintln!("{:>6} {}", self.now, event());
        }
    }

    pub(super) fn send(&mut self, from: BrokerId, to: BrokerId, life: Life, message: Message) {
        self.network.send(Envelope { from, to, life, sent_at: self.now, message });
    }

    pub(super) fn at(id: BrokerId) -> usize {
        usize::try_from(id - 1).expect("brokers count from 1")
    }

    /// Something happens: most of the time a message comes in.
    pub(super) fn step(&mut self) {
        match self.random.below(100) {
            0..62 => self.deliver_one(),
            62..72 => self.commit(),
            72..84 => {
                let ms = 1 + self.random.below(30);
                self.pass(ms);
            }
            84..92 => self.produce_somewhere(),
            92..95 => self.sync_somewhere(),
            _ => self.fault(),
        }
        self.check_isr();
    }

    /// The controllers' log takes in what is proposed.
    pub(super) fn commit(&mut self) {
        let before = self.quorum.partition().map(|partition| partition.partition_epoch);
        self.quorum.commit(self.now);
        if let Some(now) = self.quorum.partition().filter(|now| Some(now.partition_epoch) != before) {
            let Partition { leader, leader_epoch, partition_epoch, isr, elr, last_known_elr, .. } = now;
            self.trace(|| {
                format!("partition epoch {partition_epoch}: {leader} leads in epoch {leader_epoch}, ISR {isr:?}, ELR {elr:?}, last known {last_known_elr:?}")
            });
        }
        self.publish();
    }

    pub(super) fn deliver_one(&mut self) {
        if let Some(envelope) = self.network.take(&mut self.random, &self.plan, self.now) {
            self.deliver(envelope);
        }
    }

    /// Sends the answers of the controllers, and sometimes the newest metadata.
    pub(super) fn publish(&mut self) {
        for (caller, response) in std::mem::take(&mut self.quorum.answers) {
            let message = Message::Response { call: caller.call, response: Box::new(response) };
            self.send(super::network::QUORUM, caller.broker, caller.life, message);
        }
        for at in 0..self.brokers.len() {
            let broker = &self.brokers[at];
            let behind = broker.image.as_ref().is_none_or(|image| image.index() < self.quorum.image.index());
            if broker.up && behind && self.random.chance(self.plan.metadata) {
                let (to, life) = (broker.id, broker.life);
                let message = Message::Metadata(Box::new(self.quorum.image.clone()));
                self.send(super::network::QUORUM, to, life, message);
            }
        }
    }

    /// Time passes, and timers fire.
    pub(super) fn pass(&mut self, ms: Tick) {
        self.now += ms;
        self.quorum.timer(self.now);
        self.publish();
        for at in 0..self.brokers.len() {
            if self.brokers[at].up {
                self.broker_timers(at);
            }
        }
        if self.quorum.topic_id().is_none() && self.quorum.image.brokers().filter(|broker| !broker.fenced).count() == 3
        {
            self.quorum.create_topic(self.now, &BROKERS);
        }
    }

    /// A client writes a record to a broker that believes that it leads.
    pub(super) fn produce_somewhere(&mut self) {
        let leads = |at: &usize| matches!(self.brokers[*at].role, Role::Leader(_));
        let leaders: Vec<usize> = (0..self.brokers.len()).filter(leads).collect();
        if !leaders.is_empty() {
            let at = self.random.index(leaders.len());
            self.produce(leaders[at]);
        }
    }

    pub(super) fn produce(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let Role::Leader(leader) = &mut broker.role else { return };
        let all = !leader.is_under_min_isr();
        let epoch = leader.leader_epoch();
        let value = self.next_value;
        self.next_value += 1;
        broker.log.append(super::log::Record { epoch, value });
        let end = broker.log.end();
        if all {
            broker.waits.push(super::broker::Wait { end, value });
        }
        let id = broker.id;
        self.trace(|| format!("broker {id} appends {value} at {} in epoch {epoch}", end - 1));
        self.step_leader(at, LeaderInput::Appended { end });
        if self.plan.durable {
            self.schedule_work(at);
        }
    }

    /// A log is synced in the background.
    fn sync_somewhere(&mut self) {
        let at = self.random.index(self.brokers.len());
        let broker = &mut self.brokers[at];
        if !broker.up || !broker.work.is_empty() {
            return;
        }
        broker.log.sync();
        let (state, high) = (broker.log.state(), broker.high());
        if self.random.chance(500) {
            broker.high_checkpoint = high;
        }
        match &broker.role {
            Role::Leader(_) => self.step_leader(at, LeaderInput::Synced { end: state.synced }),
            Role::Follower(_) => self.step_follower(at, follower::Input::LogMoved(state)),
            Role::Idle => {}
        }
    }

    /// Answers the produces that are committed.
    pub(super) fn acknowledge(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let Role::Leader(leader) = &broker.role else { return };
        leader.check();
        let (history, leader) = (&mut self.history, &**leader);
        broker.waits.retain(|wait| match leader.acks_all(wait.end) {
            AcksAll::Waiting => true,
            AcksAll::Done => {
                history.acked(wait.end - 1, wait.value);
                false
            }
            AcksAll::TooFewReplicas => false,
        });
    }

    /// C12: whoever is in the ISR, or eligible to lead, has everything committed; at D2 on disk. A broker that lost power is
    /// excused until it registers: that is when it leaves both.
    pub(super) fn check_isr(&mut self) {
        let Some(partition) = self.quorum.partition() else { return };
        if !partition.elr.is_empty() {
            self.history.saw("somebody out of sync is eligible");
        }
        let members: Vec<BrokerId> = partition.isr.iter().chain(&partition.elr).copied().collect();
        for id in members {
            let broker = &self.brokers[World::at(id)];
            let excused = broker.unclean == super::broker::Unclean::LostPower && !self.is_registered(broker);
            if excused {
                continue;
            }
            let end: Offset = if self.plan.durable { broker.log.synced() } else { broker.log.end() };
            self.history.holds_last(&format!("broker {id}, in sync or eligible,"), &broker.log, end);
        }
    }

    /// Does the committed metadata know this life of the broker?
    pub(super) fn is_registered(&self, broker: &Broker) -> bool {
        let registered = self.quorum.image.broker(broker.id);
        broker.up && registered.is_some_and(|known| known.incarnation == incarnation(broker.id, broker.life))
    }
}
