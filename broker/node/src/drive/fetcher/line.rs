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
use tokio::time::{Instant, timeout};

use crate::net::link::LinkError;
use crate::net::talk::Talk;

/// The first pause after a failure; each failure in a row doubles it.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The patience with dialling is not doubled more often than this.
const DOUBLINGS_MAX: u32 = 16;
/// The first batch comes whole, whatever its size, and it comes from a broker of this cluster.
const ANSWER_BYTES_MAX: usize = i32::MAX as usize;

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
pub(super) struct Line(Option<To>);

struct To {
    at: At,
    transport: Arc<dyn Transport>,
    /// Not there while a question is on its way: one that is given up takes the connection along.
    talk: Option<Talk>,
    /// Diallings in a row that nobody answered.
    unheard: u32,
    pause: Duration,
    /// Until when nobody is dialled again, and why not.
    rest: Option<(Instant, LinkError)>,
}

impl Line {
    /// Where it leads.
    pub(super) fn at(&self) -> Option<&At> {
        self.0.as_ref().map(|to| &to.at)
    }

    /// Sees to it that it leads to `at`. Is that somewhere else than before?
    pub(super) fn lead_to(&mut self, at: Option<At>, transport: &Arc<dyn Transport>) -> bool {
        if self.at() == at.as_ref() {
            return false;
        }
        let transport = Arc::clone(transport);
        self.0 = at.map(|at| To { at, transport, talk: None, unheard: 0, pause: PAUSE_MIN, rest: None });
        true
    }

    /// Hangs up.
    pub(super) fn drop_connection(&mut self) {
        if let Some(to) = &mut self.0 {
            to.talk = None;
        }
    }

    /// Asks, and waits for the body of the answer until `moved` is done. A leader that does not answer is dialled anew next
    /// time.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub(super) async fn ask(
        &mut self,
        (key, version, body): (ApiKey, i16, Bytes),
        settings: &ReplicationSettings,
        moved: impl Future<Output = ()>,
    ) -> Result<Bytes, Unanswered> {
        let Some(to) = &mut self.0 else { return Err(Unanswered::Nowhere) };
        let patience = Duration::from_millis(settings.socket_timeout_ms.max(1));
        tokio::select! {
            biased;
            answer = timeout(patience, to.ask(key, version, body, settings)) => match answer {
                Ok(answer) => Ok(answer?),
                Err(_) => Err(Unanswered::Silent(patience)),
            },
            () = moved => Err(Unanswered::Moved),
        }
    }
}

impl To {
    async fn ask(
        &mut self,
        key: ApiKey,
        version: i16,
        body: Bytes,
        settings: &ReplicationSettings,
    ) -> Result<Bytes, LinkError> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => self.dial(settings).await?,
        };
        match talk.ask(key, version, body).await {
            Ok(answer) => {
                (self.talk, self.pause) = (Some(talk), PAUSE_MIN);
                Ok(answer)
            }
            Err(error) => Err(self.rests(error)),
        }
    }

    async fn dial(&mut self, settings: &ReplicationSettings) -> Result<Talk, LinkError> {
        if let Some((until, why)) = &self.rest
            && Instant::now() < *until
        {
            return Err(why.clone());
        }
        let first = settings.connection_setup_timeout_ms.max(1);
        let doubled = first.saturating_mul(1 << self.unheard.min(DOUBLINGS_MAX));
        let patience = Duration::from_millis(doubled.min(settings.connection_setup_timeout_max_ms.max(first)));
        self.unheard = self.unheard.saturating_add(1);
        let dialled = Talk::dial(&*self.transport, (&self.at.1, self.at.2), patience, ANSWER_BYTES_MAX).await;
        match dialled {
            Ok(talk) => {
                self.unheard = 0;
                Ok(talk)
            }
            Err(error) => Err(self.rests(error)),
        }
    }

    /// Nobody is dialled again before a pause is over; each failure in a row doubles it.
    fn rests(&mut self, why: LinkError) -> LinkError {
        self.rest = Some((Instant::now() + self.pause, why.clone()));
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        why
    }
}

#[cfg(test)]
mod tests;
