//! Drivers: they feed the machines of `ballast-core`, carry out what they ask for, and hold what they decide about.
//!
//! Read next: `partition` (one partition's log, led or following), `fetcher` (where followers get records),
//! `waiters` (who waits for a partition).

pub(crate) mod controller;
pub(crate) mod coordinator;
pub(crate) mod dirs;
pub(crate) mod elsewhere;
pub(crate) mod envelope;
pub(crate) mod fetcher;
pub(crate) mod happened;
pub(crate) mod hosted;
pub(crate) mod isr;
pub(crate) mod metadata;
pub(crate) mod named;
pub(crate) mod own_topic;
pub(crate) mod partition;
pub(crate) mod producer_ids;
pub(crate) mod proposals;
pub(crate) mod registration;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod ticks;
pub(crate) mod waiters;
