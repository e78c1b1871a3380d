//! A batch on its way: who sends it under which sequence number, and what is known of its fate so far.

use std::sync::Arc;

use ballast_wire::batch::{BatchBuilder, BatchView};
use ballast_wire::{ProducerEpoch, ProducerId};
use bytes::Bytes;
use tokio::time::Instant;

use super::delivery::{BatchFate, Fate};

/// Larger bodies than this are not taken apart again (they are ours, so this is generous).
const OPENED_BYTES_MAX: usize = 1 << 30;

/// Under which name a batch is sent: what a broker recognises a resent one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) producer_id: ProducerId,
    pub(super) epoch: ProducerEpoch,
    pub(super) base_sequence: i32,
}

/// The bytes of a batch.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// Not compressed yet, and without its stamp.
    Open(Box<BatchBuilder>),
    /// As it is sent, with the stamp it was sent under.
    Finished(Bytes),
}

/// A closed batch of one partition.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// Place in the partition's order.
    pub(super) number: u64,
    /// Numbers up to `number + span` are its own, for the parts it may be cut into.
    pub(super) span: u64,
    pub(super) records: i32,
    /// What it takes of the buffer.
    pub(super) bytes: usize,
    /// When its first record came.
    pub(super) created: Instant,
    pub(super) stamp: Option<Stamp>,
    /// It was sent, and whether it was written is not known.
    pub(super) unknown: bool,
    pub(super) payload: Payload,
    pub(super) fate: Arc<BatchFate>,
}

impl Batch {
    /// The bytes to send, compressed and stamped; they are kept for the next attempt.
    pub(super) fn finish(&mut self) -> Bytes {
        let payload = std::mem::replace(&mut self.payload, Payload::Finished(Bytes::new()));
        let bytes = match payload {
            Payload::Finished(bytes) => bytes,
            Payload::Open(mut builder) => {
                if let Some(Stamp { producer_id, epoch, base_sequence }) = self.stamp {
                    builder.set_producer(producer_id, epoch, base_sequence);
                }
                builder.finish()
            }
        };
        self.payload = Payload::Finished(bytes.clone());
        bytes
    }

    /// Takes its stamp away: it is known not to be written, and will be sent under another.
    pub(super) fn unstamp(&mut self) {
        debug_assert!(!self.unknown, "batch {} may be written under {:?}", self.number, self.stamp);
        self.stamp = None;
        if let Payload::Finished(bytes) = &self.payload
            && let Some(parts) = taken_apart(bytes, &[self.records])
            && let Some(builder) = parts.into_iter().next()
        {
            self.payload = Payload::Open(Box::new(builder));
        }
    }

    /// Cuts it in two, because it is too large for the broker. `None` if it has but one record.
    pub(super) fn split(mut self) -> Option<[Batch; 2]> {
        if self.records < 2 {
            return None;
        }
        let bytes = self.finish();
        let at = self.records / 2;
        let counts = [at, self.records - at];
        let parts: [BatchBuilder; 2] = taken_apart(&bytes, &counts)?.try_into().ok()?;
        let fates = [self.fate.sibling(), self.fate.sibling()];
        self.fate.decide(Fate::Split { at: at as u32, front: fates[0].clone(), back: fates[1].clone() });
        let half = self.bytes / 2;
        let sizes = [half, self.bytes - half];
        let span = self.span / 2;
        let numbers = [self.number, self.number + span];
        let [front, back] = parts.map(|builder| Payload::Open(Box::new(builder)));
        let part = |at: usize, payload| Batch {
            number: numbers[at],
            span,
            records: counts[at],
            bytes: sizes[at],
            created: self.created,
            stamp: None,
            unknown: false,
            payload,
            fate: fates[at].clone(),
        };
        Some([part(0, front), part(1, back)])
    }
}

/// The records of a finished batch in builders of `counts` records each, without producer. `None` if it does not open,
/// which cannot be, as it is ours.
fn taken_apart(bytes: &[u8], counts: &[i32]) -> Option<Vec<BatchBuilder>> {
    let view = BatchView::parse(bytes).ok()?;
    let body = view.open(OPENED_BYTES_MAX).ok()?;
    let codec = view.attributes().compression().ok()?;
    let mut records = view.records_in(&body);
    let mut parts = Vec::with_capacity(counts.len());
    for count in counts {
        let mut builder = BatchBuilder::new(codec);
        for _ in 0..*count {
            let record = records.next()?.ok()?;
            let headers: Vec<_> = record.headers().collect();
            builder.push(record.timestamp(&view), record.key, record.value, &headers);
        }
        parts.push(builder);
    }
    Some(parts)
}
