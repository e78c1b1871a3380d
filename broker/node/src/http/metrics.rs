//! What is counted. Per partition it is counted where it happens (`drive::partition::Traffic`); here is the rest.

use std::sync::atomic::{AtomicU64, Ordering};

use ballast_wire::frame::ApiKey;

/// API keys that are counted; higher ones share the last place.
const KEYS: usize = 128;

/// Counters of a broker since it started.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: [AtomicU64; KEYS],
    pub(crate) failed_produce_requests: AtomicU64,
    pub(crate) failed_fetch_requests: AtomicU64,
    pub(crate) isr_shrinks: AtomicU64,
    pub(crate) isr_expands: AtomicU64,
    pub(crate) failed_isr_updates: AtomicU64,
    /// Bytes that followers were given.
    pub(crate) replication_bytes_out: AtomicU64,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            requests: [const { AtomicU64::new(0) }; KEYS],
            failed_produce_requests: AtomicU64::new(0),
            failed_fetch_requests: AtomicU64::new(0),
            isr_shrinks: AtomicU64::new(0),
            isr_expands: AtomicU64::new(0),
            failed_isr_updates: AtomicU64::new(0),
            replication_bytes_out: AtomicU64::new(0),
        }
    }

    /// Counts a request.
    pub(crate) fn request(&self, key: ApiKey) {
        let at = usize::try_from(key.0).unwrap_or(KEYS - 1).min(KEYS - 1);
        self.requests[at].fetch_add(1, Ordering::Relaxed);
    }

    /// Requests of one API.
    pub(crate) fn requests(&self, key: ApiKey) -> u64 {
        usize::try_from(key.0)
            .ok()
            .and_then(|at| self.requests.get(at))
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
