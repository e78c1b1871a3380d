//! One connection of the generator: requests queued for a socket that does not block, and answers cut into frames.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::TcpStream;

use bytes::Bytes;

use crate::{Doing as _, Failure};

/// Where the correlation id stands: behind size, key and version.
const CORRELATION_AT: usize = 8;
const SIZE_BYTES: usize = 4;
/// Largest answer that is believed, in bytes.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// A request on its way: three pieces, so that the records are never copied.
#[derive(Debug, Clone)]
pub struct Request {
    /// The frame up to the records, its own.
    pub front: Vec<u8>,
    /// The records, shared.
    pub records: Bytes,
    /// What follows the records.
    pub back: Bytes,
}

/// A request whose answer is due.
#[derive(Debug, Clone, Copy)]
struct Due {
    correlation_id: i32,
    since_ns: u64,
}

/// A connection.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    outgoing: VecDeque<Request>,
    /// Bytes of the first of them that have gone.
    gone: usize,
    due: VecDeque<Due>,
    inbound: Vec<u8>,
    filled: usize,
    correlation_id: i32,
    /// Does the event loop know that the socket is full?
    pub(super) waits_to_write: bool,
}

impl Connection {
    pub(super) fn open(bootstrap: &str, inbound_bytes: usize) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(bootstrap).doing(format_args!("cannot connect to {bootstrap}"))?;
        stream.set_nodelay(true).doing("a socket option")?;
        stream.set_nonblocking(true).doing("a socket option")?;
        Ok(Connection {
            stream,
            outgoing: VecDeque::new(),
            gone: 0,
            due: VecDeque::new(),
            inbound: vec![0; inbound_bytes],
            filled: 0,
            correlation_id: 0,
            waits_to_write: false,
        })
    }

    /// Requests without an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.due.len()
    }

    /// Takes a request that has been due since `since_ns`; [`Connection::send`] sends it.
    pub(super) fn push(&mut self, mut request: Request, since_ns: u64) {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        request.front[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&self.correlation_id.to_be_bytes());
        self.due.push_back(Due { correlation_id: self.correlation_id, since_ns });
        self.outgoing.push_back(request);
    }

    /// Sends what the socket takes. True when all has gone.
    pub(super) fn send(&mut self) -> Result<bool, Failure> {
        while let Some(request) = self.outgoing.front() {
            let pieces = [&request.front[..], &request.records[..], &request.back[..]];
            let size: usize = pieces.iter().map(|piece| piece.len()).sum();
            let mut slices = pieces.map(IoSlice::new);
            let mut rest = &mut slices[..];
            IoSlice::advance_slices(&mut rest, self.gone);
            match self.stream.write_vectored(rest) {
                Ok(sent) => self.gone += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).doing("cannot send"),
            }
            if self.gone == size {
                self.gone = 0;
                self.outgoing.pop_front();
            }
        }
        Ok(true)
    }

    /// Reads once and hands each whole frame (without its size) to `answer`, with the moment since which it was due.
    pub(super) fn receive(&mut self, mut answer: impl FnMut(&[u8], u64) -> Result<(), Failure>) -> Result<(), Failure> {
        match self.stream.read(&mut self.inbound[self.filled..]) {
            Ok(0) => return Err(Failure::new("the broker has closed a connection")),
            Ok(read) => self.filled += read,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error).doing("cannot receive"),
        }
        let mut at = 0;
        while let Some(size) = self.inbound[at..self.filled].first_chunk::<SIZE_BYTES>() {
            let size = i32::from_be_bytes(*size);
            let size = usize::try_from(size).ok().filter(|size| *size <= ANSWER_BYTES_MAX);
            let size = size.ok_or_else(|| Failure::new("an answer of an impossible size"))?;
            let (from, to) = (at + SIZE_BYTES, at + SIZE_BYTES + size);
            if self.filled < to {
                if self.inbound.len() < to - at {
                    self.inbound.resize(to - at, 0);
                }
                break;
            }
            let due = self.due.pop_front().ok_or_else(|| Failure::new("an answer to nothing"))?;
            let frame = &self.inbound[from..to];
            if frame.first_chunk().map(|id| i32::from_be_bytes(*id)) != Some(due.correlation_id) {
                return Err(Failure::new("an answer to another request"));
            }
            answer(frame, due.since_ns)?;
            at = to;
        }
        self.inbound.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }
}
