//! The connection to a leader: dialled, asked, and given up in time.
//!
//! Dialling is given up after `socket.connection.setup.timeout.ms` (twice as long after each failure, up to the max), an
//! answer after `replica.socket.timeout.ms`. Neither is waited for once the leader lives elsewhere, or nothing is left to ask.
//!
//! Holds: at most one connection, and to the life of the leader that the metadata names.

use std::sync::Arc;
use std::time::Duration;

use ballast_core::settings::ReplicationSettings;
use ballast_net::Transport;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use tokio::time::timeout;

use crate::net::link::{Link, LinkError, LinkLimits};

/// A life of a leader, by its broker epoch, and where it listens.
pub(super) type At = (i64, String, u16);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    #[error("it is not known where the leader is")]
    Nowhere,
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("the leader is silent for {0:?}")]
    Silent(Duration),
    #[error("the leader is elsewhere by now, or not asked any more")]
    Moved,
}

/// See the module.
#[derive(Default)]
pub(super) struct Line(Option<(At, Link)>);

impl Line {
    /// Where it leads.
    pub(super) fn at(&self) -> Option<&At> {
        self.0.as_ref().map(|(at, _)| at)
    }

    /// Sees to it that it leads to `at`. Is that somewhere else than before?
    pub(super) fn lead_to(
        &mut self,
        at: Option<At>,
        transport: &Arc<dyn Transport>,
        settings: &ReplicationSettings,
    ) -> bool {
        if self.at() == at.as_ref() {
            return false;
        }
        self.0 = at.map(|at| {
            let link = Link::new(Arc::clone(transport), &at.1, at.2, limits(settings));
            (at, link)
        });
        true
    }

    /// Hangs up.
    pub(super) fn drop_connection(&mut self) {
        self.0 = None;
    }

    /// Asks, and waits for the body of the answer until `moved` is done. A leader that is silent is dialled anew next time.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub(super) async fn ask(
        &mut self,
        (key, version, body): (ApiKey, i16, Bytes),
        settings: &ReplicationSettings,
        moved: impl Future<Output = ()>,
    ) -> Result<Bytes, Unanswered> {
        let Some((_, link)) = &self.0 else { return Err(Unanswered::Nowhere) };
        let patience = patience(settings);
        let answer = tokio::select! {
            biased;
            answer = timeout(patience, link.ask(key, version, body)) => answer,
            () = moved => {
                self.drop_connection();
                return Err(Unanswered::Moved);
            }
        };
        match answer {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                self.drop_connection();
                Err(Unanswered::Silent(patience))
            }
        }
    }
}

fn patience(settings: &ReplicationSettings) -> Duration {
    Duration::from_millis(settings.socket_timeout_ms.max(1))
}

fn limits(settings: &ReplicationSettings) -> LinkLimits {
    let ms = Duration::from_millis;
    LinkLimits {
        dial_min: ms(settings.connection_setup_timeout_ms.max(1)),
        dial_max: ms(settings.connection_setup_timeout_max_ms.max(1)),
        patience: patience(settings),
        // The first batch comes whole, whatever its size, and it comes from a broker of this cluster.
        answer_bytes_max: i32::MAX as usize,
    }
}

#[cfg(test)]
mod tests;
