//! Messages come in: what a broker answers as a leader, takes in as a follower, and learns from the controllers.

use ballast_wire::{BrokerId, Offset};

use super::broker::{Call, Role, Unclean};
use super::network::{Envelope, Fetched, Message};
use super::quorum::Caller;
use super::world::World;
use crate::controller::{AlterPartitionError, Request, Response};
use crate::replica::follower::{self, Answer, BatchHead, FetchRequest, Ticket};
use crate::replica::{self, Divergence, EpochMismatch, FetchPosition, IsrRefusal, check_leader_epoch, divergence};

/// Records in one answer.
const RECORDS_MAX: usize = 3;

/// A follower that got nothing waits this long; a leader in earnest would hold its fetch.
const IDLE_FETCH_MS: u64 = 40;

impl World {
    pub(super) fn deliver(&mut self, envelope: Envelope) {
        let Envelope { from, to, life, message, .. } = envelope;
        if let Message::Request { call, request } = message {
            return self.ask_controller(Caller { broker: from, life, call }, *request);
        }
        let at = World::at(to);
        // What is asked of a broker may come from any life of another; what is answered belongs to the life that asked.
        let mine = life == self.brokers[at].life;
        if !self.brokers[at].up {
            return;
        }
        match message {
            Message::Fetch { request, broker_epoch } => {
                let answer = self.answer_fetch(at, from, &request, broker_epoch);
                self.send(to, from, life, Message::Fetched { ticket: request.ticket, answer });
            }
            Message::AskEnds { ticket, leader_epoch } => {
                let broker = &self.brokers[at];
                let leads = matches!(&broker.role, Role::Leader(leader) if leader.leader_epoch() == leader_epoch);
                let ends = leads.then(|| (broker.log.start(), broker.log.end()));
                self.send(to, from, life, Message::Ends { ticket, ends });
            }
            Message::Fetched { ticket, answer } if mine => self.fetched(at, ticket, answer),
            Message::Ends { ticket, ends } if mine => {
                let input = match ends {
                    Some((start, end)) => follower::Input::LeaderEnds { ticket, start, end },
                    None => follower::Input::Answered { ticket, answer: Answer::Failed },
                };
                self.step_follower(at, input);
            }
            Message::Response { call, response } if mine => self.answered(at, call, *response),
            Message::Metadata(image) if mine => {
                let newer = self.brokers[at].image.as_ref().is_none_or(|known| known.index() < image.index());
                if newer {
                    self.brokers[at].image = Some(*image);
                    self.apply_metadata(at);
                }
            }
            Message::Work if mine => self.work(at),
            Message::Fetched { .. }
            | Message::Ends { .. }
            | Message::Response { .. }
            | Message::Metadata(_)
            | Message::Work
            | Message::Request { .. } => {}
        }
    }

    fn ask_controller(&mut self, caller: Caller, request: Request) {
        // A life that is over can no longer come back by its own late registration: its connection is gone.
        let over = self.brokers[World::at(caller.broker)].life != caller.life;
        if !(over && matches!(request, Request::RegisterBroker(_))) {
            self.quorum.request(self.now, caller, request);
            self.publish();
        }
    }

    /// What a leader says to a fetch, and what it learns from it.
    fn answer_fetch(&mut self, at: usize, by: BrokerId, asked: &FetchRequest, broker_epoch: i64) -> Fetched {
        let broker = &self.brokers[at];
        let Role::Leader(leader) = &broker.role else { return Fetched::Failed };
        match check_leader_epoch(asked.leader_epoch, leader.leader_epoch()) {
            Err(EpochMismatch::Fenced { .. }) => return Fetched::Fenced,
            Err(EpochMismatch::Unknown { .. }) => return Fetched::Failed,
            Ok(()) => {}
        }
        if leader.judge_follower(by, asked.leader_epoch, broker_epoch).is_err() {
            return Fetched::Failed;
        }
        let ours = broker.log.end_of(asked.last_fetched_epoch);
        let &FetchRequest { offset, last_fetched_epoch: last_epoch, log_start, .. } = asked;
        let counts = match divergence(FetchPosition { offset, last_epoch, log_start }, ours, broker.log.start()) {
            Divergence::At(end) => return Fetched::Diverging(end),
            Divergence::Unknown => return Fetched::OutOfRange,
            Divergence::None => true,
            Divergence::Unproven => false,
        };
        if !(broker.log.start()..=broker.log.end()).contains(&asked.offset) {
            return Fetched::OutOfRange;
        }
        let records = broker.log.read(asked.offset, RECORDS_MAX);
        let log_start = broker.log.start();
        let input = replica::Input::Fetched { by, from: asked.offset, log_start: asked.log_start, broker_epoch };
        if counts {
            self.step_leader(at, input);
        } else {
            self.history.saw("a fetch proves nothing");
        }
        Fetched::Records { base: asked.offset, records, high: self.brokers[at].high(), log_start }
    }

