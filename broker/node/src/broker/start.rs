//! A broker's start, in the order in which its parts need each other (drawn in `broker`).
//!
//! Holds: clients are served once everything is there, and not before.
//!
//! Read next: `listeners` (bound first, served last), parts (what is put together), membership (how the cluster lets it in).

mod membership;
mod parts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

use ballast_core::endpoint::Endpoint;
use ballast_core::fetch_session::FetchSessions;
use ballast_core::image::Image;
use ballast_core::settings::{BrokerSettings, Layers};
use ballast_wire::{BrokerId, Uuid};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::membership::{cluster_id, register};
use self::parts::{coordinators, fetchers, new_controller};
use super::error::StartError;
use super::listeners::{Bound, accept, bind_all, bind_http, serve_http};
use super::publish::{Entries, publish, publish_alone};
use super::{Broker, BrokerConfig, Tasks, World, controllers};
use crate::api::intercept::{Intercept, Interceptor};
use crate::drive::controller::{MetadataLog, controller};
use crate::drive::dirs::{self, Placements};
use crate::drive::isr;
use crate::drive::metadata::Metadata;
use crate::drive::producer_ids::ProducerIds;
use crate::drive::proposals::{Proposals, Wishes};
use crate::drive::settings::LiveSettings;
use crate::drive::store::{Store, StoreConfig};
use crate::drive::ticks::Ticks;
use crate::http::metrics::Metrics;
use crate::net::limits::{Budget, ConnectionCount};
use crate::node::Node;

/// Node id of a broker whose settings name none.
const DEFAULT_NODE_ID: BrokerId = 1;
/// Memory for requests in flight where `queued.max.request.bytes` does not say.
const REQUEST_MEMORY_BYTES: u64 = 512 << 20;

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
    wishes: Wishes,
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
    // Where there is no log none can be torn: the first start follows no crash.
    let clean = opened.clean_epoch.is_some() || opened.partitions == 0;
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
