//! How fast a broker inside a test is there, and gone again.

use ballast_broker::embed::Broker;

use super::produce_when_led;
use crate::Failure;
use crate::client::{Client, Topic};
use crate::clock::{now_ns, seconds_between};
use crate::stats::shown;

const CONNECT_SECONDS_MAX: u64 = 120;
const MS: f64 = 1e3;

/// Starts and drops `starts` ephemeral brokers with one topic, one after another.
///
/// # Errors
/// A broker does not come up, or does not take a record.
pub fn run(starts: usize) -> Result<(), Failure> {
    let [mut up, mut acked, mut restart, mut gone] = [const { Vec::new() }; 4];
    for _ in 0..starts {
        let topic = Topic::new("first", 1);
        let since = now_ns();
        let broker = Broker::builder().topic(&topic.name, topic.partitions).start_blocking().map_err(failure)?;
        up.push(seconds_between(since, now_ns()) * MS);
        let mut client = Client::connect_when_ready(broker.bootstrap(), CONNECT_SECONDS_MAX)?;
        produce_when_led(&mut client, &topic)?;
        acked.push(seconds_between(since, now_ns()) * MS);
        let since = now_ns();
        broker.restart_blocking().map_err(failure)?;
        restart.push(seconds_between(since, now_ns()) * MS);
        let since = now_ns();
        drop(broker);
        gone.push(seconds_between(since, now_ns()) * MS);
    }
    println!("Ballast, in this process");
    println!("  start, ready with one topic                {} ms", shown(up.iter().copied()));
    println!("  start to first acknowledged record         {} ms", shown(acked.iter().copied()));
    println!("  restart: stop in order, start, ready       {} ms", shown(restart.iter().copied()));
    println!("  drop, until nothing is left                {} ms", shown(gone.iter().copied()));
    Ok(())
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}
