//! What third-party brokers get wrong, each as a claim about the bytes on a connection to one node.
//!
//! One file for each subject. Numbers in brackets in the names of rows are Kafka's error codes. Every expectation holds on
//! Apache Kafka 4.4 as well, except where a test says that Ballast differs: `ballast_tests::target` tells how to run these
//! tests against it.

mod acks;
mod api_versions;
mod batches;
mod cluster;
mod create_topics;
mod epochs;
mod fetch;
mod framing;
mod idempotence;
mod limits;
mod metadata;
mod offsets;
mod retention;
mod session_errors;
mod sessions;
mod stamps;
mod topics;
mod versions;
