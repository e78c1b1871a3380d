//! The whole system under test, and the doubles that it is tested with.
//!
//! Read next: `target` (which broker a test talks to), `raw` (a client that sends what it is told), `process` (a broker as
//! a process of its own), `nodes` (a cluster of them), `embedded` (one in this process), `foreign` (programs of others),
//! `disk` (a disk that loses, tears and fills up on order), `sim` (a whole cluster in one thread, on simulated network, disks
//! and clocks).

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeSnippets;

pub mod disk;
pub mod embedded;
pub mod foreign;
pub mod nodes;
pub mod process;
pub mod raw;
pub mod sim;
pub mod target;
