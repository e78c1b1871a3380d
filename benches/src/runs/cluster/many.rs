//! A1: a thousand topics of ten partitions, each on all three nodes: made in requests of a hundred topics until every node
//! tells all their leaders and each leader serves, told, deleted. Between that: how soon every node tells a new topic, what
//! a node's memory holds, and what a cluster with nothing to do costs.
//!
//! The clusters run one after the other, each on fresh folders: one that is idle shares the machine with nobody of ours.

use std::path::Path;

use super::Plan;
use super::both::Both;
use super::report::{Report, Row};
use super::topic::{REPLICAS, REPLICATED};
use crate::broker::{Cluster, Software};
use crate::client::{Client, Topic};
use crate::clock::{SECOND_NS, now_ns, rest, seconds_between};
use crate::process::{Footprint, loopback_bytes};
use crate::{Failure, records};

const TOPICS_PER_REQUEST: usize = 100;
/// Topics made one at a time, to see how soon every node tells them.
const CHANGES: usize = 10;
const SPREAD_SECONDS_MAX: u64 = 60;
const DELETE_SECONDS_MAX: u64 = 600;
/// How long a request for a hundred topics may fail, in seconds, and how long it waits before it is sent again.
const CREATE_SECONDS_MAX: u64 = 60;
const SEND_AGAIN_SECONDS: f64 = 0.1;
/// After work, before a cluster counts as idle, in seconds.
const SETTLE_SECONDS: f64 = 10.0;
const IDLE_SECONDS: f64 = 10.0;
/// Somebody else's traffic is on the loopback interface as well: the quietest of so many windows counts.
const IDLE_WINDOWS: usize = 3;
/// How often a node is asked whether it tells something, in seconds.
const ASK_AGAIN_SECONDS: f64 = 0.001;

