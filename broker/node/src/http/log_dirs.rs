//! Log directories and the replicas that move between them, under Kafka's names (`LogManager`, `ReplicaAlterLogDirsManager`).

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::lines::one;
use crate::node::Node;

/// Everything.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let offline = node.store.dirs.iter().filter(|dir| dir.is_offline()).count();
    one(encoder, "kafka_log_logmanager_offlinelogdirectorycount", "Log directories that have failed", offline as u64)?;
    let futures = node.store.futures();
    let lag = futures.iter().map(|future| future.lag()).max().unwrap_or(0);
    let help = "Most records that a replica lacks which moves to another log directory";
    one(encoder, "kafka_server_replicaalterlogdirsmanager_maxlag", help, u64::try_from(lag).unwrap_or(0))?;
    let help = "Replicas that move to another log directory";
    one(encoder, "ballast_replicas_moving_between_log_dirs", help, futures.len() as u64)
}
