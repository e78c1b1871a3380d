//! `ballast cluster drain`: empties a broker of leaderships before work on it.
//!
//! ```text
//! every partition that it leads has another in-sync replica? -> ballast.drain.leaders=true on the broker -> watch
//! ```
//! The order is a dynamic setting of the broker: any tool that changes settings can give it, the controller carries it
//! out, and automatic balancing keeps to it. It ends with the broker's next start, or with `--undo`.
//!
//! Holds: nothing is changed if a partition could not be handed over; asking again is as good as asking once.

use std::time::Duration;

use ballast_client::admin::{ConfigEntry, ConfigResource, ConfigSource, Election};
use ballast_client::{Admin, Cluster, Metadata};
use ballast_core::controller::DRAIN_LEADERS;
use clap::Args;

use crate::error::Failure;
use crate::output::{plural, print, print_json, progress_of};

/// Between two looks at who leads.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// Looks without any progress before the command gives up: half a minute.
const LOOKS_IN_VAIN_MAX: u32 = 150;
/// Partitions that a refusal names.
const NAMED_MAX: usize = 5;

#[derive(Args, Debug)]
pub(super) struct DrainArgs {
    /// The broker.
    #[arg(value_name = "ID")]
    broker: i32,
    /// Hand over its leaderships. (Its replicas stay, and stay in sync.)
    #[arg(long, required_unless_present = "undo")]
    leaders: bool,
    /// Do not wait until it leads nothing.
    #[arg(long, conflicts_with = "undo")]
    no_wait: bool,
    /// Let it lead again, and give it back what it is the preferred leader of.
    #[arg(long, conflicts_with = "leaders")]
    undo: bool,
}

/// Is the broker drained, by its settings? What its file says does not count.
pub(super) fn is_set(settings: &[ConfigEntry]) -> bool {
    let on = |entry: &&ConfigEntry| entry.name == DRAIN_LEADERS && entry.source == ConfigSource::DynamicBroker;
    settings.iter().find(on).is_some_and(|entry| entry.value.as_deref() == Some("true"))
}

pub(super) async fn run(cluster: &Cluster, args: &DrainArgs, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let id = args.broker;
    let known = admin.describe_cluster().await?.brokers.into_iter().find(|broker| broker.id == id);
    let Some(known) = known else {
        return Err(Failure::new(format!("broker {id} is not registered; `ballast cluster nodes` shows who is")));
    };
    if known.fenced {
        return Err(Failure::new(format!(
            "broker {id} is fenced: it leads nothing, and its next start ends a drain; `ballast cluster nodes` says why"
        )));
    }
    if args.undo { undo(cluster, &admin, id, json).await } else { drain(cluster, &admin, args, json).await }
}

