//! A broker's start.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::time::Duration;

use ballast_core::controller::{Config as ControllerConfig, Controller};
use ballast_core::endpoint::{Endpoint, SecurityProtocol};
use ballast_core::fetch_session::FetchSessions;
use ballast_core::image::{Broker as Registration, Image};
use ballast_core::registration::{Config as MembershipConfig, Registration as Membership};
use ballast_core::settings::{BrokerSettings, Layers, SettingError};
use ballast_net::{Connection, Listener};
use ballast_wire::{BrokerId, Uuid};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::publish::{Entries, publish, publish_alone};
use super::{Broker, BrokerConfig, Tasks, World, controllers};
use crate::api::intercept::{Intercept, Interceptor};
use crate::api::{Requests, TABLE};
use crate::drive::controller::{MetadataLog, controller};
use crate::drive::coordinator::{Coordinators, Surroundings};
use crate::drive::dirs::{self, Placements};
use crate::drive::fetcher::{self, Fetchers};
use crate::drive::isr::{self, Proposals};
use crate::drive::metadata::Metadata;
use crate::drive::producer_ids::ProducerIds;
use crate::drive::registration::{self, Identity};
use crate::drive::settings::LiveSettings;
use crate::drive::store::{OpenError, Store, StoreConfig};
use crate::drive::ticks::Ticks;
use crate::http::{self, metrics::Metrics};
use crate::net::conn::ConnLimits;
use crate::net::limits::{Budget, ConnectionCount};
use crate::net::listen::{self, Accept};
use crate::node::Node;
use crate::quorum::QuorumError;
use crate::session::Session;

/// Node id of a broker whose settings name none.
const DEFAULT_NODE_ID: BrokerId = 1;
/// Memory for requests in flight where `queued.max.request.bytes` does not say.
const REQUEST_MEMORY_BYTES: u64 = 512 << 20;
/// How long leaving in order may take.
const LEAVE_MAX_MS: u64 = 5_000;

/// Why a broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// A protocol that is not there.
    #[error("listener {listener} asks for {protocol}, and only PLAINTEXT is supported")]
    Protocol {
        /// The listener.
        listener: String,
        /// What it asks for.
        protocol: SecurityProtocol,
    },
    /// A quorum of several needs a listener of its own.
    #[error(
        "controller.quorum.voters names several nodes, and this one has no controller listener: give it --controller HOST:PORT"
    )]
    NoControllerListener,
    /// A log directory cannot be used.
    #[error("{0}")]
    Storage(String),
    /// The metadata cannot be used.
    #[error("{0}")]
    Metadata(#[from] QuorumError),
    /// The controller did not let the broker in.
    #[error("{0}")]
    Membership(String),
}

impl From<OpenError> for StartError {
    fn from(error: OpenError) -> StartError {
        StartError::Storage(error.to_string())
    }
}

/// A listener that is bound but does not accept yet.
pub(super) struct Bound {
    pub(super) listener: Box<dyn Listener>,
    pub(super) advertised: Endpoint,
}

/// Everything below the API.
struct Base {
    id: BrokerId,
    incarnation: Uuid,
    settings: Arc<LiveSettings>,
    ticks: Ticks,
    store: Arc<Store>,
    started: controllers::Started,
    metadata: Arc<Metadata>,
    entries: Entries,
    /// What leaders wish their ISRs to be.
    wishes: isr::Wishes,
    /// What the store says of where replicas live.
    placed: dirs::Placed,
    /// Broker epoch of the last clean stop, -1 if the last stop was none.
    previous_epoch: i64,
    interceptor: Option<Arc<dyn Intercept>>,
}

