//! Our Produce and Fetch against the codecs that `kafka-protocol` generates from Kafka's schemas, for every version:
//! random messages must read back as they were, and the bytes must be those that the other codec writes.

mod common;

use ballast_wire::fetch::{self, FetchRequest, FetchResponse};
use ballast_wire::frame::{ApiKey, Form, Pieces, Writer};
use ballast_wire::produce::{self, ProduceRequest, ProduceResponse};
use bytes::{Bytes, BytesMut};
use common::joined;
use kafka_protocol::messages;
use kafka_protocol::protocol::{Decodable, Encodable};
use proptest::prelude::*;

/// What the other codec writes after it has read `ours`; it must have read every byte.
fn as_written_by<Message: Decodable + Encodable>(ours: &Bytes, version: i16) -> Bytes {
    let mut rest = ours.clone();
    let message = Message::decode(&mut rest, version).expect("the other codec reads what we wrote");
    assert!(rest.is_empty(), "{} bytes were not read", rest.len());
    let mut written = BytesMut::new();
    message.encode(&mut written, version).expect("the other codec writes what it read");
    written.freeze()
}

fn writer(key: ApiKey, version: i16) -> Writer {
    Writer::new(Form::of(key.is_flexible(version)))
}

fn produce_version() -> std::ops::RangeInclusive<i16> {
    produce::VERSION_MIN..=produce::VERSION_MAX
}

fn fetch_version() -> std::ops::RangeInclusive<i16> {
    fetch::VERSION_MIN..=fetch::VERSION_MAX
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn produce_requests_agree((version, request) in produce_version().prop_flat_map(|v| (Just(v), common::produce_request(v)))) {
        let mut out = Pieces::body(ApiKey::PRODUCE, version);
        request.encode(version, &mut out);
        let bytes = joined(&out.finish());
        prop_assert_eq!(&ProduceRequest::decode(version, &bytes).unwrap(), &request);
        prop_assert_eq!(as_written_by::<messages::ProduceRequest>(&bytes, version), bytes);
    }

    #[test]
    fn produce_responses_agree((version, response) in produce_version().prop_flat_map(|v| (Just(v), common::produce_response(v)))) {
        let mut out = writer(ApiKey::PRODUCE, version);
        response.encode(version, &mut out);
        let bytes = out.finish();
        prop_assert_eq!(&ProduceResponse::decode(version, &bytes).unwrap(), &response);
        prop_assert_eq!(as_written_by::<messages::ProduceResponse>(&bytes, version), bytes);
    }

    #[test]
    fn fetch_requests_agree((version, request) in fetch_version().prop_flat_map(|v| (Just(v), common::fetch_request(v)))) {
        let mut out = writer(ApiKey::FETCH, version);
        request.encode(version, &mut out);
        let bytes = out.finish();
        prop_assert_eq!(&FetchRequest::decode(version, &bytes).unwrap(), &request);
        prop_assert_eq!(as_written_by::<messages::FetchRequest>(&bytes, version), bytes);
    }

    #[test]
    fn fetch_responses_agree((version, response) in fetch_version().prop_flat_map(|v| (Just(v), common::fetch_response(v)))) {
        let mut out = Pieces::body(ApiKey::FETCH, version);
        response.encode(version, &mut out);
        let bytes = joined(&out.finish());
        prop_assert_eq!(&FetchResponse::decode(version, &bytes).unwrap(), &response);
        prop_assert_eq!(as_written_by::<messages::FetchResponse>(&bytes, version), bytes);
    }
}

#[test]
fn null_records_in_a_fetch_response_read_as_none() {
    let mut response = messages::FetchResponse::default();
    let partition = messages::fetch_response::PartitionData::default();
    let topic = messages::fetch_response::FetchableTopicResponse::default().with_partitions(vec![partition]);
    response.responses.push(topic);
    for version in fetch_version() {
        let mut bytes = BytesMut::new();
        response.encode(&mut bytes, version).unwrap();
        let bytes = bytes.freeze();
        let read = FetchResponse::decode(version, &bytes).unwrap();
        assert!(read.topics[0].partitions[0].records.is_empty(), "v{version}");
    }
}

#[test]
fn versions_without_a_codec_are_named() {
    for version in [-1, 2, 14, i16::MAX] {
        assert!(ProduceRequest::decode(version, &Bytes::new()).unwrap_err().to_string().contains("not one of 3 to 13"));
    }
    for version in [3, 19] {
        assert!(FetchRequest::decode(version, &[]).unwrap_err().to_string().contains("not one of 4 to 18"));
    }
}