    fn fetched(&mut self, at: usize, ticket: Ticket, answer: Fetched) {
        let now = self.now;
        let broker = &mut self.brokers[at];
        let current = broker.asked.take_if(|(asked, _)| *asked == ticket).is_some();
        let answer = match answer {
            Fetched::Records { base, records, high, log_start } => {
                let heads = (base..).zip(&records);
                let batches = heads.map(|(at, record)| BatchHead { base: at, last: at, epoch: record.epoch }).collect();
                if records.is_empty() {
                    broker.next_fetch_at = now + IDLE_FETCH_MS;
                }
                if broker.work.is_empty() {
                    broker.fetched = records;
                }
                Answer::Records { batches, high, log_start }
            }
            Fetched::Diverging(leader) => Answer::Diverging { leader, ours: broker.log.end_of(leader.epoch) },
            Fetched::OutOfRange => Answer::OutOfRange,
            Fetched::Fenced => Answer::FencedLeaderEpoch,
            Fetched::Failed => Answer::Failed,
        };
        let id = broker.id;
        self.trace(|| format!("broker {id} is answered (ticket {ticket}, current {current}): {answer:?}"));
        self.step_follower(at, follower::Input::Answered { ticket, answer });
    }

    fn answered(&mut self, at: usize, call: u64, response: Response) {
        let broker = &mut self.brokers[at];
        let Some(place) = broker.calls.iter().position(|(open, _, _)| *open == call) else { return };
        let (_, kind, _) = broker.calls.swap_remove(place);
        let id = broker.id;
        self.trace(|| format!("broker {id} hears from the controller: {response:?}"));
        match (kind, response) {
            (Call::Register, Response::RegisterBroker(Ok(epoch))) => self.brokers[at].broker_epoch = Some(epoch),
            (Call::Heartbeat, Response::BrokerHeartbeat(Ok(reply))) => {
                let broker = &mut self.brokers[at];
                if reply.should_shut_down && broker.stops_at.is_some() {
                    broker.stop();
                }
            }
            (Call::AlterPartition(built_on), Response::AlterPartition(Ok(mut rows))) => {
                let Some(row) = rows.pop() else { return };
                self.isr_answered(at, built_on, row.result);
            }
            (Call::AlterPartition(partition_epoch), _) => {
                self.step_leader(at, replica::Input::IsrRefused { partition_epoch, why: IsrRefusal::Undecided });
            }
            (Call::Register | Call::Heartbeat, _) => {}
        }
    }

    fn isr_answered(
        &mut self,
        at: usize,
        partition_epoch: i32,
        result: Result<crate::controller::PartitionState, AlterPartitionError>,
    ) {
        let Role::Leader(leader) = &self.brokers[at].role else { return };
        let code = result.as_ref().err().map_or(0, AlterPartitionError::code);
        self.history.saw(match code {
            0 => "an ISR is put in place",
            95 => "a proposal is overtaken (95)",
            107 => "a proposal is refused (107)",
            _ => "a proposal fails otherwise",
        });
        match result {
            Ok(state) if state.leader_epoch == leader.leader_epoch() => {
                let (isr, partition_epoch) = (state.isr, state.partition_epoch);
                self.step_leader(at, replica::Input::IsrCommitted { isr, partition_epoch });
            }
            Ok(_) => {}
            Err(_) => {
                let why = IsrRefusal::from_code(code);
                self.step_leader(at, replica::Input::IsrRefused { partition_epoch, why });
            }
        }
    }

    /// Brokers that are in sync again have nothing left of an unclean stop.
    pub(super) fn forgive(&mut self) {
        let isr = self.quorum.partition().map(|partition| partition.isr.clone()).unwrap_or_default();
        for at in 0..self.brokers.len() {
            if isr.contains(&self.brokers[at].id) && self.is_registered(&self.brokers[at]) {
                self.brokers[at].unclean = Unclean::No;
            }
        }
    }

    /// Where a power loss cuts a log: somewhere behind what was synced.
    pub(super) fn cut(&mut self, at: usize) -> Offset {
        let (synced, end) = (self.brokers[at].log.synced(), self.brokers[at].log.end());
        synced + self.random.below((end - synced) as u64 + 1) as Offset
    }
}
