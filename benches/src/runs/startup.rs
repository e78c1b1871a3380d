//! How fast a broker is there, how fast it comes back, and what it takes while nothing happens.

use std::path::Path;

use super::produce_when_led;
use crate::Failure;
use crate::broker::{Node, Software};
use crate::client::{Client, Topic};
use crate::clock::{now_ns, rest, seconds_between};
use crate::process::Footprint;
use crate::stats::shown;

const CONNECT_SECONDS_MAX: u64 = 120;
const MS: f64 = 1e3;

/// What is measured, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Starts on an empty folder, and as many restarts.
    pub spawns: usize,
    /// How long a broker is left alone before its memory is read, in seconds.
    pub idle_seconds: f64,
}

/// Measures each software in turn, interleaved.
///
/// # Errors
/// A broker does not come up.
pub fn run(software: &[Software], root: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut first = vec![Vec::new(); software.len()];
    let mut again = vec![Vec::new(); software.len()];
    let mut stops = vec![Vec::new(); software.len()];
    for _ in 0..plan.spawns {
        for (index, software) in software.iter().enumerate() {
            let mut node = Node::new(software, root, &[])?;
            let topic = Topic::new("first", 1);
            first[index].push(start_to_ack(&mut node, &topic)? * MS);
            stops[index].push(node.stop()? * MS);
            again[index].push(start_to_ack(&mut node, &topic)? * MS);
        }
    }
    for (index, software) in software.iter().enumerate() {
        println!("{}", software.name());
        println!("  empty folder, spawn to first acknowledged record   {} ms", shown(first[index].iter().copied()));
        println!("  clean stop                                         {} ms", shown(stops[index].iter().copied()));
        println!("  restart, spawn to first acknowledged record        {} ms", shown(again[index].iter().copied()));
        let idle = idle(software, root, plan.idle_seconds)?;
        println!(
            "  idle for {} s with one topic: {:.1} MiB resident ({} KiB anonymous, {} KiB of files), {} threads, {} \
             descriptors, {} maps",
            plan.idle_seconds,
            idle.resident_mib(),
            idle.anonymous_kib,
            idle.file_kib,
            idle.threads,
            idle.descriptors,
            idle.maps
        );
    }
    Ok(())
}

/// From spawn until a record in a topic, made if it is not there, is acknowledged with acks=all; in seconds.
fn start_to_ack(node: &mut Node, topic: &Topic) -> Result<f64, Failure> {
    let since = now_ns();
    node.spawn()?;
    let mut client = Client::connect_when_ready(&node.bootstrap(), CONNECT_SECONDS_MAX)?;
    client.create_topics(std::slice::from_ref(topic), &[])?;
    produce_when_led(&mut client, topic)?;
    Ok(seconds_between(since, now_ns()))
}

fn idle(software: &Software, root: &Path, seconds: f64) -> Result<Footprint, Failure> {
    let mut node = Node::new(software, root, &[])?;
    start_to_ack(&mut node, &Topic::new("only", 1))?;
    rest(seconds);
    Footprint::of(node.pid()?)
}
