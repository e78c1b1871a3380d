//! Machines are fed, and what they ask for is done: the part that `ballast-broker` plays in earnest.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Uuid};

use super::broker::{Call, Role, incarnation};
use super::network::{Message, QUORUM};
use super::quorum::FEATURE_RANGES;
use super::world::{FETCH_BACKOFF_MS, HEARTBEAT_MS, LAG_MAX_MS, World};
use crate::controller::{AlterPartition, BrokerHeartbeat, IsrChange, RegisterBroker, Request};
use crate::endpoint::{Endpoint, SecurityProtocol};
use crate::image::{Broker as Registered, FeatureRange, Image, Partition, Recovery};
use crate::machine::{Machine as _, Tick};
use crate::replica::follower::{self, Follower, FollowerConfig};
use crate::replica::{self, IsrRefusal, Leader, LeaderConfig, LeaderState};

/// A question without an answer is given up after this long.
const CALL_TIMEOUT_MS: Tick = 120;

impl World {
    pub(super) fn step_leader(&mut self, at: usize, input: replica::Input) {
        let broker = &mut self.brokers[at];
        let Role::Leader(leader) = &mut broker.role else { return };
        let mut effects = Vec::new();
        leader.step(self.now, input, &mut effects);
        let (id, epoch) = (broker.id, leader.leader_epoch());
        for effect in effects {
            match effect {
                replica::Effect::PublishHigh(high) => {
                    self.trace(|| format!("broker {id} leads in epoch {epoch}, watermark {high}"));
                    self.history.leader_shows(id, epoch, high, &self.brokers[at].log);
                }
                replica::Effect::ProposeIsr { isr, partition_epoch } => self.propose(at, isr, partition_epoch),
            }
        }
        self.acknowledge(at);
    }

    fn propose(&mut self, at: usize, isr: Vec<(BrokerId, i64)>, partition_epoch: i32) {
        let (broker, topic) = (&self.brokers[at], self.quorum.topic_id());
        let Role::Leader(leader) = &broker.role else { return };
        let (Some(topic), Some(broker_epoch)) = (topic, broker.broker_epoch) else { return };
        let leader_epoch = leader.leader_epoch();
        let change = IsrChange { topic, index: 0, leader_epoch, partition_epoch, isr, recovery: 0 };
        let request = AlterPartition { broker: broker.id, broker_epoch, partitions: vec![change] };
        self.call(at, Call::AlterPartition(partition_epoch), Request::AlterPartition(request));
    }

    pub(super) fn call(&mut self, at: usize, kind: Call, request: Request) {
        let call = self.next_call;
        self.next_call += 1;
        let broker = &mut self.brokers[at];
        broker.calls.push((call, kind, self.now + CALL_TIMEOUT_MS));
        let (id, life) = (broker.id, broker.life);
        self.trace(|| format!("broker {id} asks the controller: {request:?}"));
        self.send(id, QUORUM, life, Message::Request { call, request: Box::new(request) });
    }

    pub(super) fn step_follower(&mut self, at: usize, input: follower::Input) {
        let broker = &mut self.brokers[at];
        let Role::Follower(follower) = &mut broker.role else { return };
        let mut effects = Vec::new();
        let before = follower.high();
        follower.step(self.now, input, &mut effects);
        follower.check();
        let mut works = false;
        for effect in effects {
            match effect {
                follower::Effect::PublishHigh(high) => {
                    let (id, broker) = (self.brokers[at].id, &self.brokers[at]);
                    self.history.shown(id, before, high, &broker.log);
                }
                follower::Effect::AskEnds { ticket, leader, leader_epoch } => {
                    let broker = &mut self.brokers[at];
                    broker.asked = Some((ticket, self.now + CALL_TIMEOUT_MS));
                    let (id, life) = (broker.id, broker.life);
                    self.send(id, leader, life, Message::AskEnds { ticket, leader_epoch });
                }
                other => {
                    works = true;
                    self.brokers[at].work.push(other);
                }
            }
        }
        if works {
            self.schedule_work(at);
        }
        self.fetch(at);
    }

    pub(super) fn schedule_work(&mut self, at: usize) {
        let (id, life) = (self.brokers[at].id, self.brokers[at].life);
        self.send(id, id, life, Message::Work);
    }

