//! The load generator: one thread, a window of requests on each of N connections, answers checked.
//!
//! It costs little, so that a broker on the same two cores shows: batches are encoded once, a request is one `writev`,
//! answers are walked where they lie. Latency is taken from the moment a request was due: in a closed loop (a full window)
//! that is when it was handed to the socket, in an open loop (`rate_per_second`) when the schedule said so, sent or not.
//!
//! Holds: an error code or a wrong checksum in any answer ends the run. A window of measurement is bounded in seconds and in
//! bytes: what it leaves dirty in the page cache must not be paid for by its neighbour.
//!
//! Read next: `engine` (the loop), `produce` and `fetch` (what is sent).

mod connection;
mod engine;
mod fetch;
mod outcome;
mod produce;

pub use connection::Request;
pub use engine::run;
pub use fetch::Fetch;
pub use outcome::Outcome;
pub use produce::Produce;

use std::path::PathBuf;

use crate::Failure;
use crate::process::{cpu_seconds, thread_cpu_seconds};

/// A stretch of a run: ends with whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Seconds.
    pub seconds: f64,
    /// Bytes of records.
    pub bytes: u64,
}

/// How hard to push.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Connections.
    pub connections: usize,
    /// Requests in flight on each.
    pub window: usize,
    /// Requests a second over all connections, due at even intervals; `None` sends whenever the window has room.
    pub rate_per_second: Option<f64>,
    /// Not counted.
    pub warm: Span,
    /// Counted.
    pub run: Span,
}

/// Who is put under load.
#[derive(Debug, Clone)]
pub struct Target {
    /// `HOST:PORT` of the brokers; connections go to them in turn.
    pub brokers: Vec<String>,
    /// Whose CPU time shall be counted, if anybody's.
    pub cpu: Vec<Cpu>,
}

impl Target {
    /// One broker.
    #[must_use]
    pub fn one(bootstrap: String, cpu: Option<Cpu>) -> Target {
        Target { brokers: vec![bootstrap], cpu: cpu.into_iter().collect() }
    }
}

/// Who serves.
#[derive(Debug, Clone)]
pub enum Cpu {
    /// A process of its own.
    Process(u32),
    /// A thread of this process, as [`crate::process::this_thread`] names it.
    Thread(PathBuf),
}

impl Cpu {
    /// CPU time that it has used, in seconds.
    ///
    /// # Errors
    /// It has ended.
    pub fn seconds(&self) -> Result<f64, Failure> {
        match self {
            Cpu::Process(pid) => cpu_seconds(*pid),
            Cpu::Thread(thread) => thread_cpu_seconds(thread),
        }
    }
}

/// What is sent, and what an answer must look like.
pub trait Work {
    /// The next request of a connection. Bytes 8 to 12 of it will be overwritten with a correlation id.
    fn request(&mut self, connection: usize) -> Request;

    /// Judges the answer to the oldest unanswered request of a connection: a frame without its size. Gives the bytes of
    /// records that it moved.
    ///
    /// # Errors
    /// It reports an error, or is not what was asked for.
    fn answer(&mut self, connection: usize, frame: &[u8]) -> Result<u64, Failure>;
}
