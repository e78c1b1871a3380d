//! L3: from when a record of 1 KiB was due until it is acknowledged by all of three replicas, in an open loop at 30 % of what
//! the slower of the two can take.

use super::Plan;
use super::pair::Pair;
use super::report::{Report, Row};
use super::throughput::{Load, produce};
use super::topic::{REPLICAS, ready_topic};
use crate::broker::Cluster;
use crate::load::{self, Outcome, Pace, Produce, Span, Target};
use crate::stats::three_digits;
use crate::{Failure, records};

/// One record a request.
const LOAD: Load = Load { name: "1 KiB", batch_bytes: 0, partitions: 1 };
/// Share of the slower one's peak that both are given.
const SHARE: f64 = 0.3;
/// Windows that look for the peak, of which the best counts.
const PEAK_WINDOWS: usize = 2;
const PEAK_SPAN: Span = Span { seconds: 4.0, bytes: 512 << 20 };
const WARM: Span = Span { seconds: 1.0, bytes: u64::MAX };
/// Requests in flight: a broker that stands still for a moment must not stop the schedule.
const WINDOW: usize = 1_000;

pub(super) fn run(pair: &mut Pair, plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let peaks = pair.turns(PEAK_WINDOWS, |cluster| produce(cluster, &LOAD, REPLICAS, WARM, PEAK_SPAN))?;
    let peaks = peaks.figure(|window| window.requests as f64 / window.seconds);
    let best = |windows: &[f64]| windows.iter().copied().reduce(f64::max);
    let slower = [best(&peaks.ours), best(&peaks.theirs)].into_iter().flatten().reduce(f64::min);
    let rate = SHARE * slower.ok_or_else(|| Failure::new("no window looked for the peak"))?;
    report.add(Row::new("L3", LOAD.name, "requests/s at the peak", peaks));

    let case = format!("{} at {}/s", LOAD.name, three_digits(rate));
    let windows = pair.turns(plan.pairs, |cluster| open_loop(cluster, rate, plan.latency_seconds))?;
    for (figure, share) in [("p50 ms", 0.5), ("p99 ms", 0.99), ("p99.9 ms", 0.999)] {
        report.add(Row::new("L3", &case, figure, windows.figure(|window| window.latency_us(share) / 1e3)));
    }
    let cpu = windows.figure(Outcome::server_us_per_request);
    report.add(Row::new("L3", &case, "CPU of all nodes, us/request", cpu));
    Ok(())
}

fn open_loop(cluster: &mut Cluster, rate: f64, seconds: f64) -> Result<Outcome, Failure> {
    let (topic, led) = ready_topic(cluster, REPLICAS, LOAD.partitions)?;
    let brokers = led.keys().map(|id| cluster.node(*id).bootstrap()).collect();
    let target = Target { brokers, cpu: cluster.cpu()? };
    let run = Span { seconds, bytes: u64::MAX };
    let pace = Pace { connections: 1, window: WINDOW, rate_per_second: Some(rate), warm: WARM, run };
    let batch = records::batch(LOAD.batch_bytes, records::wall_ms()).bytes;
    let outcome = load::run(&target, &pace, &mut Produce::new(&topic, &batch, -1, 1))?;
    cluster.admin()?.delete_topics(&[topic])?;
    rustix::fs::sync();
    Ok(outcome)
}
