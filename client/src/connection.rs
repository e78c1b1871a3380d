//! One connection to a broker: requests go out in the order of [`Connection::start`], answers come back in that order.
//!
//! ```text
//! start ──> outgoing (bounded) ──> writer task ──> socket     several waiting frames leave in one system call
//!                                     │ registers
//!                                  waiting ◀── reader task ◀── socket
//! ```
//! Holds:
//!   1. A request is registered before its first byte leaves, so an answer always finds the front of `waiting`.
//!   2. A connection that broke, or whose peer answered out of order, or not in time, never sends or answers again:
//!      every waiter hears the same reason.
//!   3. Dropping the last handle ends both tasks.
//!
//! Read next: `frame` (bytes), `negotiate` (what happens before the first request), `cluster` (who holds connections).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{SendHalf, Transport, send_all};
use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, Request};
use parking_lot::Mutex;
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::ClientError;
use crate::frame::FrameReader;
use crate::negotiate::{ApiVersions, negotiate};

/// Requests that wait for the socket before `start` waits too.
const OUTGOING_MAX: usize = 64;
/// Largest body of a request, in bytes: a frame's size is an i32, and a header needs room.
const REQUEST_BYTES_MAX: usize = i32::MAX as usize - 65_536;
/// Frames that leave in one go.
const COALESCED_MAX: usize = 32;

/// How connections behave.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// Names the client in the broker's logs and quotas.
    pub client_id: String,
    /// How long connecting and negotiating may take (`socket.connection.setup.timeout.ms`).
    pub setup_timeout: Duration,
    /// Largest answer that is accepted, in bytes.
    pub answer_bytes_max: usize,
}

impl Default for ConnectionOptions {
    fn default() -> ConnectionOptions {
        ConnectionOptions {
            client_id: "ballast".to_owned(),
            setup_timeout: Duration::from_secs(10),
            answer_bytes_max: 256 << 20,
        }
    }
}

/// A request whose body is encoded already.
#[derive(Debug)]
pub struct RawRequest {
    /// Which API.
    pub key: ApiKey,
    /// In which version `body` is written.
    pub version: i16,
    /// Everything after the header.
    pub body: Vec<Chunk>,
    /// False only for Produce with acks=0.
    pub answered: bool,
}

/// An open connection whose broker has told its versions.
pub struct Connection {
    link: Arc<Link>,
    versions: ApiVersions,
}

impl Connection {
    /// Connects to `host:port` and asks for the versions of every API.
    ///
    /// # Errors
    /// `Connect`, `TimedOut`, `Unsupported`, or `BadAnswer`.
    pub async fn open(
        transport: &dyn Transport,
        host: &str,
        port: u16,
        options: &ConnectionOptions,
    ) -> Result<Connection, ClientError> {
        let address = address_of(host, port);
        let setup = async {
            let socket = transport
                .connect(host, port)
                .await
                .map_err(|e| ClientError::Connect { address: address.clone(), reason: e.to_string() })?;
            let link = Link::spawn(address.clone(), socket.reader, socket.writer, options);
            let versions = negotiate(&link, options.setup_timeout).await?;
            Ok(Connection { link, versions })
        };
        timeout(options.setup_timeout, setup).await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                what: format!("connecting to {address}"),
                after: options.setup_timeout,
                last: None,
            })
        })
    }

    /// `host:port` of the broker.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.link.address
    }

    pub(crate) fn is_to(&self, host: &str, port: u16) -> bool {
        self.link.address == address_of(host, port)
    }

    /// What the broker offers.
    #[must_use]
    pub fn versions(&self) -> &ApiVersions {
        &self.versions
    }

    /// Can no request succeed any more?
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.link.state.lock().broken.is_some()
    }

    /// The newest version of `key` that the broker and we know, within `ours`.
    ///
    /// # Errors
    /// `Unsupported` if there is none.
    pub fn version_within(&self, key: ApiKey, ours: (i16, i16)) -> Result<i16, ClientError> {
        self.versions.common(key.0, ours).ok_or_else(|| ClientError::Unsupported {
            address: self.link.address.clone(),
            what: match self.versions.range(key.0) {
                Some((min, max)) => format!("{key} {} to {} (it has {min} to {max})", ours.0, ours.1),
                None if key == ApiKey::METADATA && self.versions.range(ApiKey::BROKER_REGISTRATION.0).is_some() => {
                    format!("{key}: it is a controller's listener, name a broker's")
                }
                None => key.to_string(),
            },
        })
    }

    /// Asks, in the newest common version, and waits for the answer.
    ///
    /// # Errors
    /// Any but `Refused`: error codes within the answer are the caller's to read.
    pub async fn call<R: Request>(&self, request: &R, limit: Duration) -> Result<R::Response, ClientError> {
        let (key, version) = self.key_and_version::<R>()?;
        self.link.call_at(key, version, request, limit).await
    }

    /// Like [`Connection::call`], for requests whose fields depend on the version, which is returned as well.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub async fn call_versioned<R: Request>(
        &self,
        request: impl FnOnce(i16) -> R,
        limit: Duration,
    ) -> Result<(i16, R::Response), ClientError> {
        let (key, version) = self.key_and_version::<R>()?;
        Ok((version, self.link.call_at(key, version, &request(version), limit).await?))
    }

    fn key_and_version<R: Request>(&self) -> Result<(ApiKey, i16), ClientError> {
        let key = ApiKey(R::KEY);
        Ok((key, self.version_within(key, (R::VERSIONS.min, R::VERSIONS.max))?))
    }

    /// Puts a request on its way. Two calls that are awaited one after the other reach the broker in that order.
    ///
    /// # Errors
    /// `Disconnected`, or `BadRequest` if it is longer than a frame can be.
    pub async fn start(&self, request: RawRequest, limit: Duration) -> Result<Pending, ClientError> {
        self.link.start(request, limit).await
    }
}

