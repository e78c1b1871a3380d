//! Ports that belong to a broker over its restarts.
//!
//! A socket that is bound but does not listen stands beside the listener for as long as the broker's handle lives. While
//! the broker is down, connections are refused, and nobody else gets the port: neither a listener on port 0 nor a
//! connection's own end. (Linux allows the two sockets because both reuse the address and only one listens; elsewhere the
//! number is remembered and may be taken.)

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use tokio::net::TcpSocket;

/// See the module.
#[derive(Debug)]
pub(super) struct HeldPort {
    _socket: Option<TcpSocket>,
    pub(super) address: SocketAddr,
}

/// Takes a port on `host`, 0 for a free one.
pub(super) fn hold(host: &str, port: u16) -> io::Result<HeldPort> {
    let mut failed = None;
    for address in (host, port).to_socket_addrs()? {
        match bind(address) {
            Ok(held) => return Ok(held),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{host} resolves to no address"))))
}

fn bind(address: SocketAddr) -> io::Result<HeldPort> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let address = socket.local_addr()?;
    Ok(HeldPort { _socket: cfg!(target_os = "linux").then_some(socket), address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_held_port_is_refused_to_clients_taken_by_its_listener_and_given_to_nobody_else() {
        let held = hold("127.0.0.1", 0).unwrap();
        let refused = std::net::TcpStream::connect(held.address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        for _ in 0..3 {
            // std's listener reuses addresses, as the broker's does.
            let listener = std::net::TcpListener::bind(held.address).unwrap();
            let connection = std::net::TcpStream::connect(held.address).unwrap();
            drop((listener, connection));
        }
        let others: Vec<_> = (0..200).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        assert!(others.iter().all(|other| other.local_addr().unwrap() != held.address));
    }
}
