//! Measures Ballast: against what this machine can do at all, and against Apache Kafka in the same minute.
//!
//! ```text
//! limits   the least program that could do the job (least broker, sendfile loop): the yardstick
//! load     a cheap generator that speaks the protocol: batches encoded once, one thread, many connections
//! broker   a Ballast or an Apache Kafka as a process of its own, on a fresh folder
//! runs     the measurements themselves: side by side, start-up, thousands of partitions
//! ```
//! Holds: no measurement judges a time. Absolute figures swing by two on a shared machine, so results are ratios of
//! neighbours in time, as medians with quartiles, and a person decides what they mean (docs/PERFORMANCE.md).
//!
//! Read next: `load` (what is sent and what is counted), `runs`.

#![forbid(unsafe_code)]

pub mod broker;
pub mod client;
pub mod clock;
pub mod failure;
pub mod limits;
pub mod load;
pub mod process;
pub mod records;
pub mod runs;
pub mod stats;

pub use failure::{Doing, Failure};