    /// Asks the leader for more, unless it had nothing a moment ago.
    fn fetch(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let Role::Follower(follower) = &mut broker.role else { return };
        let Some(broker_epoch) = broker.broker_epoch.filter(|_| self.now >= broker.next_fetch_at) else { return };
        let Some(request) = follower.begin_fetch() else { return };
        follower.check();
        broker.asked = Some((request.ticket, self.now + CALL_TIMEOUT_MS));
        let (id, life) = (broker.id, broker.life);
        self.send(id, request.leader, life, Message::Fetch { request, broker_epoch });
    }

    /// Does what the machines asked of the log.
    pub(super) fn work(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        let effects = std::mem::take(&mut broker.work);
        let id = broker.id;
        if matches!(broker.role, Role::Leader(_)) {
            broker.log.sync();
            let end = broker.log.synced();
            return self.step_leader(at, replica::Input::Synced { end });
        }
        if effects.is_empty() {
            return;
        }
        self.trace(|| format!("broker {id} does {effects:?}"));
        let broker = &mut self.brokers[at];
        for effect in effects {
            match &effect {
                follower::Effect::Truncate { to, .. } if *to < broker.log.end() => self.history.saw("a log is cut"),
                follower::Effect::StartOver { .. } => self.history.saw("a log starts over"),
                follower::Effect::MoveStart { .. } => self.history.saw("a log start moves"),
                _ => {}
            }
            match effect {
                follower::Effect::Append { batches } => {
                    let records = std::mem::take(&mut broker.fetched);
                    records.into_iter().take(batches).for_each(|record| broker.log.append(record));
                }
                follower::Effect::Truncate { to, .. } => broker.log.truncate(to),
                follower::Effect::StartOver { at } => broker.log.start_over(at),
                follower::Effect::MoveStart { to } => broker.log.move_start(to),
                follower::Effect::Sync => broker.log.sync(),
                follower::Effect::AskEnds { .. } | follower::Effect::PublishHigh(_) => {}
            }
        }
        let state = broker.log.state();
        self.step_follower(at, follower::Input::Done(state));
    }

    pub(super) fn broker_timers(&mut self, at: usize) {
        self.give_up_calls(at);
        let broker = &mut self.brokers[at];
        if broker.stops_at.is_some_and(|stops_at| stops_at <= self.now) {
            let id = broker.id;
            broker.stop();
            return self.trace(|| format!("broker {id} has waited long enough and stops"));
        }
        if broker.next_beat_at <= self.now {
            broker.next_beat_at = self.now + HEARTBEAT_MS;
            self.beat(at);
        }
        let due = |wake_at: Option<Tick>| wake_at.is_some_and(|wake_at| wake_at <= self.now);
        match &self.brokers[at].role {
            Role::Leader(leader) if due(leader.wake_at()) => self.step_leader(at, replica::Input::Timer),
            Role::Follower(follower) if due(follower.wake_at()) => self.step_follower(at, follower::Input::Timer),
            Role::Follower(_) => self.fetch(at),
            Role::Leader(_) | Role::Idle => {}
        }
    }

    fn give_up_calls(&mut self, at: usize) {
        let (now, broker) = (self.now, &mut self.brokers[at]);
        let lost: Vec<_> = broker.calls.extract_if(.., |(_, _, until)| *until <= now).collect();
        for (_, call, _) in lost {
            if let Call::AlterPartition(partition_epoch) = call {
                self.step_leader(at, replica::Input::IsrRefused { partition_epoch, why: IsrRefusal::Lost });
            }
        }
        if let Some((ticket, _)) = self.brokers[at].asked.take_if(|(_, until)| *until <= now) {
            self.step_follower(at, follower::Input::Answered { ticket, answer: follower::Answer::Failed });
        }
    }

    fn beat(&mut self, at: usize) {
        let broker = &self.brokers[at];
        let Some(epoch) = broker.broker_epoch else {
            let request = self.registration(at);
            return self.call(at, Call::Register, Request::RegisterBroker(request));
        };
        let beat = BrokerHeartbeat {
            id: broker.id,
            epoch,
            metadata_index: broker.image.as_ref().map_or(0, Image::index),
            want_shutdown: broker.stops_at.is_some(),
            ..BrokerHeartbeat::default()
        };
        self.call(at, Call::Heartbeat, Request::BrokerHeartbeat(beat));
    }

