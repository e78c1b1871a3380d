//! The broker's side of its membership: register, catch up, be unfenced, stay alive, leave in order.
//!
//! ```text
//!  Registering --registered--> Fenced --caught up, unfenced--> Running --shutdown--> Leaving --may stop--> Stopped
//!       ^                        |                               |                      |
//!       +------------------------+---- stale epoch, forgotten ---+----------------------+ (Leaving just stops)
//! ```
//! Holds after every step:
//!   1. At most one request is on its way to the controller.
//!   2. A heartbeat carries the epoch of the last registration that succeeded.
//!   3. `Stopped` and `GiveUp` are final, and one of them comes once.
//!
//! Read next: machine.rs (what is done when).

mod machine;

use ballast_wire::Uuid;

pub use machine::Registration;

use crate::machine::Tick;

/// What the machine needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// `broker.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: Tick,
    /// `initial.broker.registration.timeout.ms`: how long the first registration may take before the broker gives up.
    pub initial_timeout_ms: Tick,
    /// How long an orderly stop may take before the broker stops anyway.
    pub shutdown_timeout_ms: Tick,
    /// Broker epoch at the last orderly stop, or -1.
    pub previous_epoch: i64,
}

/// What it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The broker's logs are recovered and it can serve: begin.
    Start,
    /// The registration was accepted under this epoch.
    Registered {
        /// Broker epoch.
        epoch: i64,
    },
    /// A request was refused with this Kafka error code.
    Refused {
        /// Kafka's code.
        code: i16,
    },
    /// No controller could be reached, or it did not answer in time.
    Unreachable,
    /// A heartbeat was answered.
    HeartbeatAnswered {
        /// Has the controller seen that the broker is caught up?
        is_caught_up: bool,
        /// Is the broker fenced?
        is_fenced: bool,
        /// May the broker stop?
        should_shut_down: bool,
    },
    /// The broker has applied the metadata up to this index.
    MetadataApplied {
        /// Index of the entry.
        index: u64,
    },
    /// A log directory failed: the controller must know before anybody else asks for what lives there.
    DirFailed {
        /// Its id.
        dir: Uuid,
    },
    /// Stop in order.
    Shutdown,
    /// A deadline may have passed.
    Timer,
}

/// What it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send BrokerRegistration, with the log directories that are online. Answer with `Registered`, `Refused` or
    /// `Unreachable`.
    Register {
        /// Epoch at the last orderly stop, or -1.
        previous_epoch: i64,
    },
    /// Send BrokerHeartbeat. Answer with `HeartbeatAnswered`, `Refused` or `Unreachable`.
    Heartbeat {
        /// Broker epoch.
        epoch: i64,
        /// Index of the last metadata entry applied.
        metadata_index: u64,
        /// Stay fenced for now.
        want_fence: bool,
        /// Wants to stop.
        want_shutdown: bool,
        /// Directories that have failed.
        offline_dirs: Vec<Uuid>,
    },
    /// The controller let the broker in.
    Unfenced,
    /// The controller shut the broker out.
    Fenced,
    /// The controller released the broker, or the time for it ran out: it may stop now.
    Stopped {
        /// Was it released? Then `epoch` belongs in the clean-shutdown file.
        released: bool,
        /// Broker epoch, or -1.
        epoch: i64,
    },
    /// The broker cannot join: it must stop with this reason.
    GiveUp {
        /// Why.
        reason: GiveUp,
    },
}

/// Why a broker stops without having been let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GiveUp {
    /// No controller accepted the registration in time.
    #[error(
        "the controller did not accept this broker's registration within {waited_ms} ms (last answer: {last_code:?})"
    )]
    TimedOut {
        /// Milliseconds.
        waited_ms: Tick,
        /// The last error code, if a controller answered at all.
        last_code: Option<i16>,
    },
    /// An answer that no retry can change.
    #[error("the controller refuses this broker with error code {code}")]
    Rejected {
        /// Kafka's code.
        code: i16,
    },
}

#[cfg(test)]
mod tests;
