//! An active controller: one request or deadline at a time, decided on everything that it has decided before.

use ballast_wire::BrokerId;

use super::brokers::{self, check_epoch};
use super::draft::Draft;
use super::elect::{balance, elect_leaderless};
use super::error::{BrokerError, Refusal};
use super::event::FencedBecause;
use super::isr::alter_partitions;
use super::request::{BrokerHeartbeat, HeartbeatReply, ProducerIds, Request, Response};
use super::sessions::Sessions;
use super::turn::Turn;
use super::{Ask, Deposed, Effect, ProposalId, RequestId, admin, dirs, drain};
use crate::image::{Image, Record};
use crate::machine::Tick;
use crate::settings::{BrokerSettings, Statics};

/// Producer ids in a block.
const PRODUCER_IDS_PER_BLOCK: i32 = 1_000;

/// A pass over leaderships that did not get to the end goes on after this long.
const BALANCE_AGAIN_MS: Tick = 1_000;
/// A pass that empties brokers and did not get to the end goes on after this long.
const DRAIN_AGAIN_MS: Tick = 100;

pub(super) struct Active {
    epoch: u64,
    turn: Turn,
    sessions: Sessions,
    heartbeat_interval_ms: Tick,
    /// When it was last stepped.
    last_step: Tick,
    /// When leaderships are next given back; never, if that is off.
    balance_at: Tick,
    /// When leaderless partitions are next looked through.
    sweep_at: Tick,
    /// When brokers are next emptied of leaderships; never, if none is to be.
    drain_at: Tick,
}

