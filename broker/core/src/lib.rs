//! What a broker decides: pure step machines and planners.
//!
//! Holds for the whole crate: no runtime, no files, no clock, no wire schema. Time and input come in, effects go out.
//! Machines do not import each other (they meet in `ballast-broker`, and in the tests' `cluster`); all may read the
//! metadata `image`.
//!
//! Read next: `machine` (the contract), `image` (what a cluster is), `controller` (who changes it), `settings`.

#![forbid(unsafe_code)]

#[cfg(test)]
mod cluster;
pub mod controller;
pub mod endpoint;
pub mod fetch_session;
pub mod group;
pub mod image;
pub mod machine;
pub mod registration;
pub mod replica;
pub mod settings;
