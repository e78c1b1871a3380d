//! A scripted peer for tests: a [`Transport`] whose brokers live in this process and answer as a closure says.
//!
//! ApiVersions and Metadata are answered from `versions` and `metadata` unless the closure answers them itself.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ballast_net::{BoxFuture, Clock, Connection, Listener, SeededEntropy, SendHalf, Transport};
use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, encode_response_header};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{ApiVersionsResponse, MetadataResponse, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, DuplexStream, WriteHalf};

use crate::frame::FrameReader;
use crate::{ClientConfig, Cluster, World};

/// One request as the fake broker saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) port: u16,
    /// Counts connections from 0, over all brokers.
    pub(crate) connection: usize,
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) client_id: String,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn decode<M: Decodable>(&self) -> M {
        M::decode(&mut self.body.clone(), self.version).unwrap()
    }
}

pub(crate) enum Reply {
    Body(Bytes),
    Later(Duration, Bytes),
    /// Closes the connection without an answer.
    Close,
    /// Reads on and never answers.
    Silence,
    /// Answers with the wrong correlation id.
    OutOfTurn,
    /// Answers nothing, as acks=0 wants it.
    Nothing,
}

impl Reply {
    pub(crate) fn of<M: Encodable>(message: &M, version: i16) -> Reply {
        Reply::Body(encoded(message, version))
    }
}

pub(crate) fn encoded<M: Encodable>(message: &M, version: i16) -> Bytes {
    let mut body = BytesMut::new();
    message.encode(&mut body, version).unwrap();
    body.freeze()
}

type Script = dyn Fn(&Asked) -> Option<Reply> + Send + Sync;

/// Brokers that share one script. Their ids are their ports.
pub(crate) struct Fake {
    script: Box<Script>,
    pub(crate) versions: Mutex<Vec<(i16, i16, i16)>>,
    pub(crate) metadata: Mutex<MetadataResponse>,
    /// Ports that accept nobody.
    pub(crate) down: Mutex<Vec<u16>>,
    pub(crate) asked: Mutex<Vec<Asked>>,
    connections: Mutex<usize>,
}

impl Fake {
    pub(crate) fn new(script: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Arc<Fake> {
        Arc::new(Fake {
            script: Box::new(script),
            versions: Mutex::new(vec![
                (0, 3, 9),
                (1, 4, 12),
                (2, 1, 7),
                (3, 0, 12),
                (18, 0, 4),
                (19, 2, 7),
                (22, 0, 4),
            ]),
            metadata: Mutex::new(MetadataResponse::default()),
            down: Mutex::new(Vec::new()),
            asked: Mutex::new(Vec::new()),
            connections: Mutex::new(0),
        })
    }

    /// Requests with `key`, in the order in which they came.
    pub(crate) fn asked_for(&self, key: ApiKey) -> Vec<Asked> {
        self.asked.lock().iter().filter(|asked| asked.key == key).cloned().collect()
    }

    /// Sets brokers (by port) and one topic's leaders: (leader, epoch) for each partition.
    pub(crate) fn set_topology(&self, brokers: &[u16], topic: &'static str, leaders: &[(i32, i32)]) {
        let mut metadata = MetadataResponse::default();
        metadata.brokers = brokers
            .iter()
            .map(|port| {
                MetadataResponseBroker::default()
                    .with_node_id(i32::from(*port).into())
                    .with_host(StrBytes::from_static_str("fake"))
                    .with_port(i32::from(*port))
            })
            .collect();
        metadata.controller_id = i32::from(brokers[0]).into();
        let row = |(at, (leader, epoch)): (usize, &(i32, i32))| {
            MetadataResponsePartition::default()
                .with_partition_index(at as i32)
                .with_leader_id((*leader).into())
                .with_leader_epoch(*epoch)
        };
        let topic = MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_static_str(topic))))
            .with_topic_id(uuid::Uuid::from_u128(1))
            .with_partitions(leaders.iter().enumerate().map(row).collect());
        *self.metadata.lock() = metadata.with_topics(vec![topic]);
    }

    /// A cluster whose bootstrap list is these ports, with short pauses.
    pub(crate) fn cluster(self: &Arc<Fake>, bootstrap: &[u16]) -> Cluster {
        let config = ClientConfig {
            bootstrap_servers: bootstrap.iter().map(|port| ("fake".to_owned(), *port)).collect(),
            ..ClientConfig::default()
        };
        Cluster::new(config, self.world())
    }

    pub(crate) fn world(self: &Arc<Fake>) -> World {
        World {
            transport: Arc::new(FakeTransport(self.clone())),
            clock: Arc::new(FixedClock),
            entropy: Arc::new(SeededEntropy::new(1)),
        }
    }

    fn reply(&self, asked: &Asked) -> Reply {
        self.asked.lock().push(asked.clone());
        if let Some(reply) = (self.script)(asked) {
            return reply;
        }
        match asked.key {
            ApiKey::API_VERSIONS => {
                let rows = self.versions.lock().clone();
                let keys = rows.into_iter().map(|(key, min, max)| {
                    ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max)
                });
                Reply::of(&ApiVersionsResponse::default().with_api_keys(keys.collect()), asked.version)
            }
            ApiKey::METADATA => Reply::of(&*self.metadata.lock(), asked.version),
            other => panic!("the script does not answer {other}"),
        }
    }
}

pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }
}

struct FakeTransport(Arc<Fake>);

impl Transport for FakeTransport {
    fn connect<'a>(&'a self, _host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Connection>> {
        Box::pin(async move {
            if self.0.down.lock().contains(&port) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let connection = {
                let mut count = self.0.connections.lock();
                *count += 1;
                *count - 1
            };
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            tokio::spawn(serve(self.0.clone(), theirs, port, connection));
            let (reader, writer) = tokio::io::split(ours);
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            Ok(Connection {
                reader: Box::new(reader),
                writer: Box::new(FakeSendHalf(writer)),
                peer: address,
                local: address,
            })
        })
    }

    fn listen<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
        _send_buffer_bytes: Option<usize>,
    ) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

async fn serve(fake: Arc<Fake>, stream: DuplexStream, port: u16, connection: usize) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut frames = FrameReader::new(reader, usize::MAX);
    while let Ok(Some(frame)) = frames.next().await {
        let (header, body) = RequestHeader::parse(&frame).unwrap();
        let body = frame.slice(body.position()..);
        let client_id = header.client_id.unwrap_or_default().into_owned();
        let asked = Asked { port, connection, key: header.key, version: header.version, client_id, body };
        let (correlation_id, body) = match fake.reply(&asked) {
            Reply::Body(body) => (header.correlation_id, body),
            Reply::Later(pause, body) => {
                tokio::time::sleep(pause).await;
                (header.correlation_id, body)
            }
            Reply::OutOfTurn => (header.correlation_id + 1, Bytes::new()),
            Reply::Close => return,
            Reply::Silence => std::future::pending().await,
            Reply::Nothing => continue,
        };
        // The v0 answer to a version of ApiVersions that is too new has no tags either way.
        let mut head = Writer::frame();
        encode_response_header(&mut head, asked.key, asked.version, correlation_id);
        let head = head.finish_frame(body.len());
        if writer.write_all(&head).await.is_err() || writer.write_all(&body).await.is_err() {
            return;
        }
    }
}

struct FakeSendHalf(WriteHalf<DuplexStream>);

impl SendHalf for FakeSendHalf {
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &mut std::collections::VecDeque<Chunk>,
    ) -> Poll<io::Result<()>> {
        while let Some(Chunk::Owned(front)) = pieces.front_mut() {
            if front.is_empty() {
                pieces.pop_front();
                continue;
            }
            let n = ready!(pin!(&mut self.0).poll_write(cx, front))?;
            front.advance(n);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
