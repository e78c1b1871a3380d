//! The controller stepped by hand: requests in, proposals and answers out, commits when the test says so.

mod admin;
mod brokers;
mod configs;
mod drain;
mod events;
mod features;
mod random;
mod rig;
mod turns;
