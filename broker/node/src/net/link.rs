//! One connection to another node, kept up: requests go out as they come, answers are told apart by their correlation id.
//!
//! ```text
//! ask ─► queue ─► task ─► dial, when there is something to ask ─► send ─► answer to whoever waits
//!                   └──── refused, lost, silent: whoever waits is told, and nobody dials before a pause is over
//! ```
//! Holds: at most one connection at a time; a caller that goes away leaves the connection whole, because only the task
//! writes; no request is sent twice.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Connection, Transport, send_all};
use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{Frame, FrameReader};
use super::limits::Budget;

/// Requests that may wait for the connection before others are refused.
const QUEUE_MAX: usize = 64;
/// The first pause after a failure; each failure in a row doubles it.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Why a connection was lost that the other side has ended in order.
pub(crate) const CLOSED: &str = "the peer closed it";

/// Why there is no answer. A request that was lost may have been carried out.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// Nothing was sent.
    #[error("{address} cannot be reached: {why}")]
    Unreachable {
        /// `host:port`.
        address: Arc<str>,
        /// What the system says.
        why: Arc<str>,
    },
    /// The connection ended before the answer.
    #[error("the connection to {address} was lost: {why}")]
    Lost {
        /// `host:port`.
        address: Arc<str>,
        /// What happened.
        why: Arc<str>,
    },
    /// Nothing was sent: too many requests wait already, or the link is gone.
    #[error("too many requests wait for this connection")]
    Crowded,
}

/// How a link behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkLimits {
    /// How long dialling may take, and how long a connection may be silent while answers are due.
    pub(crate) patience: Duration,
    /// The largest answer in bytes.
    pub(crate) answer_bytes_max: usize,
}

type Outcome = Result<Bytes, LinkError>;

struct Ask {
    key: ApiKey,
    version: i16,
    body: Bytes,
    answer: oneshot::Sender<Outcome>,
}

/// A connection to one address. Dropping it closes the connection.
pub(crate) struct Link {
    asks: mpsc::Sender<Ask>,
    task: JoinHandle<()>,
}

impl Link {
    /// A link that dials when it is first asked.
    pub(crate) fn new(transport: Arc<dyn Transport>, host: &str, port: u16, limits: LinkLimits) -> Link {
        let (asks, queue) = mpsc::channel(QUEUE_MAX);
        let address = format!("{host}:{port}").into();
        let dialler = Dialler { transport, host: host.to_owned(), port, address, limits, pause: PAUSE_MIN };
        Link { asks, task: tokio::spawn(dialler.run(queue)) }
    }

    /// Sends a request and waits for its answer: the body, without its header. Give it a time limit.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub(crate) async fn ask(&self, key: ApiKey, version: i16, body: Bytes) -> Outcome {
        let (answer, answered) = oneshot::channel();
        self.asks.try_send(Ask { key, version, body, answer }).map_err(|_| LinkError::Crowded)?;
        answered.await.unwrap_or(Err(LinkError::Crowded))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Dialler {
    transport: Arc<dyn Transport>,
    host: String,
    port: u16,
    address: Arc<str>,
    limits: LinkLimits,
    pause: Duration,
}

impl Dialler {
    async fn run(mut self, mut queue: mpsc::Receiver<Ask>) {
        while let Some(first) = queue.recv().await {
            if first.answer.is_closed() {
                continue;
            }
            let dialled = timeout(self.limits.patience, self.transport.connect(&self.host, self.port)).await;
            let why = match dialled {
                Ok(Ok(connection)) => {
                    let mut carrier = Carrier::new(connection, &self.limits);
                    let why: Arc<str> = carrier.carry(first, &mut queue).await.into();
                    if carrier.answered {
                        self.pause = PAUSE_MIN;
                    }
                    carrier.lose(&LinkError::Lost { address: Arc::clone(&self.address), why: Arc::clone(&why) });
                    why
                }
                Ok(Err(error)) => self.unreachable(first, error.to_string()),
                Err(_) => self.unreachable(first, format!("no answer within {:?}", self.limits.patience)),
            };
            self.rest(why, &mut queue).await;
        }
    }

    fn unreachable(&self, ask: Ask, why: String) -> Arc<str> {
        let why: Arc<str> = why.into();
        let error = LinkError::Unreachable { address: Arc::clone(&self.address), why: Arc::clone(&why) };
        // Whoever asked may have gone.
        let _ = ask.answer.send(Err(error));
        why
    }

