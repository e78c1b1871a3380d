//! R1: a follower is away while GiB are written, comes back, and copies them from a leader that has nothing else to do.
//!
//! The rate counts from when the follower accepts connections until the leader's ISR has it: the start of a process is no
//! part of it, and is shown apart.

use super::Plan;
use super::pair::Pair;
use super::report::{Report, Row};
use super::topic::REPLICATED;
use crate::Failure;
use crate::broker::Cluster;
use crate::client::Topic;
use crate::clock::{SECOND_NS, now_ns, rest, seconds_between};
use crate::load::{self, Pace, Produce, Span, Target};
use crate::records;
use crate::runs::case::PRODUCE_WINDOW;

/// What is written while the follower is away, in batches of a million bytes.
const BATCH_BYTES: usize = 1_000_000;
/// How long writing may take, in seconds.
const WRITE_SECONDS_MAX: f64 = 600.0;
/// How long the follower may take, in seconds.
const RETURN_SECONDS_MAX: u64 = 600;
/// How often the leader is asked for its ISR, in seconds.
const ASK_AGAIN_SECONDS: f64 = 0.005;

/// One absence.
struct Return {
    backlog_bytes: u64,
    start_seconds: f64,
    copy_seconds: f64,
    leader_cpu_seconds: f64,
    follower_cpu_seconds: f64,
}

impl Return {
    fn cpu_per_gb(&self, seconds: f64) -> f64 {
        seconds / (self.backlog_bytes as f64 / 1e9)
    }
}

pub(super) fn run(pair: &mut Pair, plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let returns = pair.turns(plan.absences, |cluster| absence(cluster, plan.backlog_bytes))?;
    let case = format!("{} MiB behind", plan.backlog_bytes >> 20);
    let mut add = |figure, of: &dyn Fn(&Return) -> f64| report.add(Row::new("R1", &case, figure, returns.figure(of)));
    add("MB/s", &|back| back.backlog_bytes as f64 / 1e6 / back.copy_seconds);
    add("start of the process, s", &|back| back.start_seconds);
    add("CPU-s/GB of the leader", &|back| back.cpu_per_gb(back.leader_cpu_seconds));
    add("CPU-s/GB of the follower", &|back| back.cpu_per_gb(back.follower_cpu_seconds));
    Ok(())
}

fn absence(cluster: &mut Cluster, backlog_bytes: u64) -> Result<Return, Failure> {
    // The active controller stays out of it: its node is the third replica.
    let active = cluster.controller()?;
    let mut others = cluster.ids().filter(|id| *id != active);
    let (Some(leader), Some(follower)) = (others.next(), others.next()) else {
        return Err(Failure::new("a cluster has three nodes"));
    };
    let topic = Topic::unique("behind", 1);
    cluster.admin()?.create_assigned(&topic, &[leader, follower, active], &REPLICATED)?;
    cluster.await_in_sync(std::slice::from_ref(&topic), 3)?;
    cluster.node_mut(follower).stop()?;
    let written = write(cluster, &topic, leader, backlog_bytes)?;
    rustix::fs::sync();

    let leader_before = cluster.node(leader).cpu_seconds()?;
    let spawned = now_ns();
    cluster.node_mut(follower).start()?;
    let up = now_ns();
    let follower_before = cluster.node(follower).cpu_seconds()?;
    await_in_isr(cluster, &topic, leader, follower)?;
    let back = Return {
        backlog_bytes: written,
        start_seconds: seconds_between(spawned, up),
        copy_seconds: seconds_between(up, now_ns()),
        leader_cpu_seconds: cluster.node(leader).cpu_seconds()? - leader_before,
        follower_cpu_seconds: cluster.node(follower).cpu_seconds()? - follower_before,
    };
    cluster.admin()?.delete_topics(&[topic])?;
    rustix::fs::sync();
    cluster.await_members()?;
    Ok(back)
}

/// Writes so many bytes to the leader; gives how many it were.
fn write(cluster: &Cluster, topic: &Topic, leader: i32, bytes: u64) -> Result<u64, Failure> {
    let batch = records::batch(BATCH_BYTES, records::wall_ms()).bytes;
    let none = Span { seconds: 0.0, bytes: 0 };
    let run = Span { seconds: WRITE_SECONDS_MAX, bytes };
    let pace = Pace { connections: 1, window: PRODUCE_WINDOW, rate_per_second: None, warm: none, run };
    let target = Target::one(cluster.node(leader).bootstrap(), None);
    Ok(load::run(&target, &pace, &mut Produce::new(topic, &batch, -1, 1))?.bytes)
}

fn await_in_isr(cluster: &Cluster, topic: &Topic, leader: i32, follower: i32) -> Result<(), Failure> {
    let until = now_ns() + RETURN_SECONDS_MAX * SECOND_NS;
    let mut client = cluster.client(leader)?;
    loop {
        let view = client.view(std::slice::from_ref(topic))?;
        if view.partitions().all(|partition| partition.in_sync.contains(&follower)) {
            return Ok(());
        }
        if now_ns() > until {
            let log = cluster.node(follower).log_end();
            return Err(Failure::new(format!("node {follower} is not in sync after {RETURN_SECONDS_MAX} s\n{log}")));
        }
        rest(ASK_AGAIN_SECONDS);
    }
}
