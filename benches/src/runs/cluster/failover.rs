//! S5: kill -9 of a partition's leader while records are acknowledged by all replicas. What counts is the longest pause
//! between two acknowledgements; the session time-out is a second on both sides.
//!
//! The active controller is told apart: when it was on the killed node, an election of controllers comes first.
//!
//! Holds: every acknowledged record is there afterwards, or the run fails.
//!
//! Read next: `prober` (the producer that looks for the new leader).

mod prober;

use std::path::Path;

use self::prober::Prober;
use super::Plan;
use super::pair::Pair;
use super::report::{Report, Row};
use super::topic::REPLICATED;
use crate::Failure;
use crate::broker::{Cluster, Software};
use crate::client::Topic;

/// Kafka's own names, understood by both.
const SETTINGS: [(&str, &str); 2] = [("broker.session.timeout.ms", "1000"), ("broker.heartbeat.interval.ms", "200")];
/// How long records flow before the kill, in seconds.
const BEFORE_SECONDS: f64 = 1.0;
/// How long after the first acknowledgement of the new leader, in seconds: a second pause would come soon.
const AFTER_SECONDS: f64 = 2.0;
/// Kills that count for nothing, to warm the peer's compiler.
const WARM_KILLS: usize = 1;

/// Where the active controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Elsewhere,
    OnTheLeader,
}

pub(super) fn run(
    ours: &Software,
    peer: Option<&Software>,
    root: &Path,
    plan: &Plan,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut pair = Pair::started(ours, peer, root, &SETTINGS)?;
    pair.turns(WARM_KILLS, |cluster| pause_seconds(cluster, Controller::Elsewhere))?;
    for (controller, case) in [
        (Controller::Elsewhere, "active controller elsewhere"),
        (Controller::OnTheLeader, "active controller on the leader"),
    ] {
        let pauses = pair.turns(plan.kills, |cluster| pause_seconds(cluster, controller))?;
        report.add(Row::new("S5", case, "longest pause, s", pauses));
    }
    Ok(())
}

/// One kill: the longest pause in seconds. All nodes run and are in sync before and after it.
fn pause_seconds(cluster: &mut Cluster, controller: Controller) -> Result<f64, Failure> {
    let active = cluster.controller()?;
    let victim = match controller {
        Controller::OnTheLeader => active,
        Controller::Elsewhere => cluster.ids().find(|id| *id != active).expect("a cluster has several nodes"),
    };
    let others = cluster.ids().filter(|id| *id != victim);
    let replicas: Vec<i32> = [victim].into_iter().chain(others).collect();
    let topic = Topic::unique("failover", 1);
    cluster.admin()?.create_assigned(&topic, &replicas, &REPLICATED)?;
    let topics = std::slice::from_ref(&topic);
    let view = cluster.await_in_sync(topics, replicas.len())?;
    if view.by_leader(&topic.name).keys().ne([&victim]) {
        return Err(Failure::new(format!("node {victim} does not lead {}: {view:?}", topic.name)));
    }

    let mut prober = Prober::new(&topic, cluster.ids().map(|id| cluster.node(id).bootstrap()).collect());
    prober.drive(BEFORE_SECONDS)?;
    cluster.node_mut(victim).kill()?;
    prober.drive_until_acknowledged()?;
    prober.drive(AFTER_SECONDS)?;

    cluster.node_mut(victim).start()?;
    cluster.await_members()?;
    let view = cluster.await_in_sync(topics, replicas.len())?;
    let led = view.by_leader(&topic.name);
    let leader = *led.keys().next().expect("awaited partitions are led");
    let mut ends = cluster.client(leader)?.end_offsets(topics)?.into_iter();
    let acknowledged = prober.acknowledged();
    match ends.next() {
        Some(Ok(end)) if end as u64 >= acknowledged => {}
        end => return Err(Failure::new(format!("{acknowledged} records were acknowledged, the log ends at {end:?}"))),
    }
    cluster.admin()?.delete_topics(&[topic])?;
    Ok(prober.longest_pause_seconds())
}
