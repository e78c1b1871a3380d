//! Listeners and connections: bytes in, frames to the API table, answers out in order.
//!
//! Read next: `conn` (one connection as one task), `frame` (how bytes become frames), `limits` (what they may cost),
//! `link` (a connection that this node opens to another).

pub(crate) mod conn;
pub(crate) mod frame;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod listen;
pub(crate) mod pace;
pub(crate) mod talk;
