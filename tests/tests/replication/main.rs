//! A leader's duties towards its followers and towards consumers that wait for them, as claims about bytes.
//!
//! One real broker leads (or follows: `elsewhere`); the other replicas are the test itself, which registers with the
//! controller and fetches as brokers do (`peer`). So each step of replication happens when the test wants it, and
//! nothing waits for a clock.

mod acks;
mod elsewhere;
mod fetches;
mod peer;
mod racks;