/// What one cluster gave: figures by name, each with its values.
type Figures = Vec<(&'static str, Vec<f64>)>;

pub(super) fn run(
    ours: &Software,
    peer: Option<&Software>,
    root: &Path,
    plan: &Plan,
    report: &mut Report,
) -> Result<(), Failure> {
    let our_figures = measure(ours, root, plan)?;
    let their_figures = peer.map(|peer| measure(peer, root, plan)).transpose()?.unwrap_or_default();
    let case = format!("{} topics x {} partitions", plan.topics, plan.partitions);
    for (index, (figure, ours)) in our_figures.into_iter().enumerate() {
        let theirs = their_figures.get(index).map_or_else(Vec::new, |(_, values)| values.clone());
        report.add(Row::new("A1", &case, figure, Both { ours, theirs }));
    }
    Ok(())
}

fn measure(software: &Software, root: &Path, plan: &Plan) -> Result<Figures, Failure> {
    let topics: Vec<Topic> = (0..plan.topics).map(|n| Topic::new(format!("many-{n:05}"), plan.partitions)).collect();
    let cluster = Cluster::started(software, root, &[])?;
    let empty = cluster.footprints()?;
    let mut figures = Figures::new();

    let since = now_ns();
    let again = create(&cluster, &topics)?;
    figures.push(("created, s", vec![seconds_between(since, now_ns())]));
    figures.push(("requests sent again", vec![again as f64]));
    cluster.await_in_sync(&topics, 1)?;
    figures.push(("led on every node, s", vec![seconds_between(since, now_ns())]));
    cluster.await_in_sync(&topics, 3)?;
    figures.push(("all replicas in sync, s", vec![seconds_between(since, now_ns())]));
    figures.push(("described by each node, s", described(&cluster, &topics)?));

    let since = now_ns();
    write_one_each(&cluster, &topics)?;
    figures.push(("one record to each, s", vec![seconds_between(since, now_ns())]));
    figures.push(("a change on every node, ms", spread_ms(&cluster)?));
    let (traffic, cpu) = idle(&cluster)?;
    figures.push(("idle traffic, kB/s", traffic));
    figures.push(("idle CPU of a node, %", cpu));
    let full = cluster.footprints()?;
    let count = plan.topics as f64 * f64::from(plan.partitions);
    let each = |of: &dyn Fn(&Footprint, &Footprint) -> f64| full.iter().zip(&empty).map(|(a, b)| of(a, b)).collect();
    figures.push(("anonymous MiB of a node", each(&|now, _| now.anonymous_kib as f64 / 1024.0)));
    let more = |now: &Footprint, empty: &Footprint| now.anonymous_kib.saturating_sub(empty.anonymous_kib) as f64;
    figures.push(("anonymous KiB a partition", each(&|now, empty| more(now, empty) / count)));
    figures.push(("descriptors of a node", each(&|now, _| now.descriptors as f64)));

    let since = now_ns();
    let mut admin = cluster.admin()?;
    for some in topics.chunks(TOPICS_PER_REQUEST) {
        admin.delete_topics(some)?;
    }
    await_gone(&cluster, &topics)?;
    figures.push(("deleted on every node, s", vec![seconds_between(since, now_ns())]));
    Ok(figures)
}

/// Makes the topics, as an admin client does: whom the controller leaves looks for the new one and sends the request again.
/// Gives how often that was so.
fn create(cluster: &Cluster, topics: &[Topic]) -> Result<usize, Failure> {
    let mut again = 0;
    for some in topics.chunks(TOPICS_PER_REQUEST) {
        let until = now_ns() + CREATE_SECONDS_MAX * SECOND_NS;
        while let Err(failure) = cluster.admin()?.create_replicated(some, REPLICAS, &REPLICATED) {
            if now_ns() > until {
                return Err(failure);
            }
            again += 1;
            rest(SEND_AGAIN_SECONDS);
        }
    }
    Ok(again)
}

/// How long each node takes to tell all topics, in seconds.
fn described(cluster: &Cluster, topics: &[Topic]) -> Result<Vec<f64>, Failure> {
    let tell = |mut client: Client| {
        let since = now_ns();
        client.view(topics)?;
        Ok(seconds_between(since, now_ns()))
    };
    cluster.clients()?.into_iter().map(tell).collect()
}

/// One small record to every partition, acknowledged by all replicas.
fn write_one_each(cluster: &Cluster, topics: &[Topic]) -> Result<(), Failure> {
    let record = records::single(16, records::wall_ms()).bytes;
    let view = cluster.client(1)?.view(topics)?;
    let mut clients = cluster.clients()?;
    for some in topics.chunks(TOPICS_PER_REQUEST) {
        for (leader, client) in (1..).zip(&mut clients) {
            let led = |topic: &Topic| Some((topic.name.clone(), view.by_leader(&topic.name).remove(&leader)?));
            let led: Vec<(String, Vec<i32>)> = some.iter().filter_map(led).collect();
            if let Some(code) = client.produce_to(&led, &record)?.first() {
                return Err(Failure::new(format!("node {leader} refused a record with error {code}")));
            }
        }
    }
    Ok(())
}

/// From when a topic is asked for until every node tells its leader, in ms, several times.
fn spread_ms(cluster: &Cluster) -> Result<Vec<f64>, Failure> {
    let (mut admin, mut clients) = (cluster.admin()?, cluster.clients()?);
    let mut once = |_| {
        let topic = Topic::unique("change", 1);
        let topics = std::slice::from_ref(&topic);
        let since = now_ns();
        admin.create_replicated(topics, REPLICAS, &REPLICATED)?;
        for client in &mut clients {
            while client.view(topics)?.by_leader(&topic.name).is_empty() {
                if now_ns() > since + SPREAD_SECONDS_MAX * SECOND_NS {
                    return Err(Failure::new(format!("a node does not tell {}", topic.name)));
                }
                rest(ASK_AGAIN_SECONDS);
            }
        }
        let ms = seconds_between(since, now_ns()) * 1e3;
        admin.delete_topics(topics)?;
        Ok(ms)
    };
    (0..CHANGES).map(&mut once).collect()
}

/// Traffic of the whole cluster in kB/s and CPU of each node in percent of a core, while nobody asks anything.
fn idle(cluster: &Cluster) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    rest(SETTLE_SECONDS);
    let mut windows = Vec::new();
    for _ in 0..IDLE_WINDOWS {
        let (since, bytes, cpu) = (now_ns(), loopback_bytes()?, cluster.cpu_seconds()?);
        rest(IDLE_SECONDS);
        let seconds = seconds_between(since, now_ns());
        let traffic = (loopback_bytes()? - bytes) as f64 / 1e3 / seconds;
        let after = cluster.cpu_seconds()?;
        let cpu: Vec<f64> = after.iter().zip(&cpu).map(|(after, before)| (after - before) * 100.0 / seconds).collect();
        windows.push((traffic, cpu));
    }
    let quietest = windows.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
    let (traffic, cpu) = quietest.ok_or_else(|| Failure::new("no idle window was measured"))?;
    Ok((vec![traffic], cpu))
}

/// Waits until no node tells any of the topics.
fn await_gone(cluster: &Cluster, topics: &[Topic]) -> Result<(), Failure> {
    let until = now_ns() + DELETE_SECONDS_MAX * SECOND_NS;
    for mut client in cluster.clients()? {
        while !client.view(topics)?.topics.is_empty() {
            if now_ns() > until {
                return Err(Failure::new(format!("topics are still there after {DELETE_SECONDS_MAX} s")));
            }
            rest(ASK_AGAIN_SECONDS);
        }
    }
    Ok(())
}