/// A request on its way.
#[must_use]
pub struct Pending {
    link: Arc<Link>,
    what: ApiKey,
    reply: oneshot::Receiver<Result<Bytes, ClientError>>,
    deadline: Instant,
    limit: Duration,
}

impl Pending {
    /// Waits for the answer's body. Without an expected answer it is empty, and means that the bytes have been sent.
    ///
    /// # Errors
    /// `Disconnected`, `BadAnswer`, or `TimedOut`, after which the connection is closed: whatever comes later on it
    /// cannot be trusted to come in time either.
    pub async fn wait(self) -> Result<Bytes, ClientError> {
        match timeout_at(self.deadline, self.reply).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(self.link.reason()),
            Err(_) => {
                let error = ClientError::TimedOut {
                    what: format!("{} at {}", self.what, self.link.address),
                    after: self.limit,
                    last: None,
                };
                self.link.fail(self.link.disconnected(&format!("no answer to {} in time", self.what)));
                Err(error)
            }
        }
    }
}

type Reply = oneshot::Sender<Result<Bytes, ClientError>>;

struct Outgoing {
    request: RawRequest,
    reply: Reply,
}

struct Waiting {
    correlation_id: i32,
    key: ApiKey,
    version: i16,
    reply: Reply,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    broken: Option<ClientError>,
    tasks: Vec<AbortHandle>,
}

/// What the handle and the two tasks share.
pub(crate) struct Link {
    address: String,
    client_id: String,
    outgoing: mpsc::Sender<Outgoing>,
    state: Arc<Mutex<State>>,
}

impl Link {
    pub(crate) fn spawn(
        address: String,
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn SendHalf>,
        options: &ConnectionOptions,
    ) -> Arc<Link> {
        let (outgoing, requests) = mpsc::channel(OUTGOING_MAX);
        let state = Arc::new(Mutex::new(State::default()));
        let link = Arc::new(Link {
            address: address.clone(),
            client_id: options.client_id.clone(),
            outgoing,
            state: state.clone(),
        });
        let peer = Peer { address, state: state.clone() };
        let frames = FrameReader::new(reader, options.answer_bytes_max);
        let reading = tokio::spawn(peer.clone().read(frames)).abort_handle();
        let writing = tokio::spawn(peer.write(requests, writer, link.client_id.clone())).abort_handle();
        state.lock().tasks = vec![reading, writing];
        link
    }

    /// Encodes, asks, waits, decodes.
    pub(crate) async fn call_at<R: Request>(
        self: &Arc<Link>,
        key: ApiKey,
        version: i16,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, ClientError> {
        let body = self.call_raw(key, version, encode(request, version)?, limit).await?;
        self.decode(key, version, body)
    }

    pub(crate) async fn call_raw(
        self: &Arc<Link>,
        key: ApiKey,
        version: i16,
        body: Bytes,
        limit: Duration,
    ) -> Result<Bytes, ClientError> {
        let request = RawRequest { key, version, body: vec![body.into()], answered: true };
        self.start(request, limit).await?.wait().await
    }

    pub(crate) fn decode<M: Decodable>(&self, key: ApiKey, version: i16, mut body: Bytes) -> Result<M, ClientError> {
        M::decode(&mut body, version).map_err(|e| self.bad_answer(key, &e.to_string()))
    }

    pub(crate) fn bad_answer(&self, key: ApiKey, reason: &str) -> ClientError {
        ClientError::BadAnswer { address: self.address.clone(), what: key.to_string(), reason: reason.to_owned() }
    }

    pub(crate) fn unsupported(&self, what: &str) -> ClientError {
        ClientError::Unsupported { address: self.address.clone(), what: what.to_owned() }
    }

    async fn start(self: &Arc<Link>, request: RawRequest, limit: Duration) -> Result<Pending, ClientError> {
        let what = request.key;
        let deadline = Instant::now() + limit;
        let (sender, reply) = oneshot::channel();
        if self.outgoing.send(Outgoing { request, reply: sender }).await.is_err() {
            return Err(self.reason());
        }
        Ok(Pending { link: self.clone(), what, reply, deadline, limit })
    }

    fn fail(&self, error: ClientError) {
        fail(&self.state, error);
    }

    fn reason(&self) -> ClientError {
        self.state.lock().broken.clone().unwrap_or_else(|| self.disconnected("it was closed"))
    }

    fn disconnected(&self, reason: &str) -> ClientError {
        ClientError::Disconnected { address: self.address.clone(), reason: reason.to_owned() }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.fail(ClientError::Closed);
    }
}

/// Marks a connection broken, tells every waiter, and ends the tasks. The first reason stays.
fn fail(state: &Mutex<State>, error: ClientError) {
    let (waiting, tasks, reason) = {
        let mut state = state.lock();
        let reason = state.broken.get_or_insert(error).clone();
        (std::mem::take(&mut state.waiting), std::mem::take(&mut state.tasks), reason)
    };
    for one in waiting {
        let _ = one.reply.send(Err(reason.clone()));
    }
    for task in tasks {
        task.abort();
    }
}

/// What a task knows of its connection. It keeps no handle alive.
#[derive(Clone)]
struct Peer {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Peer {
    async fn read(self, mut frames: FrameReader<Box<dyn AsyncRead + Send + Unpin>>) {
        let reason = loop {
            match frames.next().await {
                Ok(Some(frame)) => {
                    if let Err(reason) = self.answer(frame) {
                        break reason;
                    }
                }
                Ok(None) => break "the broker closed it".to_owned(),
                Err(e) => break e.to_string(),
            }
        };
        tracing::debug!(address = self.address, reason, "connection ended");
        fail(&self.state, ClientError::Disconnected { address: self.address.clone(), reason });
    }

