//! What a measurement asks of a broker besides records: topics made, led, looked at and deleted.
//!
//! One blocking connection, one request at a time, in versions of a plain form that Apache Kafka 4.x and Ballast both speak.
//!
//! Read next: `cluster` (what is asked of several nodes: who leads what, who is the active controller).

mod cluster;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, Pieces, Reader, RequestHeader, WireError, Writer, parse_response_header};
use ballast_wire::produce::{ProducePartition, ProduceRequest, ProduceResponse, ProduceTopic};
use bytes::Bytes;

pub use cluster::{PartitionView, View};

use crate::clock::{SECOND_NS, now_ns, rest};
use crate::{Doing as _, Failure};

/// Version of Produce that is spoken: flexible, topics by name.
pub const PRODUCE_VERSION: i16 = 9;

/// How long an answer may take: a thousand topics take seconds.
const ANSWER_SECONDS_MAX: u64 = 120;
/// Largest answer that is believed, in bytes.
const ANSWER_BYTES_MAX: usize = 256 << 20;
const REQUEST_TIMEOUT_MS: i32 = 60_000;
/// How often a broker that is not ready is asked again, in seconds.
const ASK_AGAIN_SECONDS: f64 = 0.0005;

const LATEST: i64 = -1;
const NO_LEADER: i32 = -1;
/// Partitions and replicas of a topic whose placement says them.
const NOT_GIVEN: i32 = -1;
const TOPIC_ALREADY_EXISTS: i16 = 36;

/// A connection for administration.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    correlation_id: i32,
}

/// A topic and how many partitions it has or shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its partitions, numbered from 0.
    pub partitions: i32,
}

impl Topic {
    /// A topic of this name.
    pub fn new(name: impl Into<String>, partitions: i32) -> Topic {
        Topic { name: name.into(), partitions }
    }

    /// A name that no other run has used.
    #[must_use]
    pub fn unique(stem: &str, partitions: i32) -> Topic {
        Topic::new(format!("{stem}-{}-{}", std::process::id(), now_ns()), partitions)
    }
}

