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

    /// The tick of an instant; what was before the broker began, was then.
    pub(crate) fn at(self, instant: Instant) -> Tick {
        instant.saturating_duration_since(self.start).as_millis() as Tick
    }

    /// When `tick` begins.
    pub(crate) fn instant(self, tick: Tick) -> Instant {
        self.start + Duration::from_millis(tick)
    }
}