    fn registration(&self, at: usize) -> RegisterBroker {
        let broker = &self.brokers[at];
        let listener = Endpoint {
            listener: "PLAINTEXT".to_owned(),
            host: format!("broker-{}", broker.id),
            port: 9092,
            protocol: SecurityProtocol::Plaintext,
        };
        RegisterBroker {
            cluster_id: self.quorum.image.cluster_id().expect("the cluster has begun").to_string(),
            broker: Registered {
                id: broker.id,
                epoch: 0,
                incarnation: incarnation(broker.id, broker.life),
                listeners: vec![listener],
                rack: None,
                log_dirs: vec![Uuid([100 + broker.id as u8; 16])],
                features: FEATURE_RANGES.map(|(name, min, max)| (name.to_owned(), FeatureRange { min, max })).into(),
                fenced: false,
                in_controlled_shutdown: false,
            },
            previous_epoch: broker.clean_epoch.unwrap_or(-1),
            in_process: false,
        }
    }

    /// Metadata has come: the broker leads or follows as it says, once it finds its own life in it.
    pub(super) fn apply_metadata(&mut self, at: usize) {
        let broker = &self.brokers[at];
        let Some(image) = broker.image.clone() else { return };
        let me = image.broker(broker.id);
        let registered = me.filter(|me| me.incarnation == incarnation(broker.id, broker.life));
        let topic = self.quorum.topic_id().and_then(|topic| image.partition(topic, 0));
        let (Some(_), Some(partition)) = (registered, topic) else { return };
        if partition.leader == broker.id {
            let active = image.brokers().filter(|broker| broker.is_active());
            let eligible: BTreeMap<BrokerId, i64> = active.map(|broker| (broker.id, broker.epoch)).collect();
            self.lead(at, partition);
            self.step_leader(at, replica::Input::Eligible(eligible));
        } else {
            self.follow(at, partition);
        }
    }

    fn lead(&mut self, at: usize, partition: &Partition) {
        let (replicas, isr) = (partition.replicas.clone(), partition.isr.clone());
        let &Partition { leader_epoch, partition_epoch, .. } = partition;
        if matches!(&self.brokers[at].role, Role::Leader(leader) if leader.leader_epoch() == leader_epoch) {
            return self.step_leader(at, replica::Input::Reassigned { replicas, isr, partition_epoch });
        }
        if !self.brokers[at].work.is_empty() {
            self.work(at);
        }
        let broker = &mut self.brokers[at];
        broker.work.clear();
        broker.waits.clear();
        broker.asked = None;
        let high = broker.high();
        broker.log.assign_epoch(leader_epoch);
        let config = LeaderConfig { min_isr: self.plan.min_isr, durable: self.plan.durable, lag_max_ms: LAG_MAX_MS };
        let state = LeaderState { leader_epoch, partition_epoch, replicas, isr };
        let leader = Leader::new(broker.id, state, config, broker.log.end(), high, self.now);
        broker.role = Role::Leader(Box::new(leader));
        let (id, end, synced) = (broker.id, broker.log.end(), broker.log.synced());
        self.trace(|| format!("broker {id} begins to lead in epoch {leader_epoch} from {end}, watermark {high}"));
        if partition.recovery == Recovery::Recovering {
            self.history.saw("the last leader is elected uncleanly");
        }
        if self.brokers[at].image.as_ref().is_none_or(|known| known.index() != self.quorum.image.index()) {
            self.history.saw("a leader begins with metadata that is not the newest");
        }
        self.history.leads(id, leader_epoch, high, &self.brokers[at].log);
        self.step_leader(at, replica::Input::Synced { end: synced });
        if self.plan.durable {
            self.schedule_work(at);
        }
    }

    fn follow(&mut self, at: usize, partition: &Partition) {
        let broker = &mut self.brokers[at];
        if !matches!(broker.role, Role::Follower(_)) {
            let config = FollowerConfig { durable: self.plan.durable, backoff_ms: FETCH_BACKOFF_MS };
            broker.waits.clear();
            broker.work.clear();
            broker.role = Role::Follower(Follower::new(config, broker.log.state(), broker.high()));
        }
        let (leader, leader_epoch) = (partition.leader, partition.leader_epoch);
        let id = broker.id;
        self.trace(|| format!("broker {id} follows {leader} in epoch {leader_epoch}"));
        self.step_follower(at, follower::Input::Follow { leader, leader_epoch });
    }
}
