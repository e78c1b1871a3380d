//! Fetch: a topic read from its beginning to its end and from the beginning again, one request in flight a connection.
//!
//! Each connection reads one partition, as a consumer that asks for the next range once it has the last. Batches are judged
//! by header and checksum; a batch cut off at the end of an answer does not count and is asked for again.

use ballast_wire::batch::batches;
use ballast_wire::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ballast_wire::frame::{ApiKey, Reader, RequestHeader, WireError, Writer, parse_response_header};
use bytes::Bytes;

use super::{Request, Work};
use crate::client::Topic;
use crate::{Doing as _, Failure};

/// Version that is spoken: flexible, topics by name, without a session.
const FETCH_VERSION: i16 = 12;
const MAX_WAIT_MS: i32 = 500;

/// Reads a topic.
#[derive(Debug)]
pub struct Fetch {
    topic: Topic,
    bytes_max: i32,
    /// Where each connection reads next.
    next: Vec<i64>,
}

/// What an answer says of its one partition.
struct Fetched<'a> {
    code: i16,
    high_watermark: i64,
    records: &'a [u8],
}

impl Fetch {
    /// Work for `connections` connections, each asking for at most `bytes_max` at once.
    #[must_use]
    pub fn new(topic: &Topic, bytes_max: i32, connections: usize) -> Fetch {
        Fetch { topic: topic.clone(), bytes_max, next: vec![0; connections] }
    }
}

impl Work for Fetch {
    fn request(&mut self, connection: usize) -> Request {
        let index = connection as i32 % self.topic.partitions;
        let partition = FetchPartition::new(index, self.next[connection], self.bytes_max);
        let topic =
            FetchTopic { name: self.topic.name.as_str().into(), partitions: vec![partition], ..FetchTopic::default() };
        let request = FetchRequest {
            max_wait_ms: MAX_WAIT_MS,
            min_bytes: 1,
            max_bytes: self.bytes_max,
            topics: vec![topic],
            ..FetchRequest::default()
        };
        let header = RequestHeader {
            key: ApiKey::FETCH,
            version: FETCH_VERSION,
            correlation_id: 0,
            client_id: Some("ballast-bench".into()),
        };
        let mut writer = Writer::frame();
        header.encode(&mut writer);
        request.encode(FETCH_VERSION, &mut writer);
        Request { front: writer.finish_frame(0).into(), records: Bytes::new(), back: Bytes::new() }
    }

    fn answer(&mut self, connection: usize, frame: &[u8]) -> Result<u64, Failure> {
        let fetched = parse(frame).doing("the answer to a fetch")?;
        if fetched.code != 0 {
            return Err(Failure::new(format!("a fetch was refused with error {}", fetched.code)));
        }
        let next = &mut self.next[connection];
        let mut bytes = 0;
        for batch in batches(fetched.records) {
            let batch = batch.doing("a batch")?;
            batch.verify_checksum().doing("a batch")?;
            if batch.last_offset() < *next {
                return Err(Failure::new(format!("offset {} was sent again, {next} was due", batch.last_offset())));
            }
            *next = batch.last_offset() + 1;
            bytes += batch.len() as u64;
        }
        if bytes == 0 {
            return Err(Failure::new("a fetch gave no whole batch: the topic is empty, or its batches are too large"));
        }
        if *next >= fetched.high_watermark {
            *next = 0;
        }
        Ok(bytes)
    }
}

/// Walks an answer to its records without copying them.
fn parse(frame: &[u8]) -> Result<Fetched<'_>, WireError> {
    let (_, mut body) = parse_response_header(frame, ApiKey::FETCH, FETCH_VERSION)?;
    let (_throttle_ms, top_level, _session) = (body.i32()?, body.i16()?, body.i32()?);
    let mut fetched = Fetched { code: top_level, high_watermark: -1, records: &[] };
    body.array(3, |body| {
        body.string()?;
        body.array(30, |body| read_partition(body, &mut fetched))?;
        body.skip_tags()
    })?;
    body.skip_tags()?;
    Ok(fetched)
}

fn read_partition<'a>(body: &mut Reader<'a>, fetched: &mut Fetched<'a>) -> Result<(), WireError> {
    let (_index, code, high_watermark) = (body.i32()?, body.i16()?, body.i64()?);
    let (_stable, _start) = (body.i64()?, body.i64()?);
    body.nullable_array(17, |body| {
        let (_producer, _first_offset) = (body.i64()?, body.i64()?);
        body.skip_tags()
    })?;
    let _preferred = body.i32()?;
    let records = body.nullable_bytes()?.unwrap_or_default();
    *fetched = Fetched { code: if fetched.code == 0 { code } else { fetched.code }, high_watermark, records };
    body.skip_tags()
}

#[cfg(test)]
mod tests {
    use ballast_wire::Chunk;
    use ballast_wire::batch::view::stamp;
    use ballast_wire::fetch::{FetchResponse, FetchedPartition, FetchedTopic};
    use ballast_wire::frame::Pieces;

    use super::*;
    use crate::records;

    fn answer(records: &[u8], high_watermark: i64, error_code: i16) -> Vec<u8> {
        let mut partition: FetchedPartition<Bytes> = FetchedPartition::failed(0, error_code);
        partition.high_watermark = high_watermark;
        partition.records = Bytes::copy_from_slice(records);
        let topic = FetchedTopic { name: "t".into(), partitions: vec![partition], ..FetchedTopic::default() };
        let response = FetchResponse { topics: vec![topic], ..FetchResponse::default() };
        let mut pieces = Pieces::response_frame(ApiKey::FETCH, FETCH_VERSION, 1);
        response.encode(FETCH_VERSION, &mut pieces);
        let frame: Vec<u8> = pieces.finish_frame().iter().flat_map(|chunk: &Chunk| chunk.bytes().unwrap()).collect();
        frame[4..].to_vec()
    }

    fn stamped(base_offset: i64) -> Vec<u8> {
        let mut bytes = records::batch(4 << 10, 5).bytes.to_vec();
        stamp(&mut bytes, base_offset, 0);
        bytes
    }

    #[test]
    fn a_consumer_goes_on_behind_the_last_whole_batch_and_begins_again_at_the_end() {
        let mut work = Fetch::new(&Topic::new("t", 1), 1 << 20, 1);
        let (first, second) = (stamped(0), stamped(3));
        let cut = [&first[..], &second[..second.len() - 1]].concat();
        assert_eq!(work.answer(0, &answer(&cut, 6, 0)).unwrap(), first.len() as u64);
        assert_eq!(work.next, [3]);
        assert_eq!(work.answer(0, &answer(&second, 6, 0)).unwrap(), second.len() as u64);
        assert_eq!(work.next, [0]);
    }

    #[test]
    fn errors_rot_repetition_and_silence_are_failures() {
        let mut work = Fetch::new(&Topic::new("t", 1), 1 << 20, 1);
        assert!(work.answer(0, &answer(&stamped(0), 3, 6)).is_err(), "an error code");
        assert!(work.answer(0, &answer(&[], 3, 0)).is_err(), "no records");
        let mut rotten = stamped(0);
        *rotten.last_mut().unwrap() ^= 1;
        assert!(work.answer(0, &answer(&rotten, 3, 0)).is_err(), "a wrong checksum");
        work.next[0] = 9;
        assert!(work.answer(0, &answer(&stamped(0), 20, 0)).is_err(), "an offset from before");
    }
}
