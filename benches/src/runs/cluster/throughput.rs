//! P4: produce with acks=all to three replicas, two of which must have each batch, on three processes that share the cores;
//! in turns with the same load on one replica, and with the peer's three nodes.

use super::Plan;
use super::both::Both;
use super::pair::Pair;
use super::report::{Report, Row};
use super::topic::{REPLICAS, ready_topic};
use crate::broker::Cluster;
use crate::load::{self, Outcome, Pace, Produce, Span, Target};
use crate::runs::case::PRODUCE_WINDOW;
use crate::{Failure, records};

/// Not counted of each window.
const WARM: Span = Span { seconds: 1.0, bytes: 64 << 20 };

/// What is sent. A connection goes to each node that leads a partition, and carries what that node leads.
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) batch_bytes: usize,
    pub(super) partitions: i32,
}

const LOADS: [Load; 4] = [
    Load { name: "16 KiB batches, 1 partition", batch_bytes: 16 << 10, partitions: 1 },
    Load { name: "16 KiB batches, 12 partitions", batch_bytes: 16 << 10, partitions: 12 },
    Load { name: "1 MB batches, 1 partition", batch_bytes: 1_000_000, partitions: 1 },
    Load { name: "1 MB batches, 12 partitions", batch_bytes: 1_000_000, partitions: 12 },
];

/// Drives the peer with each load, so that its code is compiled before anything counts.
pub(super) fn warm_peer(pair: &Pair, seconds: f64) -> Result<(), Failure> {
    let Some(peer) = pair.peer() else { return Ok(()) };
    let share = Span { seconds: seconds / LOADS.len() as f64, bytes: u64::MAX };
    for load in &LOADS {
        produce(peer, load, REPLICAS, Span { seconds: 0.0, bytes: 0 }, share)?;
    }
    Ok(())
}

pub(super) fn run(pair: &mut Pair, plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let span = Span { seconds: plan.seconds, bytes: plan.window_bytes_max };
    for load in &LOADS {
        let windows = pair.turns(plan.pairs, |cluster| {
            let one = produce(cluster, load, 1, WARM, span)?;
            Ok((one, produce(cluster, load, REPLICAS, WARM, span)?))
        })?;
        let row = |figure, both: Both<f64>| Row::new("P4", load.name, figure, both);
        report.add(row("MB/s", windows.figure(|(_, three)| three.mb_per_second())));
        report.add(row("CPU-s/GB of all nodes", windows.figure(|(_, three)| three.server_cpu_per_gb())));
        report.add(row("p50 ms", windows.figure(|(_, three)| three.latency_us(0.5) / 1e3)));
        report.add(row("p99 ms", windows.figure(|(_, three)| three.latency_us(0.99) / 1e3)));
        report.add(row("MB/s, one replica", windows.figure(|(one, _)| one.mb_per_second())));
        let cpu = windows.figure(|(one, three)| three.server_cpu_per_gb() / one.server_cpu_per_gb());
        report.add(row("CPU, three replicas to one", cpu));
    }
    Ok(())
}

/// One window on a fresh topic, which goes afterwards.
pub(super) fn produce(
    cluster: &Cluster,
    load: &Load,
    replicas: i16,
    warm: Span,
    run: Span,
) -> Result<Outcome, Failure> {
    let (topic, led) = ready_topic(cluster, replicas, load.partitions)?;
    let brokers: Vec<String> = led.keys().map(|id| cluster.node(*id).bootstrap()).collect();
    let lists: Vec<Vec<i32>> = led.into_values().collect();
    let batch = records::batch(load.batch_bytes, records::wall_ms()).bytes;
    let pace = Pace { connections: brokers.len(), window: PRODUCE_WINDOW, rate_per_second: None, warm, run };
    let target = Target { brokers, cpu: cluster.cpu()? };
    let outcome = load::run(&target, &pace, &mut Produce::divided(&topic, &batch, -1, &lists))?;
    cluster.admin()?.delete_topics(&[topic])?;
    // What this window left dirty is written now, not while the next one is measured.
    rustix::fs::sync();
    Ok(outcome)
}
