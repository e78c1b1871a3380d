//! How a broker becomes a member of its cluster: by the id that the controller has minted, registered, and let in.
//!
//! Read next: `drive::registration` (the task behind it), `core::registration` (what it decides).

use std::sync::Arc;

use ballast_core::endpoint::Endpoint;
use ballast_core::image::Broker as Registration;
use ballast_core::registration::{Config as MembershipConfig, Registration as Membership};
use ballast_wire::Uuid;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::error::StartError;
use crate::drive::registration::{self, Identity};
use crate::node::Node;

/// How long leaving in order may take.
const LEAVE_MAX_MS: u64 = 5_000;

/// The cluster's id, once the controller has minted it.
pub(super) async fn cluster_id(node: &Node) -> Uuid {
    let mut applied = node.metadata.watch();
    loop {
        if let Some(id) = node.metadata.image().cluster_id() {
            return id;
        }
        if applied.changed().await.is_err() {
            // The metadata lives as long as the node.
            std::future::pending::<()>().await;
        }
    }
}

fn registration(node: &Node, incarnation: Uuid, listeners: &[Endpoint]) -> Registration {
    Registration {
        id: node.id,
        epoch: ballast_core::image::EPOCH_IS_INDEX,
        incarnation,
        listeners: listeners.to_vec(),
        rack: node.settings.now().node.rack.clone(),
        log_dirs: node.store.dirs.iter().filter(|dir| !dir.is_offline()).map(|dir| dir.id).collect(),
        features: crate::features::ranges(),
        fenced: true,
        in_controlled_shutdown: false,
    }
}

fn membership_config(node: &Node, previous_epoch: i64) -> MembershipConfig {
    let settings = node.settings.now();
    let membership = &settings.membership;
    MembershipConfig {
        heartbeat_interval_ms: membership.heartbeat_interval_ms,
        initial_timeout_ms: membership.initial_registration_timeout_ms,
        shutdown_timeout_ms: LEAVE_MAX_MS,
        previous_epoch,
    }
}

/// Registers the broker, and waits until it is unfenced. `life`: its incarnation, and the broker epoch of the last clean stop.
pub(super) async fn register(
    node: &Arc<Node>,
    (incarnation, previous_epoch): (Uuid, i64),
    cluster: Uuid,
    listeners: &[Endpoint],
    leave: watch::Receiver<bool>,
) -> Result<JoinHandle<registration::Ended>, StartError> {
    let identity =
        Identity { registration: registration(node, incarnation, listeners), cluster_id: cluster.to_string() };
    let membership = Membership::new(membership_config(node, previous_epoch));
    let mut membership = tokio::spawn(registration::run(membership, Arc::clone(node), identity, leave));
    let_in(node, &mut membership).await?;
    Ok(membership)
}

/// Waits until the broker is unfenced.
async fn let_in(node: &Node, membership: &mut JoinHandle<registration::Ended>) -> Result<(), StartError> {
    let mut ready = node.ready.subscribe();
    tokio::select! {
        biased;
        ended = membership => Err(StartError::Membership(match ended {
            Ok(registration::Ended::GaveUp(reason)) => reason,
            other => format!("the membership ended: {other:?}"),
        })),
        _ = ready.wait_for(|ready| *ready) => Ok(()),
    }
}
