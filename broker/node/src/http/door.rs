//! The door of the HTTP listener: so many connections at a time, and none that says nothing.
//!
//! Holds: whoever is let in and sends nothing for `IDLE_MAX` is let go, also in the midst of a header; who comes while
//! `CONNECTIONS_MAX` are open waits in the system's queue, which costs no descriptor. So sockets that stall here cost a
//! broker nothing of what its logs and clients need.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

const CONNECTIONS_MAX: usize = 128;
const IDLE_MAX: Duration = Duration::from_secs(60);

/// See the file.
pub(super) struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    idle_max: Duration,
}

impl Door {
    pub(super) fn new(listener: TcpListener) -> Door {
        Door { listener, room: Arc::new(Semaphore::new(CONNECTIONS_MAX)), idle_max: IDLE_MAX }
    }
}

impl Listener for Door {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        let room = Arc::clone(&self.room).acquire_owned().await.expect("nobody closes the semaphore");
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        let (idle_max, deadline) = (self.idle_max, Box::pin(sleep(self.idle_max)));
        (Guest { stream, idle_max, deadline, _room: room }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that was let in.
pub(super) struct Guest {
    stream: TcpStream,
    idle_max: Duration,
    deadline: Pin<Box<Sleep>>,
    _room: OwnedSemaphorePermit,
}

impl Guest {
    fn was_active<T>(&mut self, outcome: Poll<T>) -> Poll<T> {
        if outcome.is_ready() {
            let idle_max = self.idle_max;
            self.deadline.as_mut().reset(Instant::now() + idle_max);
        }
        outcome
    }
}

impl AsyncRead for Guest {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_pending() && self.deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.was_active(read)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.was_active(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn no_more_than_there_is_room_for_are_let_in_until_one_leaves() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut door = Door::new(listener);
        let address = door.local_addr().unwrap();
        let mut inside = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            let outside = TcpStream::connect(address).await.unwrap();
            inside.push((door.accept().await.0, outside));
        }
        let mut late = TcpStream::connect(address).await.unwrap();
        late.write_all(b"x").await.unwrap();
        assert_eq!(door.room.available_permits(), 0);
        inside.pop();
        let (mut guest, _) = door.accept().await;
        assert_eq!(guest.read_u8().await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn who_says_nothing_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut door = Door { idle_max: Duration::from_millis(1), ..Door::new(listener) };
        let _outside = TcpStream::connect(door.local_addr().unwrap()).await.unwrap();
        let (mut guest, _) = door.accept().await;
        assert_eq!(guest.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
