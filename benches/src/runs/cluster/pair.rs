//! Our cluster and the peer's, both alive, taking turns: A B B A A B B A …

use std::collections::BTreeMap;
use std::path::Path;

use super::Plan;
use super::throughput::{LOADS, produce};
use crate::broker::{Cluster, Software};
use crate::client::Topic;
use crate::load::Span;
use crate::{Failure, records};

/// Our cluster, and the peer's if there is one.
pub(super) struct Pair {
    clusters: Vec<Cluster>,
}

/// What each of the two gave, in order of its turns; nothing for a peer that is not there.
pub(super) struct Both<T> {
    pub(super) ours: Vec<T>,
    pub(super) theirs: Vec<T>,
}

impl Pair {
    pub(super) fn started(
        ours: &Software,
        peer: Option<&Software>,
        root: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Pair, Failure> {
        let both = [Some(ours), peer].into_iter().flatten();
        let clusters = both.map(|software| Cluster::started(software, root, settings)).collect::<Result<_, _>>()?;
        Ok(Pair { clusters })
    }

    /// A pair whose peer has been driven with all loads of P4.
    pub(super) fn warmed(ours: &Software, peer: Option<&Software>, root: &Path, plan: &Plan) -> Result<Pair, Failure> {
        let mut pair = Pair::started(ours, peer, root, &[])?;
        let share = Span { seconds: plan.peer_warm_seconds / LOADS.len() as f64, bytes: u64::MAX };
        for peer in pair.clusters.iter_mut().skip(1) {
            for load in &LOADS {
                produce(peer, load, REPLICAS, Span { seconds: 0.0, bytes: 0 }, share)?;
            }
        }
        Ok(pair)
    }

    /// Lets each of the two do the same so many times, in turns.
    pub(super) fn turns<T>(
        &mut self,
        times: usize,
        mut each: impl FnMut(&mut Cluster) -> Result<T, Failure>,
    ) -> Result<Both<T>, Failure> {
        let mut both = Both { ours: Vec::new(), theirs: Vec::new() };
        for time in 0..times {
            let ours_first = time.is_multiple_of(2);
            let mut order: Vec<usize> = (0..self.clusters.len()).collect();
            if !ours_first {
                order.reverse();
            }
            for index in order {
                let got = each(&mut self.clusters[index])?;
                if index == 0 { both.ours.push(got) } else { both.theirs.push(got) }
            }
        }
        Ok(both)
    }
}

impl<T> Both<T> {
    /// One figure of what each gave.
    pub(super) fn figure(&self, of: impl Fn(&T) -> f64) -> Both<f64> {
        Both { ours: self.ours.iter().map(&of).collect(), theirs: self.theirs.iter().map(&of).collect() }
    }
}

/// A new topic with so many replicas, and the partitions that each node leads. Every replica has a record of each partition:
/// a follower that came before its leader knew the topic asks again after a second, which is no part of a window.
pub(super) fn ready_topic(
    cluster: &Cluster,
    replicas: i16,
    partitions: i32,
) -> Result<(Topic, BTreeMap<i32, Vec<i32>>), Failure> {
    let topic = Topic::unique("ready", partitions);
    let configs = if replicas > 1 { &REPLICATED[..] } else { &REPLICATED[1..] };
    cluster.admin()?.create_replicated(std::slice::from_ref(&topic), replicas, configs)?;
    let led = cluster.await_in_sync(std::slice::from_ref(&topic), replicas as usize)?.by_leader(&topic.name);
    let record = records::single(16, records::wall_ms()).bytes;
    for (leader, partitions) in &led {
        let refused = cluster.client(*leader)?.produce_to(&[(topic.name.clone(), partitions.clone())], &record)?;
        if let Some(code) = refused.first() {
            return Err(Failure::new(format!("{} refused its first record with error {code}", topic.name)));
        }
    }
    Ok((topic, led))
}

/// On how many nodes a replicated partition is.
pub(super) const REPLICAS: i16 = 3;

/// Two of three replicas must have a record before it is acknowledged. Kafka keeps deleted files for a minute; the windows
/// that follow would pay for them.
pub(super) const REPLICATED: [(&str, &str); 2] = [("min.insync.replicas", "2"), ("file.delete.delay.ms", "1000")];
