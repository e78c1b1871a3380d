//! What client and broker share of the world: connections, the clock, and random bytes.
//!
//! Two of the three seams (the third is `Disk`, in `ballast-log`): a simulation brings its own. Timers are tokio's.
//!
//! Read next: `transport` (the contract), `tcp` (the real thing), `clock`, `entropy`.

#![forbid(unsafe_code)]

mod clock;
mod entropy;
mod send;
mod tcp;
mod transport;

pub use clock::{Clock, SystemClock};
pub use entropy::{Entropy, OsEntropy, SeededEntropy, random_below, random_u64, random_uuid};
pub use send::SENDFILE_BYTES_MIN;
pub use tcp::TcpTransport;
pub use transport::{BoxFuture, Connection, Listener, SendHalf, Transport, send_all};
