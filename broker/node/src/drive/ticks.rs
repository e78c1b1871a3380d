//! The machines' clock: milliseconds since the broker began, on tokio's clock, which a simulation may pause.

use std::time::Duration;

use ballast_core::machine::Tick;
use tokio::time::Instant;

/// Turns instants into ticks and back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    start: Instant,
}

impl Ticks {
    pub(crate) fn new() -> Ticks {
        Ticks { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Tick {
        self.start.elapsed().as_millis() as Tick
    }

    /// When `tick` begins.
    pub(crate) fn instant(self, tick: Tick) -> Instant {
        self.start + Duration::from_millis(tick)
    }
}
