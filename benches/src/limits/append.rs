//! The least broker: frame in, checksum, `pwrite` into reserved space, 40 bytes out.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use ballast_wire::batch::view::checksum_of;
use bytes::Bytes;
use rustix::fs::{FallocateFlags, fallocate};

use super::{SIZE_BYTES, answer_front, front};
use crate::load::{Request, Work};
use crate::{Doing as _, Failure, records};

/// As large as an answer to Produce.
const ANSWER_BYTES: usize = 40;
/// What stands before the batch in a request, as long as the header of a Produce.
const FRONT_BYTES: usize = 80;
/// What is read at once at most, in bytes, beside one whole frame.
const READ_BYTES: usize = 64 << 10;
/// Room is reserved in steps of this size, as the broker does.
const RESERVE_BYTES: u64 = 16 << 20;
/// A new file from here on.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Serves one connection until the peer closes it.
pub(super) fn serve(mut stream: TcpStream, folder: &Path) -> Result<(), Failure> {
    let mut file = Appender::new(folder)?;
    let mut buffer = vec![0; READ_BYTES];
    let mut filled = 0;
    loop {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(read) => filled += read,
            // The client leaves with answers on their way.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error).doing("cannot receive"),
        }
        let mut at = 0;
        while let Some(size) = buffer[at..filled].first_chunk::<SIZE_BYTES>() {
            let (from, to) = (at + SIZE_BYTES, at + SIZE_BYTES + u32::from_be_bytes(*size) as usize);
            if filled < to {
                // Room for this frame, and for what is behind it.
                let room = to - at + READ_BYTES;
                buffer.resize(room.max(buffer.len()), 0);
                break;
            }
            let (front, records) = buffer[from..to].split_at(FRONT_BYTES - SIZE_BYTES);
            let mut answer = answer_front::<ANSWER_BYTES>(front, 0);
            answer[ANSWER_BYTES - 4..].copy_from_slice(&checksum_of(records).to_be_bytes());
            file.append(records)?;
            match stream.write_all(&answer) {
                Ok(()) => at = to,
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return Ok(());
                }
                Err(error) => return Err(error).doing("cannot answer"),
            }
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
    }
}

/// A file that is appended to, with room reserved ahead.
struct Appender<'a> {
    folder: &'a Path,
    file: File,
    bytes: u64,
    reserved: u64,
}

impl Appender<'_> {
    fn new(folder: &Path) -> Result<Appender<'_>, Failure> {
        let file = tempfile::tempfile_in(folder).doing("cannot make a file")?;
        Ok(Appender { folder, file, bytes: 0, reserved: 0 })
    }

    fn append(&mut self, frame: &[u8]) -> Result<(), Failure> {
        if self.bytes + frame.len() as u64 > FILE_BYTES_MAX {
            *self = Appender::new(self.folder)?;
        }
        let end = self.bytes + frame.len() as u64;
        if end > self.reserved {
            let upto = end.next_multiple_of(RESERVE_BYTES);
            fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.reserved, upto - self.reserved).doing("no room")?;
            self.reserved = upto;
        }
        self.file.write_all_at(frame, self.bytes).doing("cannot write")?;
        self.bytes = end;
        Ok(())
    }
}

/// Sends the same batch again and again.
pub(super) struct Append {
    request: Request,
}

impl Append {
    pub(super) fn new(batch_bytes: usize) -> Append {
        let records = records::batch(batch_bytes, records::wall_ms()).bytes;
        let front = front(FRONT_BYTES, records.len());
        Append { request: Request { front, records, back: Bytes::new() } }
    }
}

impl Work for Append {
    fn request(&mut self, _connection: usize) -> Request {
        self.request.clone()
    }

    fn answer(&mut self, _connection: usize, _frame: &[u8]) -> Result<u64, Failure> {
        Ok(self.request.records.len() as u64)
    }
}