    /// Gives one frame to whoever waits longest.
    fn answer(&self, frame: Bytes) -> Result<(), String> {
        let Some(waiting) = self.state.lock().waiting.pop_front() else {
            return Err("an answer to no question".to_owned());
        };
        let (correlation_id, header_bytes) = match parse_response_header(&frame, waiting.key, waiting.version) {
            Ok((correlation_id, reader)) => (correlation_id, reader.position()),
            Err(e) => return Err(format!("the answer to {} has a malformed header: {e}", waiting.key)),
        };
        if correlation_id != waiting.correlation_id {
            return Err(format!("answer {correlation_id} where {} was due", waiting.correlation_id));
        }
        // Whoever asked may have gone away; the order of the others does not depend on it.
        let _ = waiting.reply.send(Ok(frame.slice(header_bytes..)));
        Ok(())
    }

    async fn write(self, mut requests: mpsc::Receiver<Outgoing>, mut writer: Box<dyn SendHalf>, client_id: String) {
        let mut next_correlation_id = 0i32;
        let mut pieces = VecDeque::new();
        let mut sent: Vec<Reply> = Vec::new();
        while let Some(first) = requests.recv().await {
            let mut next = Some(first);
            let mut count = 0;
            while let Some(outgoing) = next.take() {
                let id = next_correlation_id;
                next_correlation_id = id.wrapping_add(1) & i32::MAX;
                self.register(outgoing, id, &client_id, &mut pieces, &mut sent);
                count += 1;
                if count < COALESCED_MAX {
                    next = requests.try_recv().ok();
                }
            }
            let result = send_all(&mut *writer, std::mem::take(&mut pieces)).await;
            if let Err(e) = result {
                let error = ClientError::Disconnected { address: self.address.clone(), reason: e.to_string() };
                for reply in sent.drain(..) {
                    let _ = reply.send(Err(error.clone()));
                }
                fail(&self.state, error);
                return;
            }
            for reply in sent.drain(..) {
                let _ = reply.send(Ok(Bytes::new()));
            }
        }
    }

    /// Makes a frame of one request and remembers who waits for its answer.
    fn register(
        &self,
        outgoing: Outgoing,
        correlation_id: i32,
        client_id: &str,
        pieces: &mut VecDeque<Chunk>,
        sent: &mut Vec<Reply>,
    ) {
        let Outgoing { request: RawRequest { key, version, body, answered }, reply } = outgoing;
        let mut header = Writer::frame();
        let client_id = Some(client_id.into());
        RequestHeader { key, version, correlation_id, client_id }.encode(&mut header);
        let body_bytes: usize = body.iter().map(Chunk::len).sum();
        if body_bytes > REQUEST_BYTES_MAX {
            let _ = reply.send(Err(ClientError::BadRequest(format!("a {key} request of {body_bytes} bytes"))));
            return;
        }
        if answered {
            let mut state = self.state.lock();
            if let Some(reason) = &state.broken {
                let _ = reply.send(Err(reason.clone()));
                return;
            }
            state.waiting.push_back(Waiting { correlation_id, key, version, reply });
        } else {
            sent.push(reply);
        }
        pieces.push_back(header.finish_frame(body_bytes).into());
        pieces.extend(body);
    }
}

fn address_of(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Encodes the body of a request.
pub(crate) fn encode<R: Encodable>(request: &R, version: i16) -> Result<Bytes, ClientError> {
    let mut body = BytesMut::new();
    request.encode(&mut body, version).map_err(|e| ClientError::BadRequest(e.to_string()))?;
    Ok(body.freeze())
}