impl Active {
    pub(super) fn new(
        epoch: u64,
        image: Image,
        deposed: Option<Deposed>,
        settings: &BrokerSettings,
        now: Tick,
    ) -> Active {
        let membership = &settings.membership;
        Active {
            epoch,
            sessions: Sessions::new(membership.session_timeout_ms, &image, deposed, now),
            drain_at: if drain::is_under_way(&image) { now } else { Tick::MAX },
            turn: Turn::new(image),
            heartbeat_interval_ms: membership.heartbeat_interval_ms,
            last_step: now,
            balance_at: next_balance(settings, now),
            sweep_at: now.saturating_add(membership.unclean_leader_election_interval_ms),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// If the last deadline was missed by more than brokers may be silent between two heartbeats, this node was asleep, not
    /// they: what they sent meanwhile has not been read yet.
    pub(super) fn awake(&mut self, now: Tick) {
        let due = self.last_step.max(self.wake_at());
        if now.saturating_sub(due) > self.heartbeat_interval_ms {
            self.sessions.renew(now);
        }
        self.last_step = now;
    }

    pub(super) fn wake_at(&self) -> Tick {
        let expiry = self.sessions.next_expiry(self.turn.ahead()).unwrap_or(Tick::MAX);
        expiry.min(self.balance_at).min(self.sweep_at).min(self.drain_at)
    }

    pub(super) fn propose(&mut self, next_proposal: &mut ProposalId, out: &mut Vec<Effect>) {
        self.turn.propose(next_proposal, out);
    }

    pub(super) fn committed(&mut self, proposal: ProposalId, index: u64, image: Image, out: &mut Vec<Effect>) {
        if self.turn.committed_up_to(proposal, image, out) {
            self.sessions.leaves_committed(index);
        }
    }

    pub(super) fn abandon(self) -> impl Iterator<Item = (RequestId, Refusal)> {
        self.turn.abandon()
    }

    pub(super) fn timer(&mut self, statics: &Statics, settings: &BrokerSettings, now: Tick) {
        let mut draft = Draft::new(self.turn.ahead(), statics);
        for broker in self.sessions.expired(&draft.image, now) {
            let silent_ms = self.sessions.silent_ms(broker, now);
            brokers::fence(&mut draft, broker, FencedBecause::Silent(silent_ms));
        }
        if now >= self.drain_at {
            let more = drain::hand_over(&mut draft);
            self.drain_at = if more { now + DRAIN_AGAIN_MS } else { Tick::MAX };
        }
        if now >= self.balance_at {
            let more = balance(&mut draft);
            self.balance_at = if more { now + BALANCE_AGAIN_MS } else { next_balance(settings, now) };
        }
        if now >= self.sweep_at {
            elect_leaderless(&mut draft, |_, _| true);
            self.sweep_at = now.saturating_add(settings.membership.unclean_leader_election_interval_ms.max(1));
        }
        self.take(draft);
    }

    fn take(&mut self, draft: Draft<'_>) {
        let Draft { image, records, events, .. } = draft;
        self.turn.decided(image, records, events);
    }

    pub(super) fn request(
        &mut self,
        ask: &mut Ask<'_>,
        now: Tick,
        id: RequestId,
        request: Request,
        out: &mut Vec<Effect>,
    ) {
        let mut draft = Draft::new(self.turn.ahead(), &ask.config.statics);
        let dry_run = admin::is_dry_run(&request);
        let response = match request {
            Request::RegisterBroker(request) => {
                match brokers::register(&mut draft, &mut self.sessions, now, &request) {
                    Ok(()) => {
                        self.take(draft);
                        return self.turn.respond_registered(id, request.broker.id, out);
                    }
                    Err(error) => Response::RegisterBroker(Err(error)),
                }
            }
            Request::BrokerHeartbeat(beat) => return self.heartbeat(draft, now, id, &beat, out),
            Request::UnregisterBroker { id } => {
                Response::UnregisterBroker(brokers::unregister(&mut draft, &mut self.sessions, id))
            }
            Request::AlterPartition(alter) => {
                let checked = check_epoch(&draft.image, alter.broker, alter.broker_epoch);
                let alter = |()| alter_partitions(&mut draft, alter.broker, &alter.partitions);
                Response::AlterPartition(checked.map(alter))
            }
            Request::AssignReplicasToDirs { broker, broker_epoch, assignments } => {
                let checked = check_epoch(&draft.image, broker, broker_epoch);
                Response::AssignReplicasToDirs(checked.map(|()| dirs::assign(&mut draft, broker, &assignments)))
            }
            Request::AllocateProducerIds { broker, broker_epoch } => {
                Response::AllocateProducerIds(allocate(&mut draft, broker, broker_epoch))
            }
            Request::CreateTopics { .. }
            | Request::DeleteTopics { .. }
            | Request::CreatePartitions { .. }
            | Request::IncrementalAlterConfigs { .. }
            | Request::AlterConfigs { .. }
            | Request::ElectLeaders { .. }
            | Request::UpdateFeatures { .. } => admin::decide(ask, &mut draft, request),
        };
        if !dry_run {
            if matches!(response, Response::AlterConfigs(_)) && drain::is_under_way(&draft.image) {
                self.drain_at = now;
            }
            self.take(draft);
        }
        self.turn.respond(id, response, out);
    }

    /// Heartbeats that change nothing are answered at once, from what is committed: a slow log must not make brokers look
    /// dead to themselves.
    fn heartbeat(
        &mut self,
        mut draft: Draft<'_>,
        now: Tick,
        id: RequestId,
        beat: &BrokerHeartbeat,
        out: &mut Vec<Effect>,
    ) {
        let released = match brokers::heartbeat(&mut draft, &mut self.sessions, now, beat) {
            Ok(released) => released,
            Err(error) => {
                out.push(Effect::Respond { to: id, response: Response::BrokerHeartbeat(Err(error)) });
                return;
            }
        };
        let known = draft.image.broker(beat.id).cloned();
        let is_fenced = known.as_ref().is_none_or(|broker| broker.fenced);
        let is_caught_up = known.as_ref().is_some_and(|broker| brokers::is_caught_up(broker, beat));
        let reply = HeartbeatReply { is_caught_up, is_fenced, should_shut_down: released };
        let settled = draft.records.is_empty() && self.turn.committed().broker(beat.id) == known.as_ref();
        self.take(draft);
        let response = Response::BrokerHeartbeat(Ok(reply));
        if settled {
            out.push(Effect::Respond { to: id, response });
        } else {
            self.turn.respond(id, response, out);
        }
    }

    pub(super) fn check(&self) {
        self.turn.check();
    }
}

fn next_balance(settings: &BrokerSettings, now: Tick) -> Tick {
    let membership = &settings.membership;
    if membership.auto_leader_rebalance_enable {
        now.saturating_add(membership.leader_imbalance_check_interval_ms.max(1))
    } else {
        Tick::MAX
    }
}

/// Gives out the next block of producer ids.
fn allocate(draft: &mut Draft<'_>, broker: BrokerId, broker_epoch: i64) -> Result<ProducerIds, BrokerError> {
    check_epoch(&draft.image, broker, broker_epoch)?;
    let first = draft.image.next_producer_id();
    let next = first.checked_add(i64::from(PRODUCER_IDS_PER_BLOCK)).ok_or(BrokerError::ProducerIdsExhausted)?;
    draft.push(Record::ProducerIdBlock { next, broker, broker_epoch });
    Ok(ProducerIds { first, len: PRODUCER_IDS_PER_BLOCK })
}