impl Broker {
    /// Starts a broker and waits until it serves.
    ///
    /// # Errors
    /// One line that says what stands in the way, and where.
    pub async fn start(config: BrokerConfig, world: World) -> Result<Broker, StartError> {
        let statics = Arc::new(config.statics.clone());
        let settings = BrokerSettings::resolve(&Layers { broker: None, cluster: None, statics: &statics })?;
        let id = settings.node.node_id.unwrap_or(DEFAULT_NODE_ID);
        let bound = bind_all(&settings.node.listeners, &settings.node.advertised, &settings, &world).await?;
        let http = bind_http(config.http).await?;
        let base = Base::open(&config, &world, LiveSettings::new(id, statics)?).await?;
        let listeners: Vec<Endpoint> = bound.iter().map(|bound| bound.advertised.clone()).collect();
        let http_at = http.as_ref().and_then(|listener| listener.local_addr().ok());
        let (quorum, controller) = (Arc::clone(&base.started.quorum), base.started.at.clone());
        let (node, tasks) = run(base, &world, bound, http, &listeners).await?;
        let controller = controller.map(|at| at.to_string());
        Ok(Broker { node, quorum, listeners, controller, http: http_at, tasks })
    }
}

/// Binds `endpoints`; each is advertised as `advertised` says, or as it is bound.
pub(super) async fn bind_all(
    endpoints: &[Endpoint],
    advertised: &[Endpoint],
    settings: &BrokerSettings,
    world: &World,
) -> Result<Vec<Bound>, StartError> {
    let send_buffer_bytes = settings.network.send_buffer_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let mut bound = Vec::new();
    for endpoint in endpoints {
        if endpoint.protocol != SecurityProtocol::Plaintext {
            let (listener, protocol) = (endpoint.listener.clone(), endpoint.protocol);
            return Err(StartError::Protocol { listener, protocol });
        }
        let host = if endpoint.host.is_empty() { "0.0.0.0" } else { &endpoint.host };
        let listener = world
            .transport
            .listen(host, endpoint.port, send_buffer_bytes)
            .await
            .map_err(|source| StartError::Listen { address: format!("{host}:{}", endpoint.port), source })?;
        let mut advertised =
            advertised.iter().find(|other| other.listener == endpoint.listener).unwrap_or(endpoint).clone();
        if advertised.port == 0 {
            advertised.port = listener.local_addr().port();
        }
        if advertised.host.is_empty() || advertised.host == "0.0.0.0" || advertised.host == "::" {
            advertised.host = host_name();
        }
        bound.push(Bound { listener, advertised });
    }
    Ok(bound)
}

/// This machine's name: what Kafka advertises when it is told nothing.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

async fn bind_http(address: Option<SocketAddr>) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = address else { return Ok(None) };
    let bound = TcpListener::bind(address).await;
    bound.map(Some).map_err(|source| StartError::Listen { address: format!("{address} (HTTP)"), source })
}

impl Base {
    /// Locks the directories, starts the quorum, and opens what the metadata gives to this broker.
    async fn open(config: &BrokerConfig, world: &World, settings: LiveSettings) -> Result<Base, StartError> {
        let (id, settings) = (settings.broker(), Arc::new(settings));
        let incarnation = ballast_net::random_uuid(&*world.entropy);
        let ticks = Ticks::new();
        let (proposals, wishes) = Proposals::channel();
        let (placements, placed) = Placements::channel();
        let store_config = StoreConfig {
            me: id,
            incarnation,
            disk: Arc::clone(&world.disk),
            clock: Arc::clone(&world.clock),
            entropy: Arc::clone(&world.entropy),
            ticks,
            settings: Arc::clone(&settings),
            proposals,
            placements,
        };
        let store = Arc::new(Store::new(store_config, &config.log_dirs)?);
        let started = controllers::start(world, id, &store.dirs[0], &settings).await?;
        let mut entries = started.quorum.listen();
        let Some((image, _)) = entries.recv().await else {
            return Err(StartError::Storage("the metadata quorum ended as it started".to_owned()));
        };
        settings.apply(&image);
        let metadata = Arc::new(Metadata::new(Arc::clone(&world.clock)));
        let previous_epoch =
            if settings.now().node.roles.broker { open_logs(&store, world, &image).await? } else { -1 };
        metadata.publish(image);
        let interceptor = config.interceptor.clone().map(|Interceptor(interceptor)| interceptor);
        Ok(Base {
            id,
            incarnation,
            settings,
            ticks,
            store,
            started,
            metadata,
            entries,
            wishes,
            placed,
            previous_epoch,
            interceptor,
        })
    }
}

