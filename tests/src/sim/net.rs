//! The transport of a simulated host: turmoil's sockets behind our seam.
//!
//! Holds: a process that is dead sends nothing more, not even within the step in which it died. turmoil's TCP does not send
//! again what a cut link swallowed: a connection that lost a piece stays silent until one of its ends gives up waiting.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ballast_net::{BoxFuture, Connection, Listener, SendHalf, Transport};
use ballast_wire::Chunk;
use bytes::Buf;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use turmoil::net::{TcpListener, TcpStream};

use super::life::Life;

/// Most bytes in one simulated packet.
const PACKET_BYTES_MAX: usize = 64 << 10;

/// The sockets of one process.
#[derive(Clone)]
pub struct SimTransport {
    life: Life,
}

impl SimTransport {
    /// Sockets that work for as long as `life` does.
    #[must_use]
    pub fn new(life: Life) -> SimTransport {
        SimTransport { life }
    }
}

impl Transport for SimTransport {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Connection>> {
        Box::pin(async move {
            self.life.must_last()?;
            // A broker advertises its name, and a client of a test may know an address only.
            let stream = TcpStream::connect((host, port)).await?;
            open(stream, &self.life)
        })
    }

    fn listen<'a>(
        &'a self,
        _host: &'a str,
        port: u16,
        _send_buffer_bytes: Option<usize>,
    ) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let listener = TcpListener::bind(("0.0.0.0", port)).await?;
            let local = listener.local_addr()?;
            Ok(Box::new(SimListener { listener, local, life: self.life.clone() }) as Box<dyn Listener>)
        })
    }
}

struct SimListener {
    listener: TcpListener,
    local: SocketAddr,
    life: Life,
}

impl Listener for SimListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async move {
            let (stream, _) = self.listener.accept().await?;
            open(stream, &self.life)
        })
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

fn open(stream: TcpStream, life: &Life) -> io::Result<Connection> {
    let (peer, local) = (stream.peer_addr()?, stream.local_addr()?);
    let (reader, writer) = stream.into_split();
    let reader = life.sockets().keep(Half::Reader(reader));
    let writer = life.sockets().keep(Half::Writer(writer));
    let [reader, writer] = [reader, writer].map(|half| SimHalf { half, life: life.clone() });
    Ok(Connection { reader: Box::new(reader), writer: Box::new(writer), peer, local })
}

/// Half of a connection.
pub(super) enum Half {
    Reader(OwnedReadHalf),
    Writer(OwnedWriteHalf),
}

type Shared = Arc<Mutex<Option<Half>>>;

/// All halves of a process's connections, in the order in which they were opened.
///
/// A runtime that ends drops its tasks in an order that depends on whatever else this program does, and each dropped half
/// sends a farewell. The first one that is dropped after the process's end therefore drops all, in their own order.
#[derive(Clone, Default)]
pub(super) struct Sockets(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    next: u64,
    halves: BTreeMap<u64, Shared>,
}

impl Sockets {
    fn keep(&self, half: Half) -> (u64, Shared) {
        let mut open = self.0.lock();
        let (number, shared) = (open.next, Arc::new(Mutex::new(Some(half))));
        open.next += 1;
        open.halves.insert(number, Arc::clone(&shared));
        (number, shared)
    }

    fn close(&self, number: u64) {
        let half = self.0.lock().halves.remove(&number);
        drop(half.and_then(|half| half.lock().take()));
    }

    fn close_all(&self) {
        let all = std::mem::take(&mut self.0.lock().halves);
        for half in all.into_values() {
            let half = half.lock().take();
            drop(half);
        }
    }
}

struct SimHalf {
    half: (u64, Shared),
    life: Life,
}

impl SimHalf {
    fn with<T>(&self, poll: impl FnOnce(&mut Half) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &mut *self.half.1.lock() {
            Some(half) => poll(half),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Drop for SimHalf {
    fn drop(&mut self) {
        if self.life.is_over() { self.life.sockets().close_all() } else { self.life.sockets().close(self.half.0) }
    }
}

impl AsyncRead for SimHalf {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.with(|half| match half {
            Half::Reader(reader) => Pin::new(reader).poll_read(cx, buffer),
            Half::Writer(_) => unreachable!("a connection's writer is given out as such"),
        })
    }
}

impl SendHalf for SimHalf {
    fn poll_send(&mut self, cx: &mut Context<'_>, pieces: &mut VecDeque<Chunk>) -> Poll<io::Result<()>> {
        loop {
            self.life.must_last()?;
            let packet = packet(pieces)?;
            if packet.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let sent = ready!(self.with(|half| write(half, cx, &packet)))?;
            advance(pieces, sent)?;
        }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.life.must_last()?;
        self.with(|half| match half {
            Half::Writer(writer) => Pin::new(writer).poll_shutdown(cx),
            Half::Reader(_) => unreachable!("a connection's reader is given out as such"),
        })
    }
}

fn write(half: &mut Half, cx: &mut Context<'_>, packet: &[u8]) -> Poll<io::Result<usize>> {
    match half {
        Half::Writer(writer) => Pin::new(writer).poll_write(cx, packet),
        Half::Reader(_) => unreachable!("a connection's reader is given out as such"),
    }
}

/// The first bytes of `pieces`.
fn packet(pieces: &VecDeque<Chunk>) -> io::Result<Vec<u8>> {
    let mut packet = Vec::new();
    for piece in pieces {
        let room = PACKET_BYTES_MAX - packet.len();
        if room == 0 {
            break;
        }
        let bytes = piece.bytes()?;
        packet.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    Ok(packet)
}

/// Drops the first `sent` bytes.
fn advance(pieces: &mut VecDeque<Chunk>, mut sent: usize) -> io::Result<()> {
    while let Some(piece) = pieces.pop_front() {
        if piece.len() > sent {
            let mut rest = piece.bytes()?;
            rest.advance(sent);
            pieces.push_front(Chunk::Owned(rest));
            return Ok(());
        }
        sent -= piece.len();
    }
    assert_eq!(sent, 0, "{sent} bytes were sent that nobody gave");
    Ok(())
}
