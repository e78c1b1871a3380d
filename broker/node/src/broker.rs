//! A whole broker: its parts put together, in the order in which they need each other.
//!
//! ```text
//! start: bind listeners -> lock log directories -> metadata quorum -> open logs -> controller, publisher
//!        -> register, be unfenced -> accept connections
//! stop:  leave in order (controlled shutdown) -> end fetchers -> end connections -> close logs -> quorum -> mark clean
//! ```
//! A broker is a set of tasks on the runtime that starts it; the world comes in through [`World`].
//!
//! Read next: `start` and `stop` (the two columns above), `controllers` (the quorum).

mod controllers;
mod error;
mod listeners;
mod publish;
mod start;
mod stop;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ballast_core::controller::{Request, Response};
use ballast_core::endpoint::Endpoint;
use ballast_core::settings::Statics;
use ballast_log::disk::Disk;
use ballast_net::{Clock, Entropy, Transport};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::intercept::Interceptor;
use crate::drive::registration::Ended;
use crate::loggers::Loggers;
use crate::node::Node;
use crate::quorum::Quorum;
use crate::session::Authorizer;

pub use error::StartError;

/// The seams that a broker is built on, and who decides what is allowed.
#[derive(Clone)]
pub struct World {
    /// Where bytes are kept.
    pub disk: Arc<dyn Disk>,
    /// Where connections come from.
    pub transport: Arc<dyn Transport>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// The process's loggers.
    pub loggers: Loggers,
}

/// What a broker is started with.
pub struct BrokerConfig {
    /// `server.properties`, environment and flags, merged and found valid.
    pub statics: Statics,
    /// The log directories, in the settings' order.
    pub log_dirs: Vec<PathBuf>,
    /// Where HTTP is served, if it is.
    pub http: Option<SocketAddr>,
    /// What a test holds the broker by: faults and limits. Its disk must be around [`World::disk`].
    pub interceptor: Option<Interceptor>,
}

/// A running broker.
pub struct Broker {
    node: Arc<Node>,
    quorum: Arc<Quorum>,
    listeners: Vec<Endpoint>,
    controller: Option<String>,
    http: Option<SocketAddr>,
    tasks: Tasks,
}

/// What runs, and how it is told to stop.
struct Tasks {
    /// Stops the membership: the broker leaves in order.
    leave: watch::Sender<bool>,
    /// Stops listeners and connections.
    close: watch::Sender<bool>,
    /// None on a node that is no broker.
    membership: Option<JoinHandle<Ended>>,
    connections: Vec<JoinHandle<()>>,
    background: Vec<JoinHandle<()>>,
}

impl Broker {
    /// The listeners as they are bound and advertised, in the settings' order; none on a node that is no broker.
    #[must_use]
    pub fn listeners(&self) -> &[Endpoint] {
        &self.listeners
    }

    /// `HOST:PORT` of the first listener: what clients bootstrap from. On a node that is no broker that is the controller
    /// listener, which serves the quorum and Kafka's tools that ask for a controller.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        match self.listeners.first() {
            Some(first) if first.host.contains(':') => format!("[{}]:{}", first.host, first.port),
            Some(first) => format!("{}:{}", first.host, first.port),
            None => self.controller.clone().unwrap_or_default(),
        }
    }

    /// `HOST:PORT` of the controller listener as the rest of the quorum is told, if there is one.
    #[must_use]
    pub fn controller(&self) -> Option<&str> {
        self.controller.as_deref()
    }

    /// Asks the controller, and waits until this broker has taken in what it decided.
    pub(crate) async fn ask_controller(&self, request: Request) -> Response {
        let answered = self.node.controller.ask(request).await;
        self.node.metadata.wait_for(answered.index).await;
        answered.response
    }

    /// Where HTTP is served, if it is.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Done when the broker can go on no longer, with the cause: its storage or its metadata has failed.
    pub async fn failed(&self) -> String {
        let mut storage = self.node.store.fatal();
        let storage = async {
            match storage.wait_for(Option::is_some).await {
                Ok(cause) => cause.clone().unwrap_or_default(),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            cause = storage => cause,
            cause = self.quorum.fatal() => cause.to_string(),
        }
    }
}
