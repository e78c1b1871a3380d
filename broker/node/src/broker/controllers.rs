//! A broker's part in the metadata quorum: the controller listener, and the quorum behind it.
//!
//! ```text
//! bind controller listener ─► quorum opened ─► listener answers the quorum's calls ─► member, caught up with the leader
//! ```
//! Holds: the listener answers before anything else of the broker is there, because the others need this node's vote; and
//! the broker goes on only with an image that has everything that was committed when it started.
//!
//! Read next: `api::controllers` (what is served), `quorum::members` (founding and joining).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ballast_core::settings::{NodeSettings, QuorumSettings};
use ballast_net::Connection;
use ballast_wire::BrokerId;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::World;
use super::error::StartError;
use super::listeners::{Bound, bind_all};
use crate::api::controllers::ControllerRequests;
use crate::drive::settings::LiveSettings;
use crate::drive::store::Dir;
use crate::net::conn::ConnLimits;
use crate::net::limits::{Budget, ConnectionCount};
use crate::net::listen::{self, Accept};
use crate::node::Node;
use crate::quorum::{ENTRY_BYTES_MAX, Network, NodeId, Quorum, QuorumConfig, QuorumNode, Timers, keep_membership};
use crate::session::Session;

/// What a request to a controller listener may take beside one entry, in bytes.
const AROUND_ENTRY_BYTES: usize = 8 << 20;
/// Memory for requests of the quorum in flight, in bytes.
const MEMORY_BYTES: usize = 256 << 20;
/// Between two signs of life of the leader, at most.
const HEARTBEAT_MAX: Duration = Duration::from_millis(200);
/// A follower waits for so many signs of life at least, and for half of them before it votes for another.
const HEARTBEATS_PER_SILENCE: u32 = 8;
/// The least that a follower waits: a heartbeat has whole milliseconds.
const SILENCE_MIN: Duration = Duration::from_millis(24);

