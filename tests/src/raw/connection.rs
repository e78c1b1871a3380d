//! One connection: bytes out, and what comes of them.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use bytes::Bytes;
use kafka_protocol::protocol::{Decodable as _, Request};

/// How long an answer may take. It takes milliseconds; a busy machine takes longer.
pub const ANSWER_MAX: Duration = Duration::from_secs(20);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A response frame, without its size.
    Frame(Bytes),
    /// The broker ended the connection.
    Closed,
    /// Neither within the time given.
    Silence,
}

/// A connection to a broker.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Goes into the header of requests that [`Connection::request`] builds.
    pub client_id: Option<String>,
    correlation_id: i32,
}

impl Connection {
    /// Connects to `HOST:PORT`.
    ///
    /// # Panics
    /// If nobody listens there.
    #[must_use]
    pub fn open(bootstrap: &str) -> Connection {
        Connection::try_open(bootstrap).unwrap_or_else(|error| panic!("{bootstrap}: {error}"))
    }

    /// As [`Connection::open`], of a broker that may be gone.
    ///
    /// # Errors
    /// As a socket gives them.
    pub fn try_open(bootstrap: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(bootstrap)?;
        stream.set_nodelay(true)?;
        // A peer that stops reading must not stop the test.
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        Ok(Connection { stream, client_id: Some("ballast-tests".to_owned()), correlation_id: 0 })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// As a socket gives them, when the broker has ended the connection.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends `payload` as one frame.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_frame(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut writer = Writer::frame();
        writer.raw(payload);
        self.send(&writer.finish_frame(0))
    }

    /// Says that nothing more will be sent; answers still come.
    ///
    /// # Panics
    /// If the connection is gone.
    pub fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("the connection is open");
    }

    /// As [`Connection::half_close`], whether or not the broker has ended the connection already.
    pub fn half_close_quietly(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The next response frame, or why there is none.
    ///
    /// # Panics
    /// If the broker announces a response of a negative size.
    pub fn reply_within(&mut self, wait: Duration) -> Reply {
        self.stream.set_read_timeout(Some(wait)).expect("a socket takes its options");
        let mut size = [0; 4];
        if let Err(error) = self.stream.read_exact(&mut size) {
            return no_reply(&error);
        }
        let size = usize::try_from(i32::from_be_bytes(size)).expect("a response has a size of at least 0");
        let mut frame = vec![0; size];
        match self.stream.read_exact(&mut frame) {
            Ok(()) => Reply::Frame(frame.into()),
            Err(error) => no_reply(&error),
        }
    }

    /// The next response, as [`Connection::reply_within`] with [`ANSWER_MAX`].
    pub fn reply(&mut self) -> Reply {
        self.reply_within(ANSWER_MAX)
    }

    /// The next response frame.
    ///
    /// # Panics
    /// If none comes.
    pub fn frame(&mut self) -> Bytes {
        match self.reply() {
            Reply::Frame(frame) => frame,
            other => panic!("an answer was expected, and there is {other:?}"),
        }
    }

    /// Sends a request: a header of the right form, then `body`. Gives its correlation id.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn request(&mut self, key: ApiKey, version: i16, body: &[u8]) -> io::Result<i32> {
        self.correlation_id += 1;
        let client_id = self.client_id.as_deref().map(Into::into);
        let header = RequestHeader { key, version, correlation_id: self.correlation_id, client_id };
        let mut writer = Writer::frame();
        header.encode(&mut writer);
        writer.raw(body);
        self.send(&writer.finish_frame(0))?;
        Ok(self.correlation_id)
    }

    /// Sends a message and gives its correlation id.
    ///
    /// # Panics
    /// If the message has no form in `version`, or the connection is gone.
    pub fn start<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        let body = encoded(version, request);
        self.request(ApiKey(R::KEY), version, &body)
            .unwrap_or_else(|error| panic!("{} v{version} could not be sent: {error}", ApiKey(R::KEY)))
    }

    /// The answer to the message that [`Connection::start`] sent with this correlation id.
    ///
    /// # Panics
    /// If what comes next is anything else.
    pub fn finish<R: Request>(&mut self, version: i16, correlation_id: i32) -> R::Response {
        let key = ApiKey(R::KEY);
        let reply = self.reply();
        let Reply::Frame(frame) = reply else {
            panic!("{key} v{version}: an answer was expected, and there is {reply:?}")
        };
        let (answered, body) = parse_response_header(&frame, key, version)
            .unwrap_or_else(|error| panic!("{key} v{version}: the header of the answer: {error}"));
        assert_eq!(answered, correlation_id, "{key} v{version}: the answer to another request");
        let mut body = frame.slice(body.position()..);
        let response = R::Response::decode(&mut body, version)
            .unwrap_or_else(|error| panic!("{key} v{version}: the answer cannot be read: {error}\n{frame:?}"));
        assert!(body.is_empty(), "{key} v{version}: {} bytes after the answer", body.len());
        response
    }

    /// Sends a message and awaits its answer.
    ///
    /// # Panics
    /// As [`Connection::start`] and [`Connection::finish`].
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let correlation_id = self.start(version, request);
        self.finish::<R>(version, correlation_id)
    }
}

/// The body of a message in a version.
///
/// # Panics
/// If the message has no form in `version`.
pub fn encoded<R: Request>(version: i16, request: &R) -> Vec<u8> {
    let mut body = Vec::new();
    request
        .encode(&mut body, version)
        .unwrap_or_else(|error| panic!("{} has no form in v{version}: {error}", ApiKey(R::KEY)));
    body
}

fn no_reply(error: &io::Error) -> Reply {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Reply::Silence,
        // A broker that closes with bytes unread resets.
        _ => Reply::Closed,
    }
}
