//! What users of brokers like this one have reported, each fault as the smallest sequence that shows it.
//!
//! Reports that come down to one answer to one request are among the traps: versions of ApiVersions, clients that do not
//! negotiate, defaults of CreateTopics, ids for idempotent producers, sizes of messages, positions inside a batch, fetch
//! sessions, batches that are sent again. A hostile first frame is in `hostile`. Here is what takes several steps: look-ups by
//! time, logs that expire under a reader, automatic creation, crashes, and what must be given back.

mod crashes;
mod creation;
mod damage;
mod expiry;
mod lookups;
mod resources;
