//! The least that could do the job: what a broker's figures are held against, in the same minute.
//!
//! - `append`: the least broker. Reads a frame, makes its CRC-32C, appends it with `pwrite` into reserved space, answers
//!   with 40 bytes. No protocol, no partitions, no locks.
//! - `sendfile`: the least fetch. Reads a request of 60 bytes, answers with 64 bytes and a range of a warm file.
//!
//! Server and client are two threads that block, so that the kernel counts the server's CPU time apart.

mod append;
mod sendfile;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::clock::{SECOND_NS, now_ns, seconds_between, thread_cpu_ns};
use crate::load::{Outcome, Span};
use crate::process::{machine_busy_seconds, this_thread, thread_cpu_seconds};
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

/// Measures a limit for `run`, after `warm`. `window` requests are in flight; the sendfile loop has one.
///
/// # Errors
/// A file or socket fails.
pub fn run(limit: Limit, folder: &Path, window: usize, warm: Span, run: Span) -> Result<Outcome, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").doing("cannot listen")?;
    let address = listener.local_addr().doing("a socket has an address")?;
    let (named, name) = mpsc::channel::<PathBuf>();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || -> Result<(), Failure> {
            named.send(this_thread()?).doing("the client waits for it")?;
            let (stream, _) = listener.accept().doing("cannot accept")?;
            stream.set_nodelay(true).doing("a socket option")?;
            match limit {
                Limit::Append { .. } => append::serve(stream, folder),
                Limit::Sendfile { chunk_bytes } => sendfile::serve(stream, folder, chunk_bytes),
            }
        });
        let thread = name.recv().doing("the server did not start")?;
        let stream = TcpStream::connect(address).doing("cannot connect")?;
        stream.set_nodelay(true).doing("a socket option")?;
        let mut client: Box<dyn Ask> = match limit {
            Limit::Append { batch_bytes } => Box::new(append::Client::new(stream, batch_bytes, window)),
            Limit::Sendfile { chunk_bytes } => Box::new(sendfile::Client::new(stream, chunk_bytes)?),
        };
        let outcome = measure(client.as_mut(), &thread, warm, run);
        // The server ends with its connection.
        drop(client);
        server.join().map_err(|_| Failure::new("the server panicked"))??;
        outcome
    })
}

/// The client's side of a limit.
trait Ask {
    /// Takes one answer and sends one request. Gives the bytes that it moved and the latency in ns.
    fn turn(&mut self) -> Result<(u64, u64), Failure>;
}

fn measure(client: &mut dyn Ask, server: &Path, warm: Span, run: Span) -> Result<Outcome, Failure> {
    turn_for(client, warm, &mut Outcome::new())?;
    let mut outcome = Outcome::new();
    let (server_before, busy_before) = (thread_cpu_seconds(server)?, machine_busy_seconds()?);
    let (client_before, before) = (thread_cpu_ns(), now_ns());
    turn_for(client, run, &mut outcome)?;
    outcome.seconds = seconds_between(before, now_ns());
    outcome.client_cpu_seconds = seconds_between(client_before, thread_cpu_ns());
    outcome.server_cpu_seconds = Some(thread_cpu_seconds(server)? - server_before);
    outcome.busy_seconds = machine_busy_seconds()? - busy_before;
    Ok(outcome)
}

fn turn_for(client: &mut dyn Ask, span: Span, outcome: &mut Outcome) -> Result<(), Failure> {
    let until = now_ns() + (span.seconds * SECOND_NS as f64) as u64;
    while outcome.bytes < span.bytes && now_ns() < until {
        let (bytes, latency_ns) = client.turn()?;
        outcome.count(bytes, latency_ns);
    }
    Ok(())
}

/// Writes all of two pieces with as few calls as the socket allows.
fn write_both(stream: &mut TcpStream, first: &[u8], second: &[u8]) -> std::io::Result<()> {
    let sent = stream.write_vectored(&[std::io::IoSlice::new(first), std::io::IoSlice::new(second)])?;
    stream.write_all(&first[sent.min(first.len())..])?;
    stream.write_all(&second[sent.saturating_sub(first.len())..])
}
