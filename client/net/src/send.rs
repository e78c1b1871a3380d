//! The sending half of a TCP connection: how each piece travels.
//!
//! ```text
//! file range of 64 KiB or more   sendfile        no copy: 2.4 times less CPU than writing from a map, at 1 MiB
//! its last 4 KiB, if mapped      with the next   what follows a range is small: it spares a packet and a wake-up
//! smaller, with a map            from the map  \
//! smaller, without one           from a copy    > gathered, up to 128 pieces in one sendmsg
//! bytes in memory                as they are   /
//! ```
//! Holds: pieces leave in order, and what has gone is dropped from the front at once, so that a future which is dropped
//! half way leaves `pieces` at the first byte that the peer has not got.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use ballast_wire::Chunk;
use bytes::Buf;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use crate::SendHalf;

/// File ranges from this length on go by `sendfile`, in bytes.
pub const SENDFILE_BYTES_MIN: usize = 64 << 10;
/// What `sendfile` leaves of a mapped range when something follows it, in bytes: `sendfile` cannot say that more comes, and
/// would push a short packet out before the one that holds the few bytes behind the range.
const TAIL_BYTES: usize = 4 << 10;
const _: () = assert!(TAIL_BYTES < SENDFILE_BYTES_MIN, "something of a range goes by sendfile");
/// Pieces in one system call; the kernel's limit is 1,024.
const PIECES_MAX: usize = 128;

/// The sending half of a [`crate::TcpTransport`] connection.
pub(crate) struct TcpSendHalf {
    half: OwnedWriteHalf,
}

impl TcpSendHalf {
    pub(crate) fn new(half: OwnedWriteHalf) -> TcpSendHalf {
        TcpSendHalf { half }
    }
}

impl SendHalf for TcpSendHalf {
    fn poll_send(&mut self, cx: &mut Context<'_>, pieces: &mut VecDeque<Chunk>) -> Poll<io::Result<()>> {
        let stream: &TcpStream = self.half.as_ref();
        loop {
            advance(pieces, 0);
            let Some(front) = pieces.front() else { return Poll::Ready(Ok(())) };
            let whole_file = travels_by_sendfile(front);
            ready!(stream.poll_write_ready(cx))?;
            let sent = if whole_file {
                send_file(stream, front, pieces.len() > 1)
            } else {
                send_gathered(stream, pieces.make_contiguous())
            };
            match sent {
                Ok(n) => advance(pieces, n),
                // try_io has cleared the readiness: the next round registers the waker.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.half).poll_shutdown(cx)
    }
}

fn travels_by_sendfile(piece: &Chunk) -> bool {
    cfg!(target_os = "linux") && matches!(piece, Chunk::File { range, .. } if range.len >= SENDFILE_BYTES_MIN)
}

/// Sends what the socket takes of a long file range. With `more`, the end of a mapped one stays for the next call.
#[cfg(target_os = "linux")]
fn send_file(stream: &TcpStream, piece: &Chunk, more: bool) -> io::Result<usize> {
    let Chunk::File { range, mapped } = piece else { return Ok(0) };
    let len = if more && mapped.is_some() { range.len - TAIL_BYTES } else { range.len };
    let mut position = range.position;
    let sent = stream.try_io(Interest::WRITABLE, || {
        rustix::fs::sendfile(stream, &*range.file, Some(&mut position), len).map_err(io::Error::from)
    })?;
    if sent == 0 {
        // The peer was promised this many bytes; there is no way to take that back.
        let end = range.position + range.len as u64;
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file ends before byte {end}")));
    }
    Ok(sent)
}

#[cfg(not(target_os = "linux"))]
fn send_file(_stream: &TcpStream, _piece: &Chunk, _more: bool) -> io::Result<usize> {
    unreachable!("travels_by_sendfile says no on this platform")
}

/// Sends what the socket takes of the pieces up to the next long file range. The first piece is not empty.
fn send_gathered(stream: &TcpStream, pieces: &mut [Chunk]) -> io::Result<usize> {
    let limit = pieces.len().min(PIECES_MAX);
    let count = pieces[..limit].iter().position(travels_by_sendfile).unwrap_or(limit);
    let more = count < pieces.len();
    for piece in &mut pieces[..count] {
        if matches!(piece, Chunk::File { mapped: None, .. }) {
            *piece = Chunk::Owned(piece.bytes()?);
        }
    }
    let mut slices = [IoSlice::new(&[]); PIECES_MAX];
    for (slice, piece) in slices.iter_mut().zip(&pieces[..count]) {
        *slice = IoSlice::new(in_memory(piece));
    }
    stream.try_io(Interest::WRITABLE, || send_message(stream, &slices[..count], more))
}

/// One `sendmsg`. With `more`, the kernel holds a part-filled packet back for what follows.
#[cfg(target_os = "linux")]
fn send_message(stream: &TcpStream, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendFlags};
    let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
    Ok(rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags)?)
}

#[cfg(not(target_os = "linux"))]
fn send_message(stream: &TcpStream, slices: &[IoSlice<'_>], _more: bool) -> io::Result<usize> {
    socket2::SockRef::from(stream).send_vectored(slices)
}

fn in_memory(piece: &Chunk) -> &[u8] {
    match piece {
        Chunk::Owned(bytes) | Chunk::File { mapped: Some(bytes), .. } => bytes,
        Chunk::File { mapped: None, .. } => unreachable!("copied just before"),
    }
}

/// Drops the first `sent` bytes, and pieces that hold nothing in front of what remains.
fn advance(pieces: &mut VecDeque<Chunk>, mut sent: usize) {
    while let Some(front) = pieces.front_mut() {
        let len = front.len();
        if sent < len {
            if sent > 0 {
                shorten(front, sent);
            }
            return;
        }
        sent -= len;
        pieces.pop_front();
    }
    assert_eq!(sent, 0, "the socket took {sent} bytes more than it was given");
}

fn shorten(piece: &mut Chunk, by: usize) {
    match piece {
        Chunk::Owned(bytes) => bytes.advance(by),
        Chunk::File { range, mapped } => {
            range.position += by as u64;
            range.len -= by;
            if let Some(bytes) = mapped {
                bytes.advance(by);
            }
        }
    }
}
