//! The sendfile loop: a request of 60 bytes, an answer of 64 bytes and a range of a file that is in memory.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use ballast_wire::batch::view::checksum_of;
use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::{SIZE_BYTES, answer_front, front};
use crate::load::{Request, Work};
use crate::{Doing as _, Failure, records};

const REQUEST_BYTES: usize = 60;
const HEADER_BYTES: usize = 64;
/// Size of the file; it stays in memory, as a topic does that was just written.
const FILE_BYTES: u64 = 512 << 20;
/// It is written as a topic is: in small appends, which leave small pages in the cache.
const WRITE_BYTES: usize = 16 << 10;

/// Serves one connection until the peer closes it.
pub(super) fn serve(mut stream: TcpStream, file: &File, chunk_bytes: usize) -> Result<(), Failure> {
    let mut request = [0; REQUEST_BYTES];
    let mut position = 0;
    loop {
        match stream.read_exact(&mut request) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                return Ok(());
            }
            Err(error) => return Err(error).doing("cannot receive"),
        }
        if position + chunk_bytes as u64 > FILE_BYTES {
            position = 0;
        }
        let header = answer_front::<HEADER_BYTES>(&request[SIZE_BYTES..], chunk_bytes);
        let end = position + chunk_bytes as u64;
        // The header waits for what follows it.
        let mut sent = send(&stream, &header, SendFlags::MORE);
        while sent.is_ok() && position < end {
            let left = (end - position) as usize;
            sent = rustix::fs::sendfile(&stream, file, Some(&mut position), left);
        }
        match sent {
            Ok(_) => {}
            // The client leaves with an answer on its way.
            Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
            Err(error) => return Err(error).doing("cannot answer"),
        }
    }
}

/// A file whose pages are in memory.
pub(super) fn warm_file(folder: &Path) -> Result<File, Failure> {
    let mut file = tempfile::tempfile_in(folder).doing("cannot make a file")?;
    let block = records::batch(WRITE_BYTES, records::wall_ms()).bytes;
    let mut written = 0;
    while written < FILE_BYTES {
        file.write_all(&block).doing("cannot write")?;
        written += block.len() as u64;
    }
    Ok(file)
}

/// Asks for one range at a time, and makes its checksum.
pub(super) struct Read {
    chunk_bytes: usize,
}

impl Read {
    pub(super) fn new(chunk_bytes: usize) -> Read {
        Read { chunk_bytes }
    }
}

impl Work for Read {
    fn request(&mut self, _connection: usize) -> Request {
        Request { front: front(REQUEST_BYTES, 0), records: Bytes::new(), back: Bytes::new() }
    }

    fn answer(&mut self, _connection: usize, frame: &[u8]) -> Result<u64, Failure> {
        std::hint::black_box(checksum_of(&frame[HEADER_BYTES - SIZE_BYTES..]));
        Ok(self.chunk_bytes as u64)
    }
}
