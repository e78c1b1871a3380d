//! Batches that carry their offsets and epochs already: a follower's fetch, entries of the metadata log.
//!
//! Holds: bytes are written as they came. A batch whose checksum is wrong, whose offset lies below the end (or, in a
//! contiguous log, not exactly at it), or whose epoch steps back is refused, and everything behind it.

use ballast_wire::batch::{BatchError, BatchView};
use bytes::Bytes;

use crate::append::{Appended, Front, Queued};
use crate::error::AppendError;
use crate::header::Header;
use crate::log::Log;
use crate::validate::{Marker, marker_of};

/// A batch that was judged, not yet written.
struct Judged {
    bytes: Bytes,
    header: Header,
    marker: Option<Marker>,
}

impl Log {
    /// Appends batches that carry their offsets and leader epochs (a follower's fetch, the metadata log), writes and
    /// publishes them before it returns. A batch cut off at the end of `batches` is left out, as fetches may end in one.
    /// Each batch must lie at or above the end (exactly there if the log is `contiguous`) and must not step back in epoch.
    /// Returns the first and last offset of what was appended; without any, the last offset lies below the first.
    ///
    /// # Errors
    /// Batches before the one at fault were appended, unless it is a write that failed.
    pub fn append_stamped(&self, batches: &Bytes, now_ms: i64) -> Result<Appended, AppendError> {
        let mut writer = self.writer.lock();
        {
            let state = self.state.lock();
            if let Some(failure) = &state.failure {
                return Err(failure.clone().into());
            }
        }
        // What a leader left in the queue, when it became a follower, was never promised to anybody; who waits was told then.
        self.drop_queued(Vec::new());
        let (judged, refused) = self.judge_stamped(batches);
        let run = self.enqueue_stamped(judged, now_ms);
        let base_offset = run.first().map_or(self.end(), |queued| queued.header.base_offset);
        if let Err((rest, error)) = self.write(&mut writer, run) {
            return Err(self.fail_queued(&mut writer, rest, error));
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        Ok(Appended {
            base_offset,
            last_offset: self.end() - 1,
            log_append_time_ms: -1,
            log_start_offset: self.start(),
            duplicate: false,
        })
    }

    /// The good batches at the front, and why the next one is not.
    fn judge_stamped(&self, batches: &Bytes) -> (Vec<Judged>, Option<AppendError>) {
        let contiguous = self.config().contiguous;
        let mut end = self.end();
        let mut epoch = self.latest_epoch().unwrap_or(-1);
        let mut judged = Vec::new();
        let mut rest = batches.clone();
        loop {
            let batch = match BatchView::parse(&rest) {
                Ok(batch) => batch,
                Err(BatchError::Truncated { .. }) => return (judged, None),
                Err(error) => return (judged, Some(AppendError::Corrupt(error))),
            };
            if let Err(error) = batch.verify_checksum() {
                return (judged, Some(AppendError::Corrupt(error)));
            }
            let header = Header::of(&batch);
            let follows = header.base_offset >= end && (!contiguous || header.base_offset == end);
            if !follows || header.last_offset_delta < 0 || header.end() == i64::MAX {
                let base_offset = header.base_offset;
                return (judged, Some(AppendError::NotContinuous { base_offset, end }));
            }
            if header.leader_epoch < epoch {
                return (judged, Some(AppendError::StaleEpoch { given: header.leader_epoch, ours: epoch }));
            }
            let marker = match marker_of(&batch) {
                Ok(marker) => marker,
                Err(error) => return (judged, Some(AppendError::Corrupt(error))),
            };
            (end, epoch) = (header.end(), header.leader_epoch);
            let bytes = rest.split_to(header.size as usize);
            judged.push(Judged { bytes, header, marker });
        }
    }

    /// Takes note of producers and epochs, and gives the run to write.
    fn enqueue_stamped(&self, judged: Vec<Judged>, now_ms: i64) -> Vec<Queued> {
        let tracking = self.config().producer_state;
        let mut state = self.state.lock();
        for Judged { bytes, header, marker } in judged {
            let tracked = tracking && header.has_producer();
            let applied = tracked.then(|| state.producers.apply(&header, marker));
            self.epochs.write().assign(header.leader_epoch, header.base_offset);
            state.push(Front::AsReceived, bytes, header, applied, now_ms);
        }
        state.queue.drain(..).collect()
    }
}

#[cfg(test)]
mod tests;
