//! A cluster with folders of its own, and hands to produce into it and look at its logs.

use std::collections::BTreeMap;
use std::path::Path;

use ballast_broker::embed::{Broker, Cluster, ClusterBuilder};
use ballast_tests::disk::Outlet;
use ballast_tests::raw::batches::batch;
use ballast_tests::raw::connection::encoded;
use ballast_tests::raw::messages::{name, produce};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, Fetch, Reply, fetch_row};
use ballast_wire::fetch::{FetchResponse, FetchedPartition};
use ballast_wire::frame::{ApiKey, parse_response_header};
use bytes::Bytes;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, ProduceResponse};
use kafka_protocol::protocol::Decodable as _;
use tempfile::TempDir;

/// A cluster whose brokers keep their files in a temporary folder.
pub(crate) struct Rig {
    pub(crate) cluster: Cluster,
    pub(crate) folder: TempDir,
}

/// A version in which a consumer may ask a follower (KIP-392), and the last that names topics.
const FETCH: i16 = 12;
const METADATA: i16 = 12;

/// Acknowledged by the leader alone, or by everybody in sync.
pub(crate) const LEADER: i16 = 1;
pub(crate) const ALL: i16 = -1;

const PRODUCE: i16 = 9;

impl Rig {
    /// Three machines whose disks can fail, and a topic of one partition that is on all of them.
    pub(crate) fn on_disks(topic: &str, configs: &[(&str, &str)]) -> (Rig, Vec<Outlet>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let machines: Vec<Outlet> = (1..=3).map(|seed| Outlet::new(seed, folder.path())).collect();
        let outlets = machines.clone();
        let cluster = Cluster::builder()
            .data_dir(folder.path())
            .each(move |id, broker| broker.disk(outlets[id as usize - 1].shared()))
            // Nothing is synced in the background while the test runs: what survives was synced because it had to be.
            .setting("log.flush.scheduler.interval.ms", "9223372036854775807")
            .topic_with(topic, 1, configs)
            .start_blocking()
            .expect("it starts");
        (Rig { cluster, folder }, machines)
    }

    /// Three brokers, shaped by `shape`.
    pub(crate) fn new(shape: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Rig {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let builder = Cluster::builder().data_dir(folder.path());
        let cluster = shape(builder).start_blocking().expect("it starts");
        Rig { cluster, folder }
    }

    /// What a broker says about a topic; nothing, where one that was cut off closes the connection instead.
    pub(crate) fn told(&self, broker: &Broker, topic: &str) -> Vec<MetadataResponsePartition> {
        let wish = MetadataRequestTopic::default().with_name(Some(name(topic)));
        let request = MetadataRequest::default().with_topics(Some(vec![wish]));
        let mut connection = Connection::open(broker.bootstrap());
        connection.start(METADATA, &request);
        let Reply::Frame(frame) = connection.reply() else { return Vec::new() };
        let (_, body) = parse_response_header(&frame, ApiKey::METADATA, METADATA).expect("a header");
        let mut body = frame.slice(body.position()..);
        let mut answer = MetadataResponse::decode(&mut body, METADATA).expect("a Metadata answer");
        answer.topics.pop().map(|topic| topic.partitions).unwrap_or_default()
    }

    /// Who leads a partition, as the brokers that run tell.
    pub(crate) fn leader(&self, topic: &str, partition: i32) -> i32 {
        eventually("somebody leads", || {
            let running = self.cluster.brokers().iter().find(|broker| broker.is_running())?;
            let rows = self.told(running, topic);
            let row = rows.iter().find(|row| row.partition_index == partition)?;
            let leader = row.leader_id.0;
            (leader >= 0 && self.cluster.broker(leader).is_running()).then_some(leader)
        })
    }

    /// Produces until the leader of the moment takes it; the base offset.
    pub(crate) fn produce(&self, acks: i16, topic: &str, partition: i32, values: &[&str]) -> i64 {
        eventually("the records are taken", || {
            let leader = self.cluster.broker(self.leader(topic, partition));
            let request = encoded(PRODUCE, &produce(acks, topic, partition, Some(batch(values))));
            let mut connection = Connection::try_open(leader.bootstrap()).ok()?;
            connection.request(ApiKey::PRODUCE, PRODUCE, &request).ok()?;
            // It may be killed before it answers.
            let Reply::Frame(frame) = connection.reply() else { return None };
            let (_, body) = parse_response_header(&frame, ApiKey::PRODUCE, PRODUCE).expect("a header");
            let mut body: Bytes = frame.slice(body.position()..);
            let answer = ProduceResponse::decode(&mut body, PRODUCE).expect("an answer");
            let row = &answer.responses[0].partition_responses[0];
            (row.error_code == 0).then_some(row.base_offset)
        })
    }

    /// What a broker itself answers to a consumer that reads partition 0 from `offset`, leader or not.
    pub(crate) fn served(&self, broker: i32, topic: &str, offset: i64) -> FetchedPartition<Bytes> {
        let mut reader = Connection::open(self.cluster.broker(broker).bootstrap());
        reader.start(FETCH, &Fetch::of(topic, vec![fetch_row(0, offset)]).0);
        let frame = reader.frame();
        let (_, body) = parse_response_header(&frame, ApiKey::FETCH, FETCH).expect("a header");
        let body = frame.slice(body.position()..);
        let mut response = FetchResponse::decode(FETCH, &body).expect("a Fetch answer");
        response.topics.remove(0).partitions.remove(0)
    }

    /// Everything in a partition's segments on one broker, by file name.
    pub(crate) fn segments(&self, broker: i32, partition: &str) -> BTreeMap<String, Vec<u8>> {
        segments(&self.folder.path().join(broker.to_string()).join(partition))
    }

    /// Waits until the segments of a partition are the same on all brokers; what is in them.
    pub(crate) fn alike(&self, partition: &str) -> BTreeMap<String, Vec<u8>> {
        eventually("the logs are alike", || {
            let first = self.segments(1, partition);
            let same = (2..=3).all(|broker| self.segments(broker, partition) == first);
            (same && first.values().any(|bytes| !bytes.is_empty())).then_some(first)
        })
    }
}

fn segments(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
    logs.filter_map(|log| Some((log.file_name().into_string().ok()?, std::fs::read(log.path()).ok()?))).collect()
}
