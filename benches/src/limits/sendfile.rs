//! The sendfile loop: a request of 60 bytes, an answer of 64 bytes and a range of a file that is in memory.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use ballast_wire::batch::view::checksum_of;
use rustix::net::{SendFlags, send};

use super::Ask;
use crate::clock::now_ns;
use crate::records;
use crate::{Doing as _, Failure};

const REQUEST_BYTES: usize = 60;
const HEADER_BYTES: usize = 64;
/// Size of the file; it stays in memory, as a topic does that was just written.
const FILE_BYTES: u64 = 256 << 20;

/// Serves one connection until the peer closes it.
pub(super) fn serve(mut stream: TcpStream, folder: &Path, chunk_bytes: usize) -> Result<(), Failure> {
    let file = warm_file(folder)?;
    // Tells the client that the file is there.
    stream.write_all(&[1]).doing("cannot answer")?;
    let mut request = [0; REQUEST_BYTES];
    let mut position = 0;
    loop {
        match stream.read_exact(&mut request) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).doing("cannot receive"),
        }
        if position + chunk_bytes as u64 > FILE_BYTES {
            position = 0;
        }
        // The header waits for what follows it.
        send(&stream, &[0; HEADER_BYTES], SendFlags::MORE).doing("cannot answer")?;
        let end = position + chunk_bytes as u64;
        while position < end {
            let left = (end - position) as usize;
            let sent = rustix::fs::sendfile(&stream, &file, Some(&mut position), left).doing("cannot send a file")?;
            if sent == 0 {
                return Err(Failure::new(format!("the file ended at {position}")));
            }
        }
    }
}

fn warm_file(folder: &Path) -> Result<File, Failure> {
    let mut file = tempfile::tempfile_in(folder).doing("cannot make a file")?;
    let block = records::batch(1 << 20, records::wall_ms()).bytes;
    let mut written = 0;
    while written < FILE_BYTES {
        file.write_all(&block).doing("cannot write")?;
        written += block.len() as u64;
    }
    Ok(file)
}

/// Asks for one range at a time, and makes its checksum.
pub(super) struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    pub(super) fn new(mut stream: TcpStream, chunk_bytes: usize) -> Result<Client, Failure> {
        stream.read_exact(&mut [0]).doing("the server did not start")?;
        Ok(Client { stream, answer: vec![0; HEADER_BYTES + chunk_bytes] })
    }
}

impl Ask for Client {
    fn turn(&mut self) -> Result<(u64, u64), Failure> {
        let sent_ns = now_ns();
        self.stream.write_all(&[0; REQUEST_BYTES]).doing("cannot send")?;
        self.stream.read_exact(&mut self.answer).doing("no answer")?;
        std::hint::black_box(checksum_of(&self.answer[HEADER_BYTES..]));
        Ok(((self.answer.len() - HEADER_BYTES) as u64, now_ns() - sent_ns))
    }
}
