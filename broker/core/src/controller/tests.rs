//! The controller stepped by hand: requests in, proposals and answers out, commits when the test says so.

mod admin;
mod brokers;
mod configs;
mod features;
mod random;
mod rig;
mod turns;
