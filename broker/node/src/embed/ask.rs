//! Asking an embedded broker over its own listener, as any client does.

use std::sync::Arc;
use std::time::Duration;

use ballast_net::TcpTransport;
use ballast_wire::frame::ApiKey;
use kafka_protocol::protocol::{Decodable as _, Request};

use super::broker::Broker;
use crate::net::link::{Link, LinkLimits};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(35);
/// The largest answer in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;

impl Broker {
    /// What it answers; `None` if it is down, does not answer, or answers something else.
    pub(super) async fn ask<R: Request>(&self, version: i16, request: R) -> Option<R::Response> {
        let at: std::net::SocketAddr = self.bootstrap().parse().ok()?;
        let mut body = Vec::new();
        request.encode(&mut body, version).ok()?;
        let asking = async move {
            let limits = LinkLimits { patience: PATIENCE, answer_bytes_max: ANSWER_BYTES_MAX };
            let link = Link::new(Arc::new(TcpTransport), &at.ip().to_string(), at.port(), limits);
            tokio::time::timeout(PATIENCE, link.ask(ApiKey(R::KEY), version, body.into())).await.ok()?.ok()
        };
        let mut answer = self.run(asking).await??;
        R::Response::decode(&mut answer, version).ok()
    }

    /// Passes time on the broker's runtime; none if it is down.
    pub(super) async fn pause_ms(&self, ms: u64) {
        // Down: whoever asks next finds out.
        let _ = self.run(async move { tokio::time::sleep(Duration::from_millis(ms)).await }).await;
    }
}
