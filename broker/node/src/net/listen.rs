//! Listeners: accept, count, and hand each connection to a task of its own.

use std::sync::Arc;
use std::time::Duration;

use ballast_core::settings::BrokerSettings;
use ballast_net::{Connection, Listener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::conn::{self, ConnLimits, Service};
use super::limits::{ConnectionCount, ConnectionLimits};
use crate::hush::Hush;

/// How long accepting rests after it failed, for instance because descriptors are used up.
const ACCEPT_REST: Duration = Duration::from_millis(100);

const TOLD_SPAN: Duration = Duration::from_secs(10);
/// Connections closed for their own fault, or for want of room, that are told in a span.
const CLOSINGS_TOLD_MAX: u32 = 20;

/// One listener with what its connections need.
pub(crate) struct Accept<F> {
    pub(crate) name: Arc<str>,
    pub(crate) listener: Box<dyn Listener>,
    pub(crate) limits: ConnLimits,
    pub(crate) count: Arc<ConnectionCount>,
    /// Holds `max.connections` and its like, as they are in force.
    pub(crate) settings: watch::Receiver<Arc<BrokerSettings>>,
    /// Makes the service of a new connection.
    pub(crate) service: F,
    /// Becomes true when the broker stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Accepts until `stop`, then waits until every connection has ended.
pub(crate) async fn run<S, F>(mut accept: Accept<F>)
where
    S: Service + 'static,
    F: Fn(&Connection) -> S + Send,
{
    let mut connections = JoinSet::new();
    let count = Arc::clone(&accept.count);
    let (failures, closings) = (Hush::new(1, TOLD_SPAN), Arc::new(Hush::new(CLOSINGS_TOLD_MAX, TOLD_SPAN)));
    loop {
        let mut stop = accept.stop.clone();
        let next = async {
            count.wait_for_turn(&mut accept.settings).await;
            accept.listener.accept().await
        };
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next() => continue,
            accepted = next => accepted,
        };
        match accepted {
            Ok(connection) => spawn(&mut connections, &accept, connection, &closings),
            Err(error) => {
                if let Some(untold) = failures.admit(Instant::now()) {
                    tracing::warn!(listener = %accept.name, %error, untold, "accepting a connection failed");
                }
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    drop(accept.listener);
    while connections.join_next().await.is_some() {}
}

fn spawn<S, F>(connections: &mut JoinSet<()>, accept: &Accept<F>, connection: Connection, closings: &Arc<Hush>)
where
    S: Service + 'static,
    F: Fn(&Connection) -> S,
{
    let peer = connection.peer;
    let limits = ConnectionLimits::of(&accept.settings.borrow().network, &accept.name, peer.ip());
    let permit = match accept.count.admit(&accept.name, peer.ip(), limits) {
        Ok(permit) => permit,
        Err(limit) => {
            if let Some(untold) = closings.admit(Instant::now()) {
                tracing::warn!(%peer, open = accept.count.open(), untold, "connection refused: {limit} is reached");
            }
            return;
        }
    };
    let service = (accept.service)(&connection);
    let (conn_limits, name, mut stop) = (accept.limits.clone(), Arc::clone(&accept.name), accept.stop.clone());
    let closings = Arc::clone(closings);
    connections.spawn(async move {
        let stopped = async move {
            // A sender that is gone means the same as a stop.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let reason = conn::serve(connection, service, conn_limits, stopped).await;
        let notable = if reason.is_notable() { closings.admit(Instant::now()) } else { None };
        if let Some(untold) = notable {
            tracing::warn!(%peer, listener = %name, untold, "connection closed: {reason}");
        } else {
            tracing::debug!(%peer, listener = %name, "connection closed: {reason}");
        }
        drop(permit);
    });
}
