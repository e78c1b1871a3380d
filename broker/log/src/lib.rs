//! One partition's log, in Apache Kafka's file formats, on mapped segments.
//!
//! Holds for the whole crate: no runtime, no RPC, no clock (the time comes in as an argument), and `unsafe` nowhere else.
//!
//! ```text
//!  start                       recovery point        published end      assigned end
//!    |--------------------------------|------------------|- - - - - - - - - |
//!     survives a crash of the machine   may be read        queued, may fail
//! ```
//!
//! Read next: `log` (the log and its locks), `append` (how bytes get in), `read` (how they get out), `recover` (what a
//! crash can leave behind), `disk` (where the world comes in).

#![deny(unsafe_code)]

pub mod append;
mod close;
pub mod config;
pub mod dirs;
pub mod disk;
pub mod epoch;
pub mod error;
mod header;
mod index;
mod leftovers;
pub mod log;
pub mod lookup;
#[cfg(target_os = "linux")]
mod map;
mod names;
pub mod open;
pub mod producer;
pub mod read;
pub mod recover;
pub mod relocate;
pub mod retain;
mod roll;
mod scan;
mod segment;
mod shorten;
mod stamped;
mod suspect;
pub mod sync;
mod tail;
#[cfg(test)]
mod testing;
pub mod truncate;
pub mod validate;

pub use append::{Appended, Budget, Drained};
pub use config::{CleanupPolicy, LogConfig, TopicCompression};
pub use epoch::EpochEnd;
pub use error::{AppendError, DiskError, LogError, ReadError, RecordError};
pub use index::txn::AbortedTxn;
pub use log::Log;
pub use lookup::Found;
pub use producer::ProducerInfo;
pub use read::Read;
pub use recover::{Cut, CutReason, OpenFrom, Progress, RecoveryReport};
pub use relocate::MoveError;
pub use retain::Retained;
pub use sync::SyncPoint;
pub use validate::{Origin, ValidBatch, validate};
