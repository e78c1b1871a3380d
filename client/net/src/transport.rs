//! The transport seam: byte streams in both directions, and chunks of files on their way out.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use ballast_wire::Chunk;
use tokio::io::AsyncRead;

/// A future behind a pointer, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where connections come from and go to.
pub trait Transport: Send + Sync {
    /// Connects to `host:port`.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Connection>>;

    /// Listens on `host:port`; port 0 takes a free one. Of what an accepted connection sends, the system holds about
    /// `send_buffer_bytes`; `None` lets it grow.
    ///
    /// A small buffer keeps the reader close behind: with eight readers of 1 MiB answers, 100 KiB (Kafka's default) moved 1.4
    /// times as much for 0.6 of the CPU, because what was sent was still warm when it was read.
    fn listen<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        send_buffer_bytes: Option<usize>,
    ) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;
}

/// A listening socket.
pub trait Listener: Send {
    /// Waits for the next connection. An error concerns one connection, not the listener, unless it repeats.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>>;

    /// Where it really listens.
    fn local_addr(&self) -> SocketAddr;
}

/// An open connection, in two halves that live apart. Dropping both closes it.
pub struct Connection {
    /// What the peer sends.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What we send.
    pub writer: Box<dyn SendHalf>,
    /// The peer's address.
    pub peer: SocketAddr,
    /// Our own address on this connection.
    pub local: SocketAddr,
}

/// The sending half. It alone decides how a chunk travels: by `sendfile`, from a map, or from a copy.
pub trait SendHalf: Send {
    /// Sends as much of `pieces` as the peer takes, dropping from the front what has gone. Ready when all has gone.
    ///
    /// # Errors
    /// The connection is then of no use: part of a frame may have been sent.
    fn poll_send(&mut self, cx: &mut Context<'_>, pieces: &mut VecDeque<Chunk>) -> Poll<io::Result<()>>;

    /// Tells the peer that nothing more comes.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Sends all of `pieces`.
///
/// # Errors
/// As [`SendHalf::poll_send`].
pub async fn send_all(writer: &mut dyn SendHalf, mut pieces: VecDeque<Chunk>) -> io::Result<()> {
    poll_fn(|cx| writer.poll_send(cx, &mut pieces)).await
}
