//! TCP as a [`Transport`]: Nagle's algorithm off, keep-alive on, as Kafka sets both ends (kafka: `SocketServer`, `Selector`).
//!
//! Names are resolved at every connect, and each address is tried in the resolver's order. There is no timeout here:
//! callers know how long they want to wait.

use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use crate::send::TcpSendHalf;
use crate::{BoxFuture, Connection, Listener, Transport};

/// Connections that may wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 1024;

/// Plain TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpTransport;

impl Transport for TcpTransport {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Connection>> {
        Box::pin(async move {
            let mut failed = None;
            for address in lookup_host((host, port)).await? {
                match TcpStream::connect(address).await {
                    Ok(stream) => return open(stream, address),
                    Err(e) => failed = Some(e),
                }
            }
            Err(failed.unwrap_or_else(|| no_address(host)))
        })
    }

    fn listen<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        send_buffer_bytes: Option<usize>,
    ) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let mut failed = None;
            for address in lookup_host((host, port)).await? {
                match bind(address, send_buffer_bytes) {
                    Ok(listener) => return Ok(Box::new(listener) as Box<dyn Listener>),
                    Err(e) => failed = Some(e),
                }
            }
            Err(failed.unwrap_or_else(|| no_address(host)))
        })
    }
}

struct TcpAccept {
    listener: TcpListener,
    local: SocketAddr,
}

impl Listener for TcpAccept {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async move {
            let (stream, peer) = self.listener.accept().await?;
            open(stream, peer)
        })
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

fn bind(address: SocketAddr, send_buffer_bytes: Option<usize>) -> io::Result<TcpAccept> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted broker takes its port back although old connections linger in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    if let Some(bytes) = send_buffer_bytes {
        // Accepted connections inherit it.
        SockRef::from(&socket).set_send_buffer_size(bytes)?;
    }
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let local = listener.local_addr()?;
    Ok(TcpAccept { listener, local })
}

fn open(stream: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_keepalive(true)?;
    let local = stream.local_addr()?;
    let (reader, writer) = stream.into_split();
    Ok(Connection { reader: Box::new(reader), writer: Box::new(TcpSendHalf::new(writer)), peer, local })
}

fn no_address(host: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{host} resolves to no address"))
}
