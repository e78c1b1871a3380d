//! Thousands of partitions on one node: made, written, stopped, started, killed and recovered.

use std::path::Path;

use crate::broker::{Node, Software};
use crate::client::{Client, Topic};
use crate::clock::{now_ns, seconds_between};
use crate::process::Footprint;
use crate::{Failure, records};

/// Topics made by one request.
const TOPICS_PER_REQUEST: usize = 20;
const LEADERS_SECONDS_MAX: u64 = 600;
const CONNECT_SECONDS_MAX: u64 = 600;

/// How many of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Topics.
    pub topics: usize,
    /// Partitions of each.
    pub partitions: i32,
    /// What each partition has been given, in KiB, when the broker is killed.
    pub unflushed_kib: usize,
}

/// Measures one software, from an empty folder to the recovery after kill -9.
///
/// # Errors
/// The broker fails, or loses a record.
pub fn run(software: &Software, root: &Path, plan: &Plan) -> Result<(), Failure> {
    let topics: Vec<Topic> = (0..plan.topics).map(|n| Topic::new(format!("many-{n:05}"), plan.partitions)).collect();
    let count = plan.topics as u64 * plan.partitions as u64;
    println!("{}, {count} partitions", software.name());
    let mut node = Node::new(software, root, &[])?;
    let mut client = node.start()?;
    client.create_topics(&[Topic::new("idle", 1)], &[])?;
    let empty = Footprint::of(node.pid()?)?;
    let timed = |what: &str, since: u64| println!("  {what:<52} {:.2} s", seconds_between(since, now_ns()));

    let since = now_ns();
    for some in topics.chunks(TOPICS_PER_REQUEST) {
        client.create_topics(some, &[])?;
    }
    client.await_serving(&topics, LEADERS_SECONDS_MAX)?;
    timed("created and led", since);
    show("  made", &Footprint::of(node.pid()?)?, &empty, count);

    let since = now_ns();
    fill(&mut client, &topics, 16)?;
    timed("one record to each", since);
    show("  written", &Footprint::of(node.pid()?)?, &empty, count);

    println!("  {:<52} {:.2} s", "clean stop", node.stop()?);
    let since = now_ns();
    client = serving(&mut node, &topics, 1)?;
    timed("restart until all serve", since);
    show("  restarted", &Footprint::of(node.pid()?)?, &empty, count);

    let since = now_ns();
    fill(&mut client, &topics, plan.unflushed_kib << 10)?;
    timed(&format!("{} KiB more to each", plan.unflushed_kib), since);
    node.kill()?;
    let since = now_ns();
    serving(&mut node, &topics, 2)?;
    timed("restart after kill -9 until all serve", since);
    show("  recovered", &Footprint::of(node.pid()?)?, &empty, count);
    println!("  {:<52} {:.2} s", "clean stop", node.stop()?);
    Ok(())
}

/// One record of `bytes` to every partition.
fn fill(client: &mut Client, topics: &[Topic], bytes: usize) -> Result<(), Failure> {
    let record = records::single(bytes, records::wall_ms()).bytes;
    for topic in topics {
        if let Some(code) = client.produce(topic, &record)?.first() {
            return Err(Failure::new(format!("{} refused a record with error {code}", topic.name)));
        }
    }
    Ok(())
}

/// Starts the node and waits until every partition is led and tells its end, which must be `end`.
fn serving(node: &mut Node, topics: &[Topic], end: i64) -> Result<Client, Failure> {
    node.spawn()?;
    let mut client = Client::connect_when_ready(&node.bootstrap(), CONNECT_SECONDS_MAX)?;
    let ends = client.await_serving(topics, LEADERS_SECONDS_MAX)?;
    match ends.iter().find(|found| **found != end) {
        Some(wrong) => Err(Failure::new(format!("a partition ends at {wrong}, {end} records were acknowledged"))),
        None => Ok(client),
    }
}

fn show(what: &str, now: &Footprint, empty: &Footprint, partitions: u64) {
    let more = now.anonymous_kib.saturating_sub(empty.anonymous_kib) as f64 / partitions as f64;
    let tables = now.page_tables_kib.saturating_sub(empty.page_tables_kib) as f64 / partitions as f64;
    println!(
        "  {what:<12} {:.1} MiB anonymous ({more:.2} KiB a partition), {:.1} MiB of files, page tables {tables:.2} KiB a \
         partition, {} descriptors, {} maps, {} threads",
        now.anonymous_kib as f64 / 1024.0,
        now.file_kib as f64 / 1024.0,
        now.descriptors,
        now.maps,
        now.threads
    );
}
