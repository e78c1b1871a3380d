//! Three nodes: Ballast's and Apache Kafka's in turns on the same machine, replicating, failing over, catching up.
//!
//! ```text
//! throughput   P4: produce to three replicas, beside one replica
//! latency      L3: an open loop of 1 KiB records to three replicas
//! failover     S5: kill -9 of a leader under load, the longest pause between acknowledgements
//! catch_up     R1: a follower that was away while GiB were written
//! many         A1: a thousand topics of ten partitions: made, told, what they cost idle, deleted
//! ```
//! Holds: nothing is judged. What is compared was measured in turns, minutes apart at most; each figure keeps all its
//! values, and a ratio is shown as median, least and most.
//!
//! Read next: `pair` (the clusters and their turns), `report` (tables and JSON).

mod both;
mod catch_up;
mod failover;
mod latency;
mod many;
mod pair;
mod report;
mod throughput;
mod topic;

use std::path::Path;

use clap::ValueEnum;

use self::pair::Pair;
use self::report::Report;
use crate::broker::Software;
use crate::{Doing as _, Failure};

/// A measurement, by its number in docs/PERFORMANCE.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Bench {
    /// Throughput with three replicas.
    P4,
    /// Latency with three replicas.
    L3,
    /// Fail-over.
    S5,
    /// Catching up.
    R1,
    /// Thousands of partitions.
    A1,
}

/// How a run is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is measured, in this order.
    pub benches: Vec<Bench>,
    /// P4 and L3: pairs of windows for each load.
    pub pairs: usize,
    /// P4: seconds of a window.
    pub seconds: f64,
    /// L3: seconds of a window.
    pub latency_seconds: f64,
    /// P4: a window also ends after so many bytes.
    pub window_bytes_max: u64,
    /// How long the peer is driven before anything counts, in seconds.
    pub peer_warm_seconds: f64,
    /// S5: kills with the active controller elsewhere, and as many with it on the killed node.
    pub kills: usize,
    /// R1: bytes that the follower misses.
    pub backlog_bytes: u64,
    /// R1: how often.
    pub absences: usize,
    /// A1: topics.
    pub topics: usize,
    /// A1: partitions of each.
    pub partitions: i32,
}

/// Measures what the plan says, ours alone or beside a peer. Writes all values as JSON to `json`, if there is one.
///
/// # Errors
/// A cluster fails, or has lost a record.
pub fn run(
    ours: &Software,
    peer: Option<&Software>,
    root: &Path,
    plan: &Plan,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let mut report = Report::new();
    // P4, L3 and R1 share their clusters: a peer that is warm stays warm.
    let mut warm: Option<Pair> = None;
    for bench in &plan.benches {
        match bench {
            Bench::P4 | Bench::L3 | Bench::R1 => {
                let pair = match &mut warm {
                    Some(pair) => pair,
                    none => none.insert(warm_pair(ours, peer, root, plan)?),
                };
                match bench {
                    Bench::P4 => throughput::run(pair, plan, &mut report)?,
                    Bench::L3 => latency::run(pair, plan, &mut report)?,
                    _ => catch_up::run(pair, plan, &mut report)?,
                }
            }
            Bench::S5 => {
                warm = None;
                failover::run(ours, peer, root, plan, &mut report)?;
            }
            Bench::A1 => {
                warm = None;
                many::run(ours, peer, root, plan, &mut report)?;
            }
        }
        if let Some(path) = json {
            std::fs::write(path, report.json()).doing(path.display())?;
        }
    }
    Ok(())
}

/// A pair whose peer is warm.
fn warm_pair(ours: &Software, peer: Option<&Software>, root: &Path, plan: &Plan) -> Result<Pair, Failure> {
    let pair = Pair::started(ours, peer, root, &[])?;
    throughput::warm_peer(&pair, plan.peer_warm_seconds)?;
    Ok(pair)
}
