//! HTTP: metrics for Prometheus, and health.
//!
//! `/metrics` · `/health/live` (the process answers) · `/health/ready` (this broker is registered and unfenced).
//!
//! `/api/v1/faults` and `/api/v1/requests`: only where `test.faults.enable` is set.
//!
//! Read next: `door` (who is let in), `metrics` (what is counted), `exposition` (how it is shown), `exporter` (the names of
//! kafka_exporter).

mod controller;
mod door;
mod exporter;
mod exposition;
mod fetchers;
mod lines;
mod log_dirs;
pub(crate) mod metrics;
mod replication;

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::door::Door;
use crate::node::Node;

/// Serves until `stop` becomes true.
pub(crate) async fn serve(listener: TcpListener, node: Arc<Node>, mut stop: watch::Receiver<bool>) -> io::Result<()> {
    let routes = Router::new()
        .route("/metrics", get(metrics))
        .route("/health/live", get(|| async { "live\n" }))
        .route("/health/ready", get(ready))
        .with_state(Arc::clone(&node));
    let routes = match &node.interceptor {
        Some(interceptor) if node.settings.now().node.faults_enable => routes.merge(interceptor.routes()),
        _ => routes,
    };
    let stopped = async move {
        // A sender that is gone means the same as a stop.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    axum::serve(Door::new(listener), routes).with_graceful_shutdown(stopped).await
}

async fn metrics(State(node): State<Arc<Node>>) -> impl IntoResponse {
    const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match exposition::text(&node) {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn ready(State(node): State<Arc<Node>>) -> (StatusCode, &'static str) {
    if node.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not registered yet\n")
    }
}