/// Opens what the metadata gives to this broker. Gives the broker epoch of the last clean stop, -1 if the last stop was none.
async fn open_logs(store: &Arc<Store>, world: &World, image: &Arc<Image>) -> Result<i64, StartError> {
    store.set_image(image);
    let opened = store.open_all(Arc::clone(image)).await?;
    let (at_store, at_image) = (Arc::clone(store), Arc::clone(image));
    crate::drive::store::on_disk(&world.disk, move || at_store.apply_all(&at_image)).await;
    let (partitions, recovered, strays) = (opened.partitions, opened.recovered, opened.strays);
    let clean = opened.clean_epoch.is_some();
    tracing::info!(partitions, recovered, strays, clean, "logs are open");
    Ok(opened.clean_epoch.unwrap_or(-1))
}

/// Starts everything that runs, and waits until the controller has let the broker in.
async fn run(
    base: Base,
    world: &World,
    bound: Vec<Bound>,
    http: Option<TcpListener>,
    listeners: &[Endpoint],
) -> Result<(Arc<Node>, Tasks), StartError> {
    let log: Arc<dyn MetadataLog> = Arc::clone(&base.started.quorum) as Arc<dyn MetadataLog>;
    let machine = new_controller(&base, world)?;
    let (handle, controlling) = controller(machine, Arc::clone(&log), base.ticks, Arc::clone(&base.started.quorum));
    let coordinators = coordinators(&base, world);
    let fetchers = fetchers(&base, world);
    let roles = base.settings.now().node.roles;
    let (entries, live, metadata) = (base.entries, Arc::clone(&base.settings), Arc::clone(&base.metadata));
    let publishing = if roles.broker {
        let (fetchers, coordinators) = (Arc::clone(&fetchers), Arc::clone(&coordinators));
        tokio::spawn(publish(entries, live, Arc::clone(&base.store), fetchers, coordinators, metadata))
    } else {
        tokio::spawn(publish_alone(entries, live, metadata))
    };
    let controllers::Started { quorum, node: late, tasks: mut background, .. } = base.started;
    background.extend([tokio::spawn(controlling), publishing]);

    let settings = base.settings.now();
    let memory = settings.network.queued_max_request_bytes.unwrap_or(REQUEST_MEMORY_BYTES);
    let node = Arc::new(Node {
        id: base.id,
        clock: Arc::clone(&world.clock),
        entropy: Arc::clone(&world.entropy),
        authorizer: Arc::clone(&world.authorizer),
        loggers: world.loggers.clone(),
        ticks: base.ticks,
        metadata: Arc::clone(&base.metadata),
        store: Arc::clone(&base.store),
        controller: handle,
        fetchers,
        coordinators,
        producer_ids: ProducerIds::default(),
        fetch_sessions: Mutex::new(FetchSessions::new(settings.replication.fetch_session_slots)),
        quorum,
        metrics: Metrics::new(),
        interceptor: base.interceptor,
        budget: Budget::new(usize::try_from(memory).unwrap_or(usize::MAX)),
        connections: ConnectionCount::new(),
        epoch: AtomicI64::new(-1),
        controller_heard_at: AtomicU64::new(base.ticks.now()),
        cut_off: AtomicBool::new(false),
        ready: watch::Sender::new(false),
        stopping: watch::Sender::new(false),
        settings: base.settings,
    });
    // Nobody else fills it.
    let _ = late.set(Arc::clone(&node));
    let cluster = cluster_id(&node).await;
    node.store.join_cluster(cluster)?;

    let leave = watch::Sender::new(false);
    let membership = if roles.broker {
        let life = (base.incarnation, base.previous_epoch);
        let membership = register(&node, life, cluster, listeners, leave.subscribe()).await?;
        background.push(tokio::spawn(Arc::clone(&node.store).keep_house()));
        background.push(tokio::spawn(Arc::clone(&node.store).move_replicas()));
        background.push(tokio::spawn(isr::run(base.wishes, Arc::clone(&node))));
        background.push(tokio::spawn(dirs::run(base.placed, Arc::clone(&node))));
        background.push(tokio::spawn(Arc::clone(&node.fetchers).follow_late()));
        Some(membership)
    } else {
        tracing::info!(node = node.id, "a controller alone: it serves the metadata quorum and has no records");
        node.ready.send_replace(true);
        None
    };
    let connections = accept(&node, bound);
    background.extend(http.map(|listener| tokio::spawn(serve_http(listener, Arc::clone(&node)))));
    let close = node.stopping.clone();
    Ok((node, Tasks { leave, close, membership, connections, background }))
}

