//! One partition's log, in Apache Kafka's file formats, on mapped segments.
//!
//! Holds for the whole crate: no runtime, no RPC, no clock (the time comes in as an argument), and `unsafe` nowhere else.

#![deny(unsafe_code)]

pub mod disk;
