//! A Kafka client without opinions: what it is told to send goes out byte for byte, what comes back is handed over.
//!
//! Real clients hide the wire. They negotiate, retry and repair, so that a broker's small lies never show. Here a test
//! writes the frame itself ([`Connection::send`]) or gives a message of `kafka-protocol` and a version
//! ([`Connection::call`]), and sees an answer, a closed connection or silence, each told apart.
//!
//! Holds: everything blocks, with a deadline; nothing is retried except where a function says so.
//!
//! Read next: `connection`, `layout` (every request of Apache Kafka), then `rows` (the requests that most tests need),
//! `batches` (bytes of a batch, true or false).

pub mod batches;
pub mod connection;
pub mod groups;
pub mod layout;
pub mod messages;
pub mod rows;

pub use batches::{at, batch, now_ms, patched, timed};
pub use connection::{Connection, Reply};
pub use messages::{Fetch, fetch_row, name, text};
