//! A connection that carries one question at a time: asked, and answered, by whoever holds it.
//!
//! A [`super::link::Link`] has a task of its own, so that many may ask at once. Where one task asks and has nothing else to do
//! until the answer is there, that costs two more wake-ups for each question; a follower asks 10,000 times a second.
//!
//! Holds: an `ask` that is dropped leaves the connection in the middle of an answer: drop that too.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Connection, Transport, send_all};
use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use bytes::Bytes;
use tokio::time::timeout;

use super::frame::FrameReader;
use super::limits::Budget;
use super::link::LinkError;

/// See the module.
pub(crate) struct Talk {
    connection: Connection,
    frames: FrameReader,
    address: Arc<str>,
    next_id: i32,
}

impl Talk {
    /// Connects, and gives up after `patience`. An answer may have `answer_bytes_max` bytes.
    ///
    /// # Errors
    /// `Unreachable`.
    pub(crate) async fn dial(
        transport: &dyn Transport,
        (host, port): (&str, u16),
        patience: Duration,
        answer_bytes_max: usize,
    ) -> Result<Talk, LinkError> {
        let address: Arc<str> = format!("{host}:{port}").into();
        let unreachable = |why: String| LinkError::Unreachable { address: Arc::clone(&address), why: why.into() };
        let connection = match timeout(patience, transport.connect(host, port)).await {
            Ok(connected) => connected.map_err(|error| unreachable(error.to_string()))?,
            Err(_) => return Err(unreachable(format!("no answer within {patience:?}"))),
        };
        let budget = Budget::new(answer_bytes_max.saturating_mul(2));
        Ok(Talk { connection, frames: FrameReader::new(answer_bytes_max, &budget), address, next_id: 0 })
    }

    /// Sends a request and waits for its answer: the body, without its header. Give it a time limit.
    ///
    /// # Errors
    /// `Lost`: the connection is of no use any more.
    pub(crate) async fn ask(&mut self, key: ApiKey, version: i16, body: Bytes) -> Result<Bytes, LinkError> {
        self.exchange(key, version, body)
            .await
            .map_err(|why| LinkError::Lost { address: Arc::clone(&self.address), why: why.into() })
    }

    async fn exchange(&mut self, key: ApiKey, version: i16, body: Bytes) -> Result<Bytes, String> {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let mut head = Writer::frame();
        RequestHeader { key, version, correlation_id: id, client_id: None }.encode(&mut head);
        let pieces = VecDeque::from([Chunk::from(head.finish_frame(body.len())), Chunk::from(body)]);
        send_all(&mut *self.connection.writer, pieces).await.map_err(|error| error.to_string())?;
        let (frames, reader) = (&mut self.frames, &mut self.connection.reader);
        let frame = poll_fn(|cx| frames.poll_frame(cx, &mut **reader)).await.map_err(|error| error.to_string())?;
        let bytes = frame.ok_or("the peer closed it")?.bytes;
        let (answered, rest) = parse_response_header(&bytes, key, version)
            .map_err(|error| format!("an answer that makes no sense: {error}"))?;
        if answered != id {
            return Err(format!("the answer to {answered} came, and {id} was asked"));
        }
        Ok(bytes.slice(rest.position()..))
    }
}
