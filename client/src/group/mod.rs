//! Consumer groups: members share the partitions of their topics, and what one has read the next one does not read again.
//!
//! ```text
//! GroupConsumer::poll ──> Consumer (positions, fetches)
//!      │  ▲ given, taken away                 commits ──> coordinator
//!      ▼  │
//!   driver (a task) ──> member (a pure machine) ── join, sync, heartbeat ──> coordinator
//! ```
//! Holds: a partition is read only between its assignment and its revocation; records are committed only after the poll
//! that handed them out was followed by another call, so that a crash repeats records and never skips any.
//!
//! Read next: `consumer` (what applications call), `member` (the protocol), `assign` (who gets what), `protocol` (bytes).

mod assign;
mod calls;
mod config;
mod consumer;
mod driver;
mod member;
mod protocol;

pub use assign::{Assignor, Candidate};
pub use config::GroupConfig;
pub use consumer::GroupConsumer;
pub use protocol::{Partitions, Subscription, decode_assignment, encode_assignment};
