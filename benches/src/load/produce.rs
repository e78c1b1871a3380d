//! Produce: the same batch again and again, to the partitions in turn.

use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, Pieces, RequestHeader, parse_response_header};
use ballast_wire::produce::{ProducePartition, ProduceRequest, ProduceResponse, ProduceTopic};
use bytes::Bytes;

use super::{Request, Work};
use crate::client::{PRODUCE_VERSION, Topic};
use crate::{Doing as _, Failure};

const TIMEOUT_MS: i32 = 30_000;

/// Sends one batch a request.
#[derive(Debug)]
pub struct Produce {
    /// A request for each partition, encoded once.
    requests: Vec<Request>,
    /// The partitions that each connection goes round, and which of them is next.
    rounds: Vec<(Vec<usize>, usize)>,
    batch_bytes: u64,
}

impl Produce {
    /// Work for `connections` connections, each of which goes round all partitions; they start apart.
    ///
    /// # Panics
    /// With acks 0: there would be no answers to count.
    #[must_use]
    pub fn new(topic: &Topic, batch: &Bytes, acks: i16, connections: usize) -> Produce {
        let partitions = topic.partitions as usize;
        let round = |connection| ((0..partitions).collect(), connection * partitions / connections);
        Produce::around(topic, batch, acks, (0..connections).map(round).collect())
    }

    /// Work for as many connections as there are lists of partitions; each goes round its own.
    ///
    /// # Panics
    /// As [`Produce::new`], and if a list is empty.
    #[must_use]
    pub fn divided(topic: &Topic, batch: &Bytes, acks: i16, lists: &[Vec<i32>]) -> Produce {
        let round = |list: &Vec<i32>| (list.iter().map(|index| *index as usize).collect(), 0);
        Produce::around(topic, batch, acks, lists.iter().map(round).collect())
    }

    fn around(topic: &Topic, batch: &Bytes, acks: i16, rounds: Vec<(Vec<usize>, usize)>) -> Produce {
        assert_ne!(acks, 0, "acks 0 has no answers");
        assert!(rounds.iter().all(|(round, _)| !round.is_empty()), "a connection has no partitions: {rounds:?}");
        let requests = (0..topic.partitions).map(|index| encode(topic, index, batch, acks)).collect();
        Produce { requests, rounds, batch_bytes: batch.len() as u64 }
    }
}

impl Work for Produce {
    fn request(&mut self, connection: usize) -> Request {
        let (round, next) = &mut self.rounds[connection];
        let request = self.requests[round[*next]].clone();
        *next = (*next + 1) % round.len();
        request
    }

    fn answer(&mut self, _connection: usize, frame: &[u8]) -> Result<u64, Failure> {
        let (_, body) = parse_response_header(frame, ApiKey::PRODUCE, PRODUCE_VERSION).doing("the header")?;
        let answer = ProduceResponse::decode(PRODUCE_VERSION, &frame[body.position()..]).doing("the answer")?;
        let [topic] = &answer.topics[..] else { return Err(Failure::new("an answer about other topics")) };
        let [partition] = &topic.partitions[..] else { return Err(Failure::new("an answer about other partitions")) };
        if partition.error_code != 0 || partition.base_offset < 0 {
            return Err(Failure::new(format!("a batch was refused: {partition:?}")));
        }
        Ok(self.batch_bytes)
    }
}

/// The request for a partition, cut around its records.
fn encode(topic: &Topic, index: i32, batch: &Bytes, acks: i16) -> Request {
    let partition = ProducePartition { index, records: Some(batch.clone()) };
    let topic =
        ProduceTopic { name: topic.name.as_str().into(), partitions: vec![partition], ..ProduceTopic::default() };
    let request = ProduceRequest { transactional_id: None, acks, timeout_ms: TIMEOUT_MS, topics: vec![topic] };
    let header = RequestHeader {
        key: ApiKey::PRODUCE,
        version: PRODUCE_VERSION,
        correlation_id: 0,
        client_id: Some("ballast-bench".into()),
    };
    let mut pieces = Pieces::request_frame(&header);
    request.encode(PRODUCE_VERSION, &mut pieces);
    let pieces: Vec<Bytes> = pieces.finish_frame().into_iter().map(owned).collect();
    let [front, records, back] = &pieces[..] else {
        panic!("a frame around one batch has three pieces, not {}", pieces.len());
    };
    Request { front: front.to_vec(), records: records.clone(), back: back.clone() }
}

fn owned(chunk: Chunk) -> Bytes {
    match chunk {
        Chunk::Owned(bytes) => bytes,
        other => panic!("a request is made in memory, not {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use ballast_wire::frame::RequestHeader;

    use super::*;
    use crate::records;

    #[test]
    fn a_request_is_a_whole_frame_around_the_shared_batch() {
        let batch = records::batch(16 << 10, 5).bytes;
        let mut work = Produce::new(&Topic::new("t", 3), &batch, -1, 2);
        let starts: Vec<Request> = vec![work.request(0), work.request(1), work.request(0)];
        assert_eq!(starts[0].records.as_ptr(), batch.as_ptr(), "the batch was copied");
        let mut seen = Vec::new();
        for request in starts {
            let frame: Bytes = [&request.front[..], &request.records, &request.back].concat().into();
            assert_eq!(frame.len() - 4, i32::from_be_bytes(*frame.first_chunk().unwrap()) as usize);
            let frame = frame.slice(4..);
            let (header, body) = RequestHeader::parse(&frame).unwrap();
            assert_eq!((header.key, header.version), (ApiKey::PRODUCE, PRODUCE_VERSION));
            let body = frame.slice(body.position()..);
            let decoded = ProduceRequest::decode(PRODUCE_VERSION, &body).unwrap();
            assert_eq!(decoded.topics[0].partitions[0].records.as_ref(), Some(&batch));
            seen.push(decoded.topics[0].partitions[0].index);
        }
        assert_eq!(seen, [0, 1, 1], "each connection goes round on its own");
    }

    #[test]
    fn connections_that_divide_a_topic_keep_to_their_own_partitions() {
        let batch = records::batch(0, 5).bytes;
        let topic = Topic::new("t", 3);
        let mut work = Produce::divided(&topic, &batch, -1, &[vec![2, 0], vec![1]]);
        let whole = |request: Request| [&request.front[..], &request.records, &request.back].concat();
        let wanted: Vec<Vec<u8>> = (0..3).map(|index| whole(encode(&topic, index, &batch, -1))).collect();
        let seen = [0, 0, 0, 1, 1].map(|connection| whole(work.request(connection)));
        let seen = seen.map(|request| wanted.iter().position(|known| *known == request));
        assert_eq!(seen, [Some(2), Some(0), Some(2), Some(1), Some(1)]);
    }
}
