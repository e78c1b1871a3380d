//! The least that could do the job: what a broker's figures are held against, in the same minute.
//!
//! - `append`: the least broker. Reads a frame, makes its CRC-32C, appends it with `pwrite` into reserved space, answers
//!   with 40 bytes. No protocol, no partitions, no locks.
//! - `sendfile`: the least fetch. Reads a request of 60 bytes, answers with 64 bytes and a range of a warm file.
//!
//! The client is the load generator itself, so that a broker and its limit are asked in the same way; what frames hold is
//! padding. The server is a thread that blocks, so that the kernel counts its CPU time apart. The two are kept on different
//! cores: on one core a small exchange costs a third, which is not what a broker and its client can count on.

mod append;
mod cores;
mod sendfile;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::load::{self, Cpu, Outcome, Pace, Span, Target, Work};
use crate::process::this_thread;
use crate::{Doing as _, Failure};

/// A limit to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The least broker, with frames around a batch of at most this size.
    Append {
        /// Largest batch, in bytes.
        batch_bytes: usize,
    },
    /// The sendfile loop, with answers of this size.
    Sendfile {
        /// Bytes of an answer.
        chunk_bytes: usize,
    },
}

/// Measures a limit on one connection for `run`, after `warm`. `window` requests are in flight; the sendfile loop has one.
///
/// # Errors
/// A file or socket fails.
pub fn run(limit: Limit, folder: &Path, window: usize, warm: Span, run: Span) -> Result<Outcome, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").doing("cannot listen")?;
    let bootstrap = listener.local_addr().doing("a socket has an address")?.to_string();
    let (ready, is_ready) = mpsc::channel::<PathBuf>();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || serve(limit, folder, &listener, &ready));
        let Ok(thread) = is_ready.recv() else {
            return server.join().map_err(|_| Failure::new("the server panicked"))?.map(|()| Outcome::new());
        };
        let (mut work, window): (Box<dyn Work>, usize) = match limit {
            Limit::Append { batch_bytes } => (Box::new(append::Append::new(batch_bytes)), window),
            Limit::Sendfile { chunk_bytes } => (Box::new(sendfile::Read::new(chunk_bytes)), 1),
        };
        let target = Target::one(bootstrap, Some(Cpu::Thread(thread)));
        let pace = Pace { connections: 1, window, rate_per_second: None, warm, run };
        let _apart = cores::pin(cores::CLIENT);
        let outcome = load::run(&target, &pace, work.as_mut());
        // The server ends with its connection.
        server.join().map_err(|_| Failure::new("the server panicked"))??;
        outcome
    })
}

fn serve(limit: Limit, folder: &Path, listener: &TcpListener, ready: &mpsc::Sender<PathBuf>) -> Result<(), Failure> {
    let thread = this_thread()?;
    let _apart = cores::pin(cores::SERVER);
    let mut server: Box<dyn FnMut(TcpStream) -> Result<(), Failure>> = match limit {
        Limit::Append { .. } => Box::new(|stream| append::serve(stream, folder)),
        Limit::Sendfile { chunk_bytes } => {
            let file = sendfile::warm_file(folder)?;
            Box::new(move |stream| sendfile::serve(stream, &file, chunk_bytes))
        }
    };
    ready.send(thread).doing("nobody waits for the server")?;
    let (stream, _) = listener.accept().doing("cannot accept")?;
    stream.set_nodelay(true).doing("a socket option")?;
    server(stream)
}

/// The front of a request: size, four bytes that a protocol would use, the correlation id, padding.
fn front(front_bytes: usize, more_bytes: usize) -> Vec<u8> {
    let mut front = vec![0; front_bytes];
    let size = (front_bytes + more_bytes - SIZE_BYTES) as u32;
    front[..SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
    front
}

/// Where the correlation id stands in a frame without its size.
const CORRELATION: std::ops::Range<usize> = 4..8;
const SIZE_BYTES: usize = 4;

/// The front of an answer: size and correlation id, the rest padding.
fn answer_front<const N: usize>(request: &[u8], more_bytes: usize) -> [u8; N] {
    let mut front = [0; N];
    front[..SIZE_BYTES].copy_from_slice(&((N + more_bytes - SIZE_BYTES) as u32).to_be_bytes());
    front[SIZE_BYTES..2 * SIZE_BYTES].copy_from_slice(&request[CORRELATION]);
    front
}
