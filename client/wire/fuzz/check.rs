//! What holds for every input, whatever the bytes: nothing panics, and what was read can be written and reads back as the
//! same bytes. (Not as the same value: bad UTF-8 grows when it is replaced, and strings have a limit.)
//!
//! Shared by the fuzz targets and by the test that replays their corpus. In `produce` and `fetch` the first byte of the
//! input picks the version, so that one corpus serves all of them.
#![allow(dead_code, reason = "each fuzz target uses one of these")]

use ballast_wire::Chunk;
use ballast_wire::batch::{ControlRecord, batches};
use ballast_wire::fetch::{self, FetchRequest, FetchResponse};
use ballast_wire::frame::{ApiKey, Form, Pieces, RequestHeader, Writer, parse_response_header};
use ballast_wire::produce::{self, ProduceRequest, ProduceResponse};
use bytes::Bytes;

const OPENED_BYTES_MAX: usize = 1 << 20;
const READS_BACK: &str = "what was written reads back";

/// Headers: what was read is written and reads back.
pub(crate) fn frame(data: &[u8]) {
    let encoded = |header: &RequestHeader<'_>| {
        let mut out = Writer::new(Form::Plain);
        header.encode(&mut out);
        out.finish()
    };
    if let Ok((header, _)) = RequestHeader::parse(data) {
        let written = encoded(&header);
        let (again, body) = RequestHeader::parse(&written).expect(READS_BACK);
        assert_eq!(encoded(&again), written);
        assert_eq!(body.remaining(), 0);
        let _ = parse_response_header(data, header.key, header.version);
    }
}

/// Both messages of Produce.
pub(crate) fn produce(data: &[u8]) {
    let Some((version, body)) = versioned(data, produce::VERSION_MIN, produce::VERSION_MAX) else {
        return;
    };
    let encoded_request = |request: &ProduceRequest<'_>| {
        let mut out = Pieces::body(ApiKey::PRODUCE, version);
        request.encode(version, &mut out);
        joined(out)
    };
    if let Ok(request) = ProduceRequest::decode(version, &body) {
        let written = encoded_request(&request);
        let again = ProduceRequest::decode(version, &written).expect(READS_BACK);
        assert_eq!(encoded_request(&again), written);
    }
    let encoded_response = |response: &ProduceResponse<'_>| {
        let mut out = Writer::new(Form::of(ApiKey::PRODUCE.is_flexible(version)));
        response.encode(version, &mut out);
        out.finish()
    };
    if let Ok(response) = ProduceResponse::decode(version, &body) {
        let written = encoded_response(&response);
        let again = ProduceResponse::decode(version, &written).expect(READS_BACK);
        assert_eq!(encoded_response(&again), written);
    }
}

/// Both messages of Fetch.
pub(crate) fn fetch(data: &[u8]) {
    let Some((version, body)) = versioned(data, fetch::VERSION_MIN, fetch::VERSION_MAX) else {
        return;
    };
    let encoded_request = |request: &FetchRequest<'_>| {
        let mut out = Writer::new(Form::of(ApiKey::FETCH.is_flexible(version)));
        request.encode(version, &mut out);
        out.finish()
    };
    if let Ok(request) = FetchRequest::decode(version, &body) {
        let written = encoded_request(&request);
        let again = FetchRequest::decode(version, &written).expect(READS_BACK);
        assert_eq!(encoded_request(&again), written);
    }
    let encoded_response = |response: &FetchResponse<'_, Bytes>| {
        let mut out = Pieces::body(ApiKey::FETCH, version);
        response.encode(version, &mut out);
        joined(out)
    };
    if let Ok(response) = FetchResponse::decode(version, &body) {
        let written = encoded_response(&response);
        let again = FetchResponse::decode(version, &written).expect(READS_BACK);
        assert_eq!(encoded_response(&again), written);
    }
}

/// Batches, whatever their checksums say, opened and walked.
pub(crate) fn batch(data: &[u8]) {
    for batch in batches(data).map_while(Result::ok) {
        let _ = batch.verify_checksum();
        let Ok(body) = batch.open(OPENED_BYTES_MAX) else {
            continue;
        };
        assert!(body.len() <= OPENED_BYTES_MAX || batch.body().len() > OPENED_BYTES_MAX);
        for record in batch.records_in(&body).map_while(Result::ok) {
            let _ = (record.offset(&batch), record.timestamp(&batch), ControlRecord::parse(&record));
            assert_eq!(record.headers().count(), record.header_count());
        }
    }
}

fn versioned(data: &[u8], min: i16, max: i16) -> Option<(i16, Bytes)> {
    let (&first, body) = data.split_first()?;
    let version = min + i16::from(first) % (max - min + 1);
    Some((version, Bytes::copy_from_slice(body)))
}

fn joined(out: Pieces) -> Bytes {
    let chunks = out.finish();
    chunks.iter().flat_map(|chunk: &Chunk| chunk.bytes().expect("chunks of a decoded message are in memory")).collect()
}
