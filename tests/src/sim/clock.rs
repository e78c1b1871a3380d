//! Time in the simulation: one true clock that the steps move, and a clock on each host's wall that may be wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ballast_net::Clock;

/// When a simulation begins, in ms since 1970.
pub const EPOCH_MS: i64 = 1_700_000_000_000;

/// Milliseconds since the simulation began. Clones share one clock.
#[derive(Debug, Clone, Default)]
pub struct TrueTime(Arc<AtomicI64>);

impl TrueTime {
    /// Milliseconds since the beginning.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Moves on. Only whoever steps the simulation does this.
    pub fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }
}

/// A host's wall clock: true time plus an error that may jump. Clones share the error.
#[derive(Debug, Clone)]
pub struct WallClock {
    time: TrueTime,
    error_ms: Arc<AtomicI64>,
}

impl WallClock {
    /// A clock that is right.
    #[must_use]
    pub fn new(time: TrueTime) -> WallClock {
        WallClock { time, error_ms: Arc::default() }
    }

    /// Lets it jump: from now on it is wrong by `error_ms`.
    pub fn set_error(&self, error_ms: i64) {
        self.error_ms.store(error_ms, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn now_ms(&self) -> i64 {
        EPOCH_MS + self.time.now_ms() + self.error_ms.load(Ordering::Relaxed)
    }
}
