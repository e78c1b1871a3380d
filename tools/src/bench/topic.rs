//! The topic of a bench: the user's, or one that is made and goes with the bench.

use std::time::Duration;

use ballast_client::admin::NewTopic;
use ballast_client::{Admin, Cluster};
use ballast_net::{Entropy as _, OsEntropy};

use super::Common;
use crate::error::Failure;

/// How long a new topic's leaders are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct BenchTopic {
    pub(super) name: String,
    pub(super) partitions: Vec<i32>,
    cluster: Cluster,
    /// Made by us.
    pub(super) is_ours: bool,
}

impl BenchTopic {
    pub(super) async fn open(cluster: &Cluster, common: &Common) -> Result<BenchTopic, Failure> {
        let is_ours = common.topic.is_none();
        let name = match &common.topic {
            Some(name) => name.clone(),
            None => {
                let mut bytes = [0; 4];
                OsEntropy.fill(&mut bytes);
                let topic = NewTopic {
                    name: format!("ballast-bench-{:08x}", u32::from_be_bytes(bytes)),
                    partitions: Some(common.partitions),
                    replication_factor: common.replication_factor,
                    ..NewTopic::default()
                };
                Admin::new(cluster.clone()).create_topic(&topic, false).await?.name
            }
        };
        let patience = if is_ours { PATIENCE } else { Duration::ZERO };
        let metadata = cluster.topics(&[&name], false, patience).await?;
        let partitions = metadata.topics[&name].partitions.keys().copied().collect();
        Ok(BenchTopic { name, partitions, cluster: cluster.clone(), is_ours })
    }

    /// Deletes it, if we have made it, and gives `result` on; a failure of the bench counts more than one of this.
    pub(super) async fn close<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        if !self.is_ours {
            return result;
        }
        let deleted = Admin::new(self.cluster).delete_topic(&self.name).await;
        let result = result?;
        deleted?;
        Ok(result)
    }
}