    /// Refuses everything until the pause is over.
    async fn rest(&mut self, why: Arc<str>, queue: &mut mpsc::Receiver<Ask>) {
        let over = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        loop {
            tokio::select! {
                biased;
                () = sleep_until(over) => return,
                ask = queue.recv() => match ask {
                    Some(ask) => drop(self.unreachable(ask, why.to_string())),
                    None => return,
                },
            }
        }
    }
}

struct Waiting {
    key: ApiKey,
    version: i16,
    answer: oneshot::Sender<Outcome>,
}

/// One connection's life.
struct Carrier {
    connection: Connection,
    frames: FrameReader,
    patience: Duration,
    waiting: BTreeMap<i32, Waiting>,
    next_id: i32,
    /// Since when the peer owes a sign of life.
    owed_since: Option<Instant>,
    answered: bool,
}

enum Event {
    Ask(Option<Ask>),
    Answer(Option<Frame>),
    Broken(String),
}

impl Carrier {
    fn new(connection: Connection, limits: &LinkLimits) -> Carrier {
        let budget = Budget::new(limits.answer_bytes_max.saturating_mul(2));
        Carrier {
            connection,
            frames: FrameReader::new(limits.answer_bytes_max, &budget),
            patience: limits.patience,
            waiting: BTreeMap::new(),
            next_id: 0,
            owed_since: None,
            answered: false,
        }
    }

    /// Until the connection ends; says why.
    async fn carry(&mut self, first: Ask, queue: &mut mpsc::Receiver<Ask>) -> String {
        let mut next = Event::Ask(Some(first));
        loop {
            match next {
                Event::Ask(None) => return "it is not needed any more".to_owned(),
                Event::Ask(Some(ask)) => {
                    if let Err(why) = self.send(ask).await {
                        return why;
                    }
                }
                Event::Answer(None) => return CLOSED.to_owned(),
                Event::Answer(Some(frame)) => {
                    if let Err(why) = self.take(&frame) {
                        return why;
                    }
                }
                Event::Broken(why) => return why,
            }
            next = self.next(queue).await;
        }
    }

    async fn next(&mut self, queue: &mut mpsc::Receiver<Ask>) -> Event {
        let overdue = self.owed_since.map(|since| since + self.patience);
        let silence = async {
            match overdue {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let (frames, reader) = (&mut self.frames, &mut self.connection.reader);
        tokio::select! {
            biased;
            frame = poll_fn(|cx| frames.poll_frame(cx, &mut **reader)) => match frame {
                Ok(frame) => Event::Answer(frame),
                Err(error) => Event::Broken(error.to_string()),
            },
            ask = queue.recv() => Event::Ask(ask),
            () = silence => Event::Broken(format!("nothing came for {:?}", self.patience)),
        }
    }

    async fn send(&mut self, ask: Ask) -> Result<(), String> {
        let Ask { key, version, body, answer } = ask;
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.waiting.retain(|_, waiting| !waiting.answer.is_closed());
        self.waiting.insert(id, Waiting { key, version, answer });
        self.owed_since.get_or_insert_with(Instant::now);
        let mut head = Writer::frame();
        RequestHeader { key, version, correlation_id: id, client_id: None }.encode(&mut head);
        let pieces = VecDeque::from([Chunk::from(head.finish_frame(body.len())), Chunk::from(body)]);
        match timeout(self.patience, send_all(&mut *self.connection.writer, pieces)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the peer took nothing for {:?}", self.patience)),
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<(), String> {
        let bytes = &frame.bytes;
        let id = bytes.first_chunk().map(|id| i32::from_be_bytes(*id)).ok_or("an answer without a header")?;
        self.answered = true;
        // The answer to a request that nobody waits for any more is passed over.
        if let Some(Waiting { key, version, answer }) = self.waiting.remove(&id) {
            let header = parse_response_header(bytes, key, version);
            let (_, body) = header.map_err(|error| format!("an answer that makes no sense: {error}"))?;
            // Whoever asked may have gone.
            let _ = answer.send(Ok(bytes.slice(body.position()..)));
        }
        self.owed_since = (!self.waiting.is_empty()).then(Instant::now);
        Ok(())
    }

    fn lose(self, error: &LinkError) {
        for waiting in self.waiting.into_values() {
            // Whoever asked may have gone.
            let _ = waiting.answer.send(Err(error.clone()));
        }
    }
}
