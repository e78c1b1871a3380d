//! What administrators ask of a broker, by raw requests: one that is accepted and one for each error.
//!
//! Like the traps, these can be sent to a running Apache Kafka (see `ballast_tests::target`): what they assert was seen
//! there first. Where the two differ on purpose the test asks `is_ballast()`, and docs/COMPATIBILITY.md says why.
//!
//! Read next: `ask` (one question, one row), then any file.

mod ask;
mod configs;
mod describe;
mod effects;
mod elections;
mod every_setting;
mod features;
mod lists;
mod loggers;