async fn serve_http(listener: TcpListener, node: Arc<Node>) {
    let stop = node.stopping.subscribe();
    if let Err(error) = http::serve(listener, node, stop).await {
        tracing::error!(%error, "HTTP is not served any more");
    }
}

/// Groups are led from the first entry on that registers this life of the broker.
fn coordinators(base: &Base, world: &World) -> Arc<Coordinators> {
    Arc::new(Coordinators::new(Surroundings {
        store: Arc::clone(&base.store),
        settings: Arc::clone(&base.settings),
        clock: Arc::clone(&world.clock),
        ticks: base.ticks,
    }))
}

/// Followers fetch from the first entry on that registers this life of the broker.
fn fetchers(base: &Base, world: &World) -> Arc<Fetchers> {
    Arc::new(Fetchers::new(fetcher::Surroundings {
        me: base.id,
        incarnation: base.incarnation,
        store: Arc::clone(&base.store),
        settings: Arc::clone(&base.settings),
        transport: Arc::clone(&world.transport),
        clock: Arc::clone(&world.clock),
        ticks: base.ticks,
    }))
}

fn new_controller(base: &Base, world: &World) -> Result<Controller, SettingError> {
    let config = ControllerConfig {
        node: base.id,
        statics: base.settings.statics().clone(),
        bootstrap_features: crate::features::bootstrap(),
        supported_features: crate::features::ranges(),
    };
    let entropy = Arc::clone(&world.entropy);
    let random = move || {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        bytes
    };
    Controller::new(config, Box::new(random))
}

/// The cluster's id, once the controller has minted it.
async fn cluster_id(node: &Node) -> Uuid {
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
async fn register(
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

fn accept(node: &Arc<Node>, bound: Vec<Bound>) -> Vec<JoinHandle<()>> {
    let settings = node.settings.now();
    let network = &settings.network;
    let limits = ConnLimits {
        frame_bytes_max: network.request_max_bytes,
        idle_max: Duration::from_millis(network.connections_max_idle_ms),
        budget: Arc::clone(&node.budget),
    };
    let accepting = bound.into_iter().map(|Bound { listener, advertised }| {
        let name: Arc<str> = advertised.listener.into();
        let (node, of_session) = (Arc::clone(node), Arc::clone(&name));
        let stop = node.stopping.subscribe();
        let (count, settings) = (Arc::clone(&node.connections), node.settings.watch());
        let service = move |connection: &Connection| Requests {
            node: Arc::clone(&node),
            table: TABLE,
            session: Session {
                listener: Arc::clone(&of_session),
                principal: "User:ANONYMOUS".into(),
                host: connection.peer.ip(),
                client_id: "".into(),
            },
        };
        tokio::spawn(listen::run(Accept { name, listener, limits: limits.clone(), count, settings, service, stop }))
    });
    accepting.collect()
}
