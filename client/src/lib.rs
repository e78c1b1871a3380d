//! A Kafka client, in two halves.
//!
//! The lower half reaches brokers: `connection` (one socket), `negotiate` (versions), `cluster` (who leads what, and
//! retries), `admin` (topics, configs, groups, quorum, offsets). The upper half moves records: `producer`, `consumer`, and
//! `group`, whose members share what they read.
//!
//! Holds for the whole crate: connections, wall time and randomness come in through [`World`], so that a simulation can
//! bring its own; timers are tokio's. A size or count that a broker sends never sizes memory.
//!
//! Read next: `cluster`, then `producer`, `consumer` or `group`.

#![forbid(unsafe_code)]

pub mod admin;
mod cluster;
mod config;
mod connection;
pub mod consumer;
mod error;
#[cfg(test)]
mod fake;
mod frame;
pub mod group;
mod metadata;
mod negotiate;
pub mod producer;
mod retry;
mod world;

pub use admin::Admin;
pub use ballast_wire::ErrorCode;
pub use cluster::{Cluster, Coordinator, Lane, Target};
pub use config::{ClientConfig, parse};
pub use connection::{Connection, ConnectionOptions, Pending, RawRequest};
pub use error::ClientError;
pub use metadata::{Broker, Metadata, PartitionMetadata, TopicMetadata};
pub use negotiate::ApiVersions;
pub use retry::Retry;
pub use world::World;
