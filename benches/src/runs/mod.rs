//! The measurements: what is run, in which order, and how it is shown.
//!
//! Read next: `case` (the workloads), `side_by_side` (pairs of windows, limits between them), `startup`,
//! `embedded`, `partitions`, `cluster` (three nodes).

pub mod case;
pub mod cluster;
pub mod embedded;
pub mod partitions;
pub mod side_by_side;
pub mod startup;

use crate::client::{Client, Topic};
use crate::clock::{SECOND_NS, now_ns, rest};
use crate::{Failure, records};

/// How long a new topic may take to accept a record, in seconds.
const ACCEPT_SECONDS_MAX: u64 = 60;

/// Appends one small record to every partition of a topic, again and again until all accept it.
///
/// # Errors
/// Some do not within a minute.
pub(crate) fn produce_when_led(client: &mut Client, topic: &Topic) -> Result<(), Failure> {
    let record = records::single(16, records::wall_ms()).bytes;
    let until = now_ns() + ACCEPT_SECONDS_MAX * SECOND_NS;
    loop {
        let refused = client.produce(topic, &record)?;
        let Some(code) = refused.first() else { return Ok(()) };
        if now_ns() > until {
            return Err(Failure::new(format!("{} does not accept records: error {code}", topic.name)));
        }
        rest(0.0005);
    }
}
