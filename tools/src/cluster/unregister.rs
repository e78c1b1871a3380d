//! `ballast cluster unregister`: a broker that is gone for good leaves the cluster's list.
//!
//! Holds: one that is not fenced is not touched. Kafka lets go of it, too, and it then asks in vain to take part.

use ballast_client::{Admin, Cluster};
use ballast_wire::BrokerId;
use clap::Args;

use crate::error::Failure;
use crate::output::{count, print, print_json};

#[derive(Args, Debug)]
pub(super) struct UnregisterArgs {
    /// The broker's id.
    #[arg(value_name = "ID")]
    broker: BrokerId,
}

pub(super) async fn run(cluster: &Cluster, args: &UnregisterArgs, json: bool) -> Result<(), Failure> {
    let (admin, id) = (Admin::new(cluster.clone()), args.broker);
    let described = admin.describe_cluster().await?;
    if described.brokers.iter().any(|broker| broker.id == id && !broker.fenced) {
        let why = format!("broker {id} takes part in the cluster; stop it first");
        return Err(Failure::Failed(why));
    }
    admin.unregister_broker(id).await?;
    let metadata = cluster.all_topics().await?;
    let partitions = metadata.topics.values().flat_map(|topic| topic.partitions.values());
    let assigned = partitions.filter(|partition| partition.replicas.contains(&id)).count();
    if json {
        return print_json(&serde_json::json!({ "broker": id, "outcome": "unregistered", "assigned": assigned }));
    }
    let left = match assigned {
        0 => String::new(),
        assigned => format!("; {} partitions still have a replica assigned to it", count(assigned as i64)),
    };
    print(&format!("broker {id} is unregistered{left}"))
}
