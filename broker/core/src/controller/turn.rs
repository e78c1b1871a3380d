//! Proposals and parked answers: what is on its way to the log, and what waits for it.
//!
//! ```text
//!  committed image --- in flight (proposed) --- next (decided since) ---> ahead: what decisions rest on
//! ```
//! Holds: at most one batch is in flight; an answer is parked on the last batch that it may rest on.

use ballast_wire::BrokerId;

use super::error::Refusal;
use super::request::Response;
use super::{Effect, Event, ProposalId, RequestId};
use crate::image::{EPOCH_IS_INDEX, Image, Record};

/// Records that go to the log together, and the answers that wait for them.
#[derive(Debug, Default)]
struct Batch {
    records: Vec<Record>,
    parked: Vec<Parked>,
    events: Vec<Event>,
}

#[derive(Debug)]
struct Parked {
    to: RequestId,
    response: Response,
    /// The broker whose registration it answers: its epoch is known only once it is committed.
    registers: Option<BrokerId>,
}

impl Parked {
    fn settled(self, committed: &Image) -> Effect {
        let epoch = self.registers.and_then(|id| committed.broker(id)).map(|broker| broker.epoch);
        let response = epoch.map_or(self.response, |epoch| Response::RegisterBroker(Ok(epoch)));
        Effect::Respond { to: self.to, response }
    }
}

/// What an active controller has decided and what of it is committed.
#[derive(Debug)]
pub(super) struct Turn {
    committed: Image,
    ahead: Image,
    in_flight: Option<(ProposalId, Batch)>,
    next: Batch,
}

impl Turn {
    pub(super) fn new(image: Image) -> Turn {
        Turn { ahead: image.clone(), committed: image, in_flight: None, next: Batch::default() }
    }

    pub(super) fn committed(&self) -> &Image {
        &self.committed
    }

    pub(super) fn ahead(&self) -> &Image {
        &self.ahead
    }

    /// Takes in what was decided: `ahead` is the image with `records`, and `events` are what they come to.
    pub(super) fn decided(&mut self, ahead: Image, records: Vec<Record>, events: Vec<Event>) {
        self.ahead = ahead;
        self.next.records.extend(records);
        self.next.events.extend(events);
    }

    /// Gives an answer as soon as everything decided so far is committed.
    pub(super) fn respond(&mut self, to: RequestId, response: Response, out: &mut Vec<Effect>) {
        self.park(Parked { to, response, registers: None }, out);
    }

    /// Answers a registration with the epoch of `broker`, as soon as that is known.
    pub(super) fn respond_registered(&mut self, to: RequestId, broker: BrokerId, out: &mut Vec<Effect>) {
        let response = Response::RegisterBroker(Ok(EPOCH_IS_INDEX));
        self.park(Parked { to, response, registers: Some(broker) }, out);
    }

    fn park(&mut self, parked: Parked, out: &mut Vec<Effect>) {
        if !self.next.records.is_empty() {
            self.next.parked.push(parked);
        } else if let Some((_, batch)) = &mut self.in_flight {
            batch.parked.push(parked);
        } else {
            out.push(parked.settled(&self.committed));
        }
    }

    /// Proposes what was decided, unless something is on its way.
    pub(super) fn propose(&mut self, next_proposal: &mut ProposalId, out: &mut Vec<Effect>) {
        if self.in_flight.is_some() || self.next.records.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.next);
        let proposal = *next_proposal;
        *next_proposal += 1;
        out.push(Effect::Propose { proposal, records: batch.records.clone() });
        self.in_flight = Some((proposal, batch));
    }

    /// A proposal is committed: its answers go out. False if it is not the one that is in flight.
    pub(super) fn committed_up_to(&mut self, proposal: ProposalId, image: Image, out: &mut Vec<Effect>) -> bool {
        let Some((_, batch)) = self.in_flight.take_if(|(in_flight, _)| *in_flight == proposal) else { return false };
        self.committed = image;
        self.ahead = self.committed.clone();
        self.ahead.apply_ahead(&self.next.records);
        out.extend(batch.events.into_iter().map(Effect::Happened));
        out.extend(batch.parked.into_iter().map(|parked| parked.settled(&self.committed)));
        true
    }

    /// Everything that waits for an answer, and what that is now. What is in flight may be committed yet: a leader must go on
    /// reckoning with the ISR that it proposed. All others ask again, whatever became of it.
    pub(super) fn abandon(self) -> impl Iterator<Item = (RequestId, Refusal)> {
        let in_flight = self.in_flight.map(|(_, batch)| batch.parked).unwrap_or_default();
        let lost = in_flight.into_iter().map(|parked| match parked.response {
            Response::AlterPartition(Ok(_)) => (parked.to, Refusal::Lost),
            _ => (parked.to, Refusal::NotController),
        });
        lost.chain(self.next.parked.into_iter().map(|parked| (parked.to, Refusal::NotController)))
    }

    pub(super) fn check(&self) {
        assert!(
            self.ahead.index() == self.committed.index(),
            "the image ahead is at entry {}, the committed one at {}",
            self.ahead.index(),
            self.committed.index()
        );
        assert!(
            self.next.parked.is_empty() || !self.next.records.is_empty(),
            "{} answers wait for a batch without records",
            self.next.parked.len()
        );
        assert!(
            self.next.events.is_empty() || !self.next.records.is_empty(),
            "{} events without a record that brings them about",
            self.next.events.len()
        );
        self.committed.check();
        self.ahead.check();
    }
}
