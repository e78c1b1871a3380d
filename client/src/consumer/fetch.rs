//! One fetch from one broker: the request on the wire, and the records of its answer.
//!
//! Runs as a task of its own, so that decompression goes on while the records before are being used.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::fetch::{
    EpochEnd, FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, VERSION_MAX, VERSION_MIN,
};
use ballast_wire::frame::{ApiKey, Form, Writer};
use ballast_wire::shared::CurrentLeader;
use ballast_wire::{BrokerId, Offset, Uuid};
use bytes::Bytes;

use super::ConsumerConfig;
use super::records::{self, Decoded, Rules};
use super::session::{Key, SessionRequest, Wish};
use crate::{Broker, ClientError, Cluster, ErrorCode, Lane, RawRequest};

/// The last version that names topics; from the next one on they go by their ids.
const BY_NAME_LAST: i16 = 12;

/// What a broker said.
#[derive(Debug)]
pub(super) struct Answer {
    /// Of the whole request: something is wrong with the session, or worse.
    pub(super) code: ErrorCode,
    pub(super) session_id: i32,
    pub(super) rows: Vec<(Key, Row)>,
    /// Where hinted leaders listen.
    pub(super) endpoints: Vec<Broker>,
}

/// What it said of one partition.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) code: ErrorCode,
    /// End of what we may read: the last stable offset for those who read committed records alone.
    pub(super) readable_end: Offset,
    pub(super) diverging: Option<EpochEnd>,
    pub(super) leader: Option<CurrentLeader>,
    pub(super) read_from: Option<BrokerId>,
    /// Or why they cannot be read.
    pub(super) decoded: Result<Decoded, ClientError>,
}

/// Asks `broker`. `wanted` is everything that its session covers, this request included.
pub(super) async fn fetch(
    cluster: Cluster,
    config: Arc<ConsumerConfig>,
    broker: BrokerId,
    request: SessionRequest,
    wanted: BTreeMap<Key, Wish>,
) -> Result<Answer, ClientError> {
    let connection = cluster.connection(broker, Lane::Fetch).await?;
    let by_id = wanted.values().all(|wish| !wish.topic_id.is_zero());
    let last = if by_id { VERSION_MAX } else { BY_NAME_LAST };
    let version = connection.version_within(ApiKey::FETCH, (VERSION_MIN, last))?;
    let mut body = Writer::new(Form::of(ApiKey::FETCH.is_flexible(version)));
    wire_request(version, &config, &request).encode(version, &mut body);
    let raw = RawRequest { key: ApiKey::FETCH, version, body: vec![body.finish().into()], answered: true };
    let limit = cluster.config().request_timeout + config.fetch_wait_max;
    let body = connection.start(raw, limit).await?.wait().await?;
    decode(version, &body, &config, &wanted).map_err(|reason| ClientError::BadAnswer {
        address: connection.address().to_owned(),
        what: "Fetch".to_owned(),
        reason,
    })
}

fn wire_request<'a>(version: i16, config: &'a ConsumerConfig, request: &'a SessionRequest) -> FetchRequest<'a> {
    let by_id = version > BY_NAME_LAST;
    let mut topics: BTreeMap<(&str, Uuid), Vec<FetchPartition>> = BTreeMap::new();
    for ((topic, partition), wish) in &request.wishes {
        let mut row = FetchPartition::new(*partition, wish.offset, wish.bytes_max);
        row.current_leader_epoch = wish.current_leader_epoch;
        row.last_fetched_epoch = wish.last_fetched_epoch;
        topics.entry((topic, wish.topic_id)).or_default().push(row);
    }
    let mut forgotten: BTreeMap<(&str, Uuid), Vec<i32>> = BTreeMap::new();
    for ((topic, partition), id) in &request.forgotten {
        forgotten.entry((topic, *id)).or_default().push(*partition);
    }
    let name = |name: &'a str| if by_id { "".into() } else { name.into() };
    let id = |id: Uuid| if by_id { id } else { Uuid::ZERO };
    FetchRequest {
        max_wait_ms: i32::try_from(config.fetch_wait_max.as_millis()).unwrap_or(i32::MAX),
        min_bytes: config.fetch_bytes_min,
        max_bytes: config.fetch_bytes_max,
        isolation_level: i8::from(config.read_committed),
        session_id: request.id,
        session_epoch: request.epoch,
        topics: topics
            .into_iter()
            .map(|((topic, topic_id), partitions)| FetchTopic { name: name(topic), id: id(topic_id), partitions })
            .collect(),
        forgotten: forgotten
            .into_iter()
            .map(|((topic, topic_id), partitions)| ForgottenTopic { name: name(topic), id: id(topic_id), partitions })
            .collect(),
        rack_id: config.rack.as_str().into(),
        ..FetchRequest::default()
    }
}

fn decode(version: i16, body: &Bytes, config: &ConsumerConfig, wanted: &BTreeMap<Key, Wish>) -> Result<Answer, String> {
    let answer = FetchResponse::decode(version, body).map_err(|e| e.to_string())?;
    let mut names: BTreeMap<Uuid, Arc<str>> = BTreeMap::new();
    if version > BY_NAME_LAST {
        names.extend(wanted.iter().map(|((topic, _), wish)| (wish.topic_id, topic.clone())));
    }
    let mut rows = Vec::new();
    for topic in answer.topics {
        let name = if version > BY_NAME_LAST { names.get(&topic.id).cloned() } else { Some(Arc::from(&*topic.name)) };
        let Some(name) = name else { continue };
        for row in topic.partitions {
            let key = (name.clone(), row.index);
            // A row that nobody asked for (any more) is of no use.
            let Some(wish) = wanted.get(&key) else { continue };
            let aborted = row.aborted_transactions.unwrap_or_default();
            let aborted = aborted.iter().map(|one| (one.first_offset, one.producer_id)).collect();
            let rules = Rules {
                check_crcs: config.check_crcs,
                opened_bytes_max: config.opened_bytes_max,
                aborted: config.read_committed.then_some(aborted),
            };
            let decoded = records::decode(&row.records, wish.offset, rules);
            let decoded = decoded.map_err(|(offset, error)| ClientError::BadAnswer {
                address: format!("{}-{}", key.0, key.1),
                what: format!("a fetch at offset {offset}"),
                reason: error.to_string(),
            });
            rows.push((
                key,
                Row {
                    code: ErrorCode(row.error_code),
                    readable_end: if config.read_committed { row.last_stable_offset } else { row.high_watermark },
                    diverging: row.diverging_epoch,
                    leader: row.current_leader,
                    read_from: (row.preferred_read_replica >= 0).then_some(row.preferred_read_replica),
                    decoded,
                },
            ));
        }
    }
    let endpoints = answer.node_endpoints.iter().filter_map(Broker::from_endpoint).collect();
    Ok(Answer { code: ErrorCode(answer.error_code), session_id: answer.session_id, rows, endpoints })
}
