//! What every handler can reach: the parts of a running broker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ballast_core::fetch_session::FetchSessions;
use ballast_core::machine::Tick;
use ballast_net::{Clock, Entropy};
use ballast_wire::{BrokerId, PartitionIndex, Uuid};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::api::intercept::Intercept;
use crate::drive::controller::ControllerHandle;
use crate::drive::coordinator::Coordinators;
use crate::drive::fetcher::Fetchers;
use crate::drive::metadata::Metadata;
use crate::drive::own_topic::Ways;
use crate::drive::partition::{LeaderHint, Partition};
use crate::drive::producer_ids::ProducerIds;
use crate::drive::settings::LiveSettings;
use crate::drive::store::Store;
use crate::drive::ticks::Ticks;
use crate::http::metrics::Metrics;
use crate::loggers::Loggers;
use crate::net::limits::{Budget, ConnectionCount};
use crate::quorum::Quorum;
use crate::session::Authorizer;

/// A running broker.
pub(crate) struct Node {
    pub(crate) id: BrokerId,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) ticks: Ticks,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) loggers: Loggers,
    pub(crate) metadata: Arc<Metadata>,
    pub(crate) store: Arc<Store>,
    pub(crate) controller: ControllerHandle,
    pub(crate) fetchers: Arc<Fetchers>,
    pub(crate) coordinators: Arc<Coordinators>,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) fetch_sessions: Mutex<FetchSessions>,
    pub(crate) quorum: Arc<Quorum>,
    pub(crate) metrics: Metrics,
    /// What a test holds the broker by, if one does.
    pub(crate) interceptor: Option<Arc<dyn Intercept>>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) connections: Arc<ConnectionCount>,
    /// Epoch of the registration, -1 before there is one.
    pub(crate) epoch: AtomicI64,
    /// When the active controller last answered this broker.
    pub(crate) controller_heard_at: AtomicU64,
    /// See [`Node::is_cut_off`].
    pub(crate) cut_off: AtomicBool,
    /// Registered and unfenced?
    pub(crate) ready: watch::Sender<bool>,
    /// Becomes true when connections must end: waits are cut short.
    pub(crate) stopping: watch::Sender<bool>,
}

/// Where a partition is, as this broker knows it.
pub(crate) enum Whereabouts {
    /// Here, though perhaps not led here.
    Here(Arc<Partition>),
    /// It exists, and this is who leads it.
    Elsewhere(LeaderHint),
    /// It should be here, but its log could not be opened.
    Broken,
    /// There is no such topic or partition.
    Unknown,
}

/// How a request names a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TopicKey<'a> {
    /// By name.
    Name(&'a str),
    /// By id.
    Id(Uuid),
}

impl Node {
    /// Epoch of this broker's registration, -1 before there is one.
    pub(crate) fn broker_epoch(&self) -> i64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Is this node's controller the active one, as far as the quorum knows?
    pub(crate) fn is_controller(&self) -> bool {
        *self.quorum.leads().borrow()
    }

    /// The active controller has answered.
    pub(crate) fn hears_the_controller(&self) {
        self.controller_heard_at.store(self.ticks.now(), Ordering::Release);
    }

    /// Has no active controller answered for longer than `silence_ms`? By then it has fenced this broker.
    pub(crate) fn controller_is_silent(&self, now: Tick, silence_ms: Tick) -> bool {
        now.saturating_sub(self.controller_heard_at.load(Ordering::Acquire)) > silence_ms
    }

    /// Is the broker registered and unfenced?
    pub(crate) fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// How this broker has topics made.
    pub(crate) fn ways(&self) -> Ways<'_> {
        Ways { controller: &self.controller, metadata: &self.metadata }
    }

    /// Looks for a partition.
    pub(crate) fn find(&self, topic: TopicKey<'_>, index: PartitionIndex) -> Whereabouts {
        let here = match topic {
            TopicKey::Name(name) => self.store.hosted.by_name(name, index),
            TopicKey::Id(id) => self.store.hosted.by_id(id, index),
        };
        if let Some(partition) = here {
            return Whereabouts::Here(partition);
        }
        let image = self.metadata.image();
        let known = match topic {
            TopicKey::Name(name) => image.topic(name),
            TopicKey::Id(id) => image.topic_by_id(id),
        };
        match known.and_then(|topic| Some((topic.id, topic.partition(index)?))) {
            None => Whereabouts::Unknown,
            Some((id, _)) if self.store.is_broken(id, index) => Whereabouts::Broken,
            // The image gives it to us and it is gone: its topic is being deleted.
            Some((_, partition)) if partition.leader == self.id => Whereabouts::Unknown,
            Some((_, partition)) => {
                Whereabouts::Elsewhere(LeaderHint { leader: partition.leader, leader_epoch: partition.leader_epoch })
            }
        }
    }

    /// Is this broker on the wrong side of a cut, with partitions that it leads in vain? What it knows of the cluster is old.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::Acquire)
    }

    /// The topic's name, for authorization and answers.
    pub(crate) fn topic_name(&self, id: Uuid) -> Option<Arc<str>> {
        self.metadata.image().topic_by_id(id).map(|topic| Arc::clone(&topic.name))
    }
}