impl Client {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(bootstrap: &str) -> Result<Client, Failure> {
        let stream = TcpStream::connect(bootstrap).doing(format_args!("cannot connect to {bootstrap}"))?;
        stream.set_nodelay(true).doing("a socket option")?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX))).doing("a socket option")?;
        Ok(Client { stream, correlation_id: 0 })
    }

    /// Connects as soon as somebody listens, for at most `seconds_max`.
    ///
    /// # Errors
    /// Nobody did in time.
    pub fn connect_when_ready(bootstrap: &str, seconds_max: u64) -> Result<Client, Failure> {
        let until = now_ns() + seconds_max * SECOND_NS;
        loop {
            match Client::connect(bootstrap) {
                Ok(client) => return Ok(client),
                Err(failure) if now_ns() > until => return Err(failure),
                Err(_) => rest(ASK_AGAIN_SECONDS),
            }
        }
    }

    /// Makes topics with one replica; one that is there already is as good.
    ///
    /// # Errors
    /// The broker refuses one.
    pub fn create_topics(&mut self, topics: &[Topic], configs: &[(&str, &str)]) -> Result<(), Failure> {
        self.create_replicated(topics, 1, configs)
    }

    /// Makes topics with so many replicas; one that is there already is as good.
    ///
    /// # Errors
    /// The broker refuses one.
    pub fn create_replicated(
        &mut self,
        topics: &[Topic],
        replicas: i16,
        configs: &[(&str, &str)],
    ) -> Result<(), Failure> {
        self.create(topics, configs, |out, topic| {
            out.i32(topic.partitions);
            out.i16(replicas);
            out.count(Some(0));
        })
    }

    /// Makes a topic whose every partition has its replicas on these nodes; the first is the preferred leader.
    ///
    /// # Errors
    /// The broker refuses it.
    pub fn create_assigned(&mut self, topic: &Topic, nodes: &[i32], configs: &[(&str, &str)]) -> Result<(), Failure> {
        self.create(std::slice::from_ref(topic), configs, |out, topic| {
            out.i32(NOT_GIVEN);
            out.i16(NOT_GIVEN as i16);
            let rows: Vec<i32> = (0..topic.partitions).collect();
            out.array(&rows, |out, partition| {
                out.i32(*partition);
                out.array(nodes, |out, node| out.i32(*node));
            });
        })
    }

    fn create(
        &mut self,
        topics: &[Topic],
        configs: &[(&str, &str)],
        placement: impl Fn(&mut Writer, &Topic),
    ) -> Result<(), Failure> {
        let frame = self.call(ApiKey::CREATE_TOPICS, 4, |out| {
            out.array(topics, |out, topic| {
                out.string(&topic.name);
                placement(out, topic);
                out.array(configs, |out, (key, value)| {
                    out.string(key);
                    out.string(value);
                });
            });
            out.i32(REQUEST_TIMEOUT_MS);
            out.bool(false);
        })?;
        let refused = read(&frame, ApiKey::CREATE_TOPICS, 4, |body| {
            body.i32()?;
            body.array(4, |body| Ok((body.string()?.into_owned(), body.i16()?, body.nullable_string()?)))
        })?;
        match refused.iter().find(|(_, code, _)| !matches!(*code, 0 | TOPIC_ALREADY_EXISTS)) {
            Some((name, code, why)) => Err(Failure::new(format!("cannot create {name}: error {code} {why:?}"))),
            None => Ok(()),
        }
    }

    /// Deletes topics; those that are not there are no concern.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn delete_topics(&mut self, topics: &[Topic]) -> Result<(), Failure> {
        self.call(ApiKey::DELETE_TOPICS, 1, |out| {
            out.array(topics, |out, topic| out.string(&topic.name));
            out.i32(REQUEST_TIMEOUT_MS);
        })?;
        Ok(())
    }

    /// Waits until every partition of the topics has a leader.
    ///
    /// # Errors
    /// Some have none after `seconds_max`.
    pub fn await_leaders(&mut self, topics: &[Topic], seconds_max: u64) -> Result<(), Failure> {
        let wanted: i32 = topics.iter().map(|topic| topic.partitions).sum();
        let until = now_ns() + seconds_max * SECOND_NS;
        loop {
            let led = self.led_partitions(topics)?;
            if led >= wanted {
                return Ok(());
            }
            if now_ns() > until {
                return Err(Failure::new(format!("{led} of {wanted} partitions have a leader after {seconds_max} s")));
            }
            rest(ask_again_seconds(topics));
        }
    }

    /// Waits until every partition of the topics is led and says where it ends: a controller names a leader a moment before
    /// the leader knows. Gives the end offsets.
    ///
    /// # Errors
    /// Some do not after `seconds_max`.
    pub fn await_serving(&mut self, topics: &[Topic], seconds_max: u64) -> Result<Vec<i64>, Failure> {
        self.await_leaders(topics, seconds_max)?;
        let until = now_ns() + seconds_max * SECOND_NS;
        loop {
            let ends: Result<Vec<i64>, i16> = self.end_offsets(topics)?.into_iter().collect();
            match ends {
                Ok(ends) => return Ok(ends),
                Err(code) if now_ns() > until => {
                    return Err(Failure::new(format!("a partition does not say where it ends: error {code}")));
                }
                Err(_) => rest(ask_again_seconds(topics)),
            }
        }
    }

    fn led_partitions(&mut self, topics: &[Topic]) -> Result<i32, Failure> {
        let view = self.view(topics)?;
        Ok(view.partitions().filter(|partition| partition.leader.is_some()).count() as i32)
    }

    /// The end offset of every partition of the topics, in their order; an error code where there is none.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn end_offsets(&mut self, topics: &[Topic]) -> Result<Vec<Result<i64, i16>>, Failure> {
        let all = |topic: &Topic| (topic.name.clone(), (0..topic.partitions).collect());
        self.end_offsets_of(&topics.iter().map(all).collect::<Vec<_>>())
    }

    /// The end offset of these partitions of topics, in their order; an error code where there is none.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn end_offsets_of(&mut self, topics: &[(String, Vec<i32>)]) -> Result<Vec<Result<i64, i16>>, Failure> {
        let frame = self.call(ApiKey::LIST_OFFSETS, 1, |out| {
            out.i32(-1);
            out.array(topics, |out, (name, rows)| {
                out.string(name);
                out.array(rows, |out, partition| {
                    out.i32(*partition);
                    out.i64(LATEST);
                });
            });
        })?;
        let topics = read(&frame, ApiKey::LIST_OFFSETS, 1, |body| {
            body.array(6, |body| {
                body.string()?;
                body.array(22, |body| {
                    let (_, code, _, offset) = (body.i32()?, body.i16()?, body.i64()?, body.i64()?);
                    Ok(if code == 0 { Ok(offset) } else { Err(code) })
                })
            })
        })?;
        Ok(topics.into_iter().flatten().collect())
    }

    /// Appends `batch` to every partition of a topic with acks=all. Gives the codes of those that refused.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn produce(&mut self, topic: &Topic, batch: &Bytes) -> Result<Vec<i16>, Failure> {
        self.produce_to(&[(topic.name.clone(), (0..topic.partitions).collect())], batch)
    }

    /// Appends `batch` to each of these partitions of topics with acks=all, in one request. Gives the codes of those that
    /// refused.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn produce_to(&mut self, topics: &[(String, Vec<i32>)], batch: &Bytes) -> Result<Vec<i16>, Failure> {
        let row = |index: &i32| ProducePartition { index: *index, records: Some(batch.clone()) };
        let mut sent = Vec::new();
        for (name, partitions) in topics {
            let partitions = partitions.iter().map(row).collect();
            sent.push(ProduceTopic { name: name.as_str().into(), partitions, ..ProduceTopic::default() });
        }
        let request = ProduceRequest { transactional_id: None, acks: -1, timeout_ms: REQUEST_TIMEOUT_MS, topics: sent };
        let mut pieces = Pieces::request_frame(&self.header(ApiKey::PRODUCE, PRODUCE_VERSION));
        request.encode(PRODUCE_VERSION, &mut pieces);
        for piece in pieces.finish_frame() {
            let Chunk::Owned(bytes) = piece else { return Err(Failure::new("a client has no files to send from")) };
            self.stream.write_all(&bytes).doing("cannot send records")?;
        }
        let frame = self.answer()?;
        let (_, body) = parse_response_header(&frame, ApiKey::PRODUCE, PRODUCE_VERSION).doing("the answer")?;
        let answer = ProduceResponse::decode(PRODUCE_VERSION, &frame[body.position()..]).doing("the answer")?;
        let rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
        Ok(rows.map(|row| row.error_code).filter(|code| *code != 0).collect())
    }

    fn call(&mut self, key: ApiKey, version: i16, body: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, Failure> {
        let mut writer = Writer::frame();
        self.header(key, version).encode(&mut writer);
        body(&mut writer);
        self.stream.write_all(&writer.finish_frame(0)).doing(format_args!("cannot send {key}"))?;
        self.answer()
    }

    fn header(&mut self, key: ApiKey, version: i16) -> RequestHeader<'static> {
        self.correlation_id += 1;
        RequestHeader { key, version, correlation_id: self.correlation_id, client_id: Some("ballast-bench".into()) }
    }

    fn answer(&mut self) -> Result<Vec<u8>, Failure> {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size).doing("no answer")?;
        let size = usize::try_from(i32::from_be_bytes(size)).ok().filter(|size| *size <= ANSWER_BYTES_MAX);
        let size = size.ok_or_else(|| Failure::new("an answer of an impossible size"))?;
        let mut frame = vec![0; size];
        self.stream.read_exact(&mut frame).doing("half an answer")?;
        Ok(frame)
    }
}

/// Asking about thousands of partitions is work for the broker as well.
fn ask_again_seconds(topics: &[Topic]) -> f64 {
    if topics.len() > 100 { 0.02 } else { ASK_AGAIN_SECONDS }
}

fn read<'a, T>(
    frame: &'a [u8],
    key: ApiKey,
    version: i16,
    body: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<T, Failure> {
    let (_, mut reader) = parse_response_header(frame, key, version).doing(key)?;
    body(&mut reader).doing(format_args!("the answer to {key}"))
}
