//! What client and broker share of the world: connections, the clock, and random bytes.
//!
//! Two of the three seams (the third is `Disk`, in `ballast-log`): a simulation brings its own. Timers are tokio's.
//!
//! Read next: `tcp` (the real transport), `clock`.

#![forbid(unsafe_code)]

mod transport;

pub use transport::{BoxFuture, Connection, Listener, SendHalf, Transport, send_all};