/// The quorum as a broker starts with it.
pub(super) struct Started {
    pub(super) quorum: Arc<Quorum>,
    /// Where the controller listener can be reached, if there is one.
    pub(super) at: Option<QuorumNode>,
    /// To be filled when the node is put together: from then on Kafka's APIs are served too.
    pub(super) node: Arc<OnceLock<Arc<Node>>>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

/// Binds the controller listeners and starts the quorum; done when this node has caught up with it.
pub(super) async fn start(
    world: &World,
    id: BrokerId,
    dir: &Dir,
    settings: &Arc<LiveSettings>,
) -> Result<Started, StartError> {
    let now = settings.now();
    let bound = bind_all(&now.node.controller_listeners, &now.node.advertised_controllers, &now, world).await?;
    let me = NodeId { node: id, directory: dir.id };
    let listed: BTreeMap<BrokerId, QuorumNode> = now
        .node
        .voters
        .iter()
        .map(|voter| (voter.id, QuorumNode { host: voter.host.clone(), port: voter.port }))
        .collect();
    let advertised =
        bound.first().map(|bound| QuorumNode { host: bound.advertised.host.clone(), port: bound.advertised.port });
    let at = advertised.clone().map(|bound| listed.get(&id).cloned().unwrap_or(bound));
    if let (Some(at), Some(bound)) = (&at, &advertised)
        && is_elsewhere(at, bound)
    {
        tracing::warn!(
            "--quorum lists node {id} at {at}, and its controller listener is at {bound}: the others ask for it at {at}"
        );
    }
    let bootstrap = bootstrap(&now.node);
    let may_vote = now.node.roles.controller;
    let is_alone = may_vote && bootstrap.is_empty() && (listed.is_empty() || listed.keys().eq([&id]));
    if at.is_none() && !is_alone {
        return Err(StartError::NoControllerListener);
    }
    let listens_at = advertised;
    let network = at.clone().map(|advertised| Network {
        transport: Arc::clone(&world.transport),
        listens_at: listens_at.unwrap_or_else(|| advertised.clone()),
        advertised,
        listed,
        bootstrap,
        cluster: dir.cluster,
        request_timeout: Duration::from_millis(now.quorum.request_timeout_ms.max(1)),
    });
    let alone = || BTreeMap::from([(me, at.clone().unwrap_or_default())]);
    let quorum = Quorum::start(QuorumConfig {
        me,
        dir: dir.path.clone(),
        disk: Arc::clone(&world.disk),
        entropy: Arc::clone(&world.entropy),
        clock: Arc::clone(&world.clock),
        timers: timers(&now.quorum),
        voters: if is_alone { alone() } else { BTreeMap::new() },
        may_vote,
        network,
    });
    let quorum = Arc::new(quorum.await?);
    let node = Arc::new(OnceLock::new());
    let mut tasks = accept(&quorum, &node, world, settings, bound);
    let session_timeout = Duration::from_millis(now.membership.session_timeout_ms);
    tasks.push(tokio::spawn(keep_membership(Arc::clone(&quorum), session_timeout)));
    tokio::select! {
        biased;
        error = quorum.fatal() => {
            tasks.iter().for_each(JoinHandle::abort);
            return Err(error.into());
        }
        () = quorum.catch_up() => {}
    }
    Ok(Started { quorum, at, node, tasks })
}

/// Are these certainly two places? Of a host that is a name, or any, only the port says so.
fn is_elsewhere(listed: &QuorumNode, bound: &QuorumNode) -> bool {
    let address = |node: &QuorumNode| node.host.parse::<IpAddr>().ok().filter(|host| !host.is_unspecified());
    let hosts = address(listed).zip(address(bound));
    listed.port != bound.port || hosts.is_some_and(|(listed, bound)| listed != bound)
}

/// The controllers that are named as a way in. Whoever names itself alone begins a quorum of its own.
fn bootstrap(node: &NodeSettings) -> Vec<QuorumNode> {
    const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
    let is_own = |(host, port): &&(String, u16)| {
        node.controller_listeners.iter().chain(&node.advertised_controllers).any(|own| {
            let any_host = own.host.is_empty() || own.host == "0.0.0.0" || own.host == "::";
            let is_local = |host: &str| LOOPBACK.contains(&host);
            own.port == *port && (own.host == *host || (is_local(host) && (any_host || is_local(&own.host))))
        })
    };
    let others = node.bootstrap_controllers.iter().filter(|at| !is_own(at));
    others.map(|(host, port)| QuorumNode { host: host.clone(), port: *port }).collect()
}

/// As Kafka's settings say; the heartbeats follow from them.
fn timers(settings: &QuorumSettings) -> Timers {
    let ms = Duration::from_millis;
    let silence = ms(settings.fetch_timeout_ms).max(SILENCE_MIN);
    let heartbeat = (silence / HEARTBEATS_PER_SILENCE).min(HEARTBEAT_MAX);
    let (election, backoff) = (ms(settings.election_timeout_ms.max(10)), ms(settings.election_backoff_max_ms.max(1)));
    Timers { heartbeat, silence, election, backoff }
}

fn accept(
    quorum: &Arc<Quorum>,
    node: &Arc<OnceLock<Arc<Node>>>,
    world: &World,
    settings: &Arc<LiveSettings>,
    bound: Vec<Bound>,
) -> Vec<JoinHandle<()>> {
    let network = &settings.now().network;
    let limits = ConnLimits {
        frame_bytes_max: network.request_max_bytes.max(ENTRY_BYTES_MAX + AROUND_ENTRY_BYTES),
        idle_max: Duration::from_millis(network.connections_max_idle_ms),
        budget: Budget::new(MEMORY_BYTES),
    };
    // Clients at their limit must not keep controllers away.
    let count = ConnectionCount::new();
    let accepting = bound.into_iter().map(|Bound { listener, advertised }| {
        let name: Arc<str> = advertised.listener.into();
        let (quorum, node, authorizer) = (Arc::clone(quorum), Arc::clone(node), Arc::clone(&world.authorizer));
        let of_session = Arc::clone(&name);
        let service = move |connection: &Connection| ControllerRequests {
            quorum: Arc::clone(&quorum),
            authorizer: Arc::clone(&authorizer),
            node: Arc::clone(&node),
            session: Session {
                listener: Arc::clone(&of_session),
                principal: "User:ANONYMOUS".into(),
                host: connection.peer.ip(),
                client_id: "".into(),
            },
        };
        let (count, settings, limits) = (Arc::clone(&count), settings.watch(), limits.clone());
        // It answers until the broker is gone: the quorum is left last.
        let (never, stop) = watch::channel(false);
        tokio::spawn(async move {
            listen::run(Accept { name, listener, limits, count, settings, service, stop }).await;
            drop(never);
        })
    });
    accepting.collect()
}
