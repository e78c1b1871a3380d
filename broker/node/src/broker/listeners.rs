//! The listeners of a broker: bound first, before anything is touched, and served last, when everything is there.
//!
//! Holds: what is advertised can be reached: a port that the system chose, and a host where none was named.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ballast_core::endpoint::{Endpoint, SecurityProtocol};
use ballast_core::settings::BrokerSettings;
use ballast_net::{Connection, Listener};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::World;
use super::error::StartError;
use crate::api::{Requests, TABLE};
use crate::http;
use crate::net::conn::ConnLimits;
use crate::net::listen::{self, Accept};
use crate::node::Node;
use crate::session::Session;

/// A listener that is bound but does not accept yet.
pub(super) struct Bound {
    pub(super) listener: Box<dyn Listener>,
    pub(super) advertised: Endpoint,
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

/// Binds the port of metrics and health, if there is to be one.
pub(super) async fn bind_http(address: Option<SocketAddr>) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = address else { return Ok(None) };
    let bound = TcpListener::bind(address).await;
    bound.map(Some).map_err(|source| StartError::Listen { address: format!("{address} (HTTP)"), source })
}

/// Serves metrics and health until the node stops.
pub(super) async fn serve_http(listener: TcpListener, node: Arc<Node>) {
    let stop = node.stopping.subscribe();
    if let Err(error) = http::serve(listener, node, stop).await {
        tracing::error!(%error, "HTTP is not served any more");
    }
}

/// Serves clients on `bound` until the node stops.
pub(super) fn accept(node: &Arc<Node>, bound: Vec<Bound>) -> Vec<JoinHandle<()>> {
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