async fn drain(cluster: &Cluster, admin: &Admin, args: &DrainArgs, json: bool) -> Result<(), Failure> {
    let id = args.broker;
    let metadata = cluster.all_topics().await?;
    refuse_stuck(&metadata, id, "nothing was changed")?;
    let before = led(&metadata, id).count();
    let setting = [(DRAIN_LEADERS.to_owned(), Some("true".to_owned()))];
    admin.alter_configs(&ConfigResource::Broker(id), &setting, false).await?;
    let bar = progress_of(before as u64, "handing over");
    let (mut left, mut in_vain) = (before, 0);
    loop {
        let metadata = cluster.all_topics().await?;
        let now = led(&metadata, id).count();
        bar.set_position(before.saturating_sub(now) as u64);
        if now == 0 {
            break;
        }
        if args.no_wait {
            return Err(Failure::NotFinished(format!(
                "broker {id} still leads {}; `ballast cluster drain {id} --leaders` waits for it",
                plural(now as i64, "partition")
            )));
        }
        refuse_stuck(&metadata, id, "the others are handed over")?;
        in_vain = if now < left { 0 } else { in_vain + 1 };
        left = now;
        if in_vain > LOOKS_IN_VAIN_MAX {
            return Err(Failure::new(format!(
                "broker {id} still leads {} and nothing moves; is there an active controller? (`ballast cluster quorum`)",
                plural(now as i64, "partition")
            )));
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    bar.finish_and_clear();
    if json {
        return print_json(&serde_json::json!({ "broker": id, "drained": true, "handed_over": before }));
    }
    print(&format!(
        "broker {id} leads nothing; {} handed over. It gets none back before it starts again or `ballast cluster drain {id} --undo`",
        plural(before as i64, "partition")
    ))
}

async fn undo(cluster: &Cluster, admin: &Admin, id: i32, json: bool) -> Result<(), Failure> {
    admin.alter_configs(&ConfigResource::Broker(id), &[(DRAIN_LEADERS.to_owned(), None)], false).await?;
    let metadata = cluster.all_topics().await?;
    let own = partitions(&metadata)
        .filter(|(_, _, p)| p.replicas.first() == Some(&id) && p.leader != id && p.isr.contains(&id));
    let own: Vec<(String, i32)> = own.map(|(topic, index, _)| (topic.to_owned(), index)).collect();
    let elected = if own.is_empty() {
        0
    } else {
        let results = admin.elect_leaders(Election::Preferred, Some(&own)).await?;
        results.values().filter(|result| matches!(result, Ok(true))).count()
    };
    if json {
        return print_json(&serde_json::json!({ "broker": id, "drained": false, "given_back": elected }));
    }
    print(&format!("broker {id} may lead again; {} given back", plural(elected as i64, "partition")))
}

type Partition<'a> = (&'a str, i32, &'a ballast_client::PartitionMetadata);

fn partitions(metadata: &Metadata) -> impl Iterator<Item = Partition<'_>> {
    let topics = metadata.topics.values();
    topics.flat_map(|topic| topic.partitions.iter().map(|(index, p)| (topic.name.as_str(), *index, p)))
}

fn led(metadata: &Metadata, id: i32) -> impl Iterator<Item = Partition<'_>> {
    partitions(metadata).filter(move |(_, _, p)| p.leader == id)
}

/// A partition without another in-sync replica that is alive would be left without a leader.
fn refuse_stuck(metadata: &Metadata, id: i32, otherwise: &str) -> Result<(), Failure> {
    let stuck = led(metadata, id).filter(|(_, _, p)| {
        !p.isr.iter().any(|other| *other != id && metadata.brokers.contains_key(other) && !p.offline.contains(other))
    });
    let names: Vec<String> = stuck.map(|(topic, index, _)| format!("{topic}-{index}")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Failure::new(format!(
        "broker {id} is the only in-sync replica of {}{more}: {otherwise}; give them more replicas, or wait until others are in sync (`ballast cluster describe`)",
        names[..names.len().min(NAMED_MAX)].join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ballast_client::{Broker, ErrorCode, PartitionMetadata, TopicMetadata};

    use super::*;

    fn metadata(isr: &[i32], alive: &[i32]) -> Metadata {
        let partition = PartitionMetadata {
            error: ErrorCode::NONE,
            leader: 1,
            leader_epoch: 0,
            replicas: vec![1, 2],
            isr: isr.to_vec(),
            offline: vec![],
        };
        let topic = TopicMetadata {
            name: "t".to_owned(),
            id: ballast_wire::Uuid::ZERO,
            is_internal: false,
            partitions: [(0, partition)].into(),
        };
        let broker = |id: &i32| (*id, Broker { id: *id, host: "h".to_owned(), port: 1, rack: None });
        let brokers: BTreeMap<_, _> = alive.iter().map(broker).collect();
        Metadata { cluster_id: None, controller: 1, brokers, topics: [("t".to_owned(), topic)].into() }
    }

    #[test]
    fn a_partition_that_nobody_else_could_lead_is_named() {
        assert!(refuse_stuck(&metadata(&[1, 2], &[1, 2]), 1, "").is_ok());
        assert!(refuse_stuck(&metadata(&[1], &[1, 2]), 2, "").is_ok(), "2 leads nothing");
        for (isr, alive) in [(&[1][..], &[1, 2][..]), (&[1, 2], &[1])] {
            let Err(Failure::Failed(said)) = refuse_stuck(&metadata(isr, alive), 1, "nothing was changed") else {
                panic!("ISR {isr:?}, alive {alive:?}");
            };
            assert!(said.starts_with("broker 1 is the only in-sync replica of t-0: nothing was changed"), "{said}");
        }
    }
}
