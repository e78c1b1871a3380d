//! What a metadata quorum of three processes is sent on its controller listeners by somebody who knows its private calls (the
//! bytes: `quorum::rpc`): nothing of it ends a node, or keeps it from starting again, or the three from electing.

use ballast_tests::nodes::Nodes;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, Reply, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};

const APPEND: ApiKey = ApiKey(20_000);
const SNAPSHOT: ApiKey = ApiKey(20_002);
const JOIN: ApiKey = ApiKey(20_005);

/// What each node may be told of each other.
struct Seen {
    leader: i32,
    term: u64,
    /// Index of the last entry that is committed.
    last: u64,
    /// Node ids with their directories.
    voters: Vec<(i32, [u8; 16])>,
    /// `HOST:PORT` of each node's controller listener, by id.
    listeners: Vec<(i32, String)>,
    observers: usize,
}

impl Seen {
    /// As a node tells it; `None` while there is no leader.
    fn by(bootstrap: &str) -> Option<Seen> {
        let partition = PartitionData::default();
        let topic =
            TopicData::default().with_topic_name(text("__cluster_metadata").into()).with_partitions(vec![partition]);
        let mut connection = Connection::try_open(bootstrap).ok()?;
        let told = connection.call(2, &DescribeQuorumRequest::default().with_topics(vec![topic]));
        let row = told.topics.first()?.partitions.first()?;
        if row.error_code != 0 || row.leader_id.0 < 1 {
            return None;
        }
        let voters =
            row.current_voters.iter().map(|voter| (voter.replica_id.0, *voter.replica_directory_id.as_bytes()));
        let listeners = told.nodes.iter().filter_map(|node| {
            let at = node.listeners.first()?;
            Some((node.node_id.0, format!("{}:{}", at.host, at.port)))
        });
        Some(Seen {
            leader: row.leader_id.0,
            term: u64::try_from(row.leader_epoch).ok()?,
            last: u64::try_from(row.high_watermark).ok()?.checked_sub(1)?,
            voters: voters.collect(),
            listeners: listeners.collect(),
            observers: row.observers.len(),
        })
    }

    fn node(&self, id: i32) -> Vec<u8> {
        let directory =
            self.voters.iter().find(|(voter, _)| *voter == id).map_or([0x44; 16], |(_, directory)| *directory);
        [&id.to_be_bytes()[..], &directory].concat()
    }

    fn log_id(&self, term: u64, of: i32, index: u64) -> Vec<u8> {
        [&term.to_be_bytes()[..], &self.node(of), &index.to_be_bytes()].concat()
    }

    /// A request to `to` of `from`, who says to lead in `term`.
    fn led(&self, to: i32, from: i32, term: u64, rest: &[u8]) -> Vec<u8> {
        let vote = [&term.to_be_bytes()[..], &self.node(from), &[1]].concat();
        [&[1][..], &self.node(to), &self.node(from), &vote, rest].concat()
    }

    /// Sends it to a node's controller listener: whether it was taken.
    fn is_taken(&self, to: i32, key: ApiKey, body: &[u8]) -> bool {
        let at = &self.listeners.iter().find(|(id, _)| *id == to).expect("it has a listener").1;
        let mut connection = Connection::open(at);
        connection.request(key, 0, body).expect("it takes a frame");
        match connection.reply() {
            // Correlation id, no tags, outcome.
            Reply::Frame(answer) => answer[5] == 0,
            Reply::Closed => false,
            other => panic!("node {to}: {other:?}"),
        }
    }
}

/// One entry of records: position, 1, length, bytes.
fn entry(log_id: &[u8], records: &[u8]) -> Vec<u8> {
    [log_id, &[1], &(records.len() as u32).to_be_bytes(), records].concat()
}

fn some(value: &[u8]) -> Vec<u8> {
    [&[1], value].concat()
}

#[test]
fn a_quorum_outlives_whatever_its_controller_listeners_are_sent() {
    if std::env::var("BALLAST_TEST_BOOTSTRAP").is_ok() {
        return;
    }
    let mut nodes = Nodes::start(3, None, &["broker.session.timeout.ms=2000"]);
    let seen =
        eventually("there is a leader", || Seen::by(&nodes.node(1).bootstrap).filter(|seen| seen.voters.len() == 3));
    let (leader, term) = (seen.leader, seen.term);
    let others: Vec<i32> = (1..=3).filter(|id| *id != leader).collect();
    let (follower, third) = (others[0], others[1]);

    let empty = [0, 0, 0, 0, 0, 0];
    for from in [99, third] {
        for to in [leader, follower] {
            let append = seen.led(to, from, i32::MAX as u64, &empty);
            assert!(!seen.is_taken(to, APPEND, &append), "{to}: the last term of {from}");
        }
    }
    assert!(!seen.is_taken(follower, APPEND, &seen.led(follower, 99, term + 1, &empty)), "nobody leads");
    let last = some(&seen.log_id(term, leader, seen.last));
    let after = |index, records: &[u8]| {
        let entry = entry(&seen.log_id(term, leader, index), records);
        seen.led(follower, leader, term, &[&last, &[0][..], &1_u32.to_be_bytes(), &entry].concat())
    };
    for (what, append) in [
        ("no records", after(seen.last + 1, &[])),
        ("records that do not decode", after(seen.last + 1, &[1, 0, 14, 0, 255, 255, 255, 255])),
        ("a gap", after(seen.last + 100, &[1, 0, 0])),
        ("the largest index", after(u64::MAX, &[1, 0, 0])),
    ] {
        assert!(!seen.is_taken(follower, APPEND, &append), "{what}");
    }
    let beyond = some(&seen.log_id(term, leader, seen.last + 50));
    // A membership (version 1, one set of one voter, no addresses), offset 0, the last chunk.
    let membership = [&[0, 1][..], &[0, 0, 0, 1], &[0, 0, 0, 1], &seen.node(leader), &[0; 4]].concat();
    let tail = [&membership[..], &[0; 8], &[1], &[b'x'; 100]].concat();
    let snapshot = seen.led(follower, leader, term, &[beyond, tail].concat());
    assert!(!seen.is_taken(follower, SNAPSHOT, &snapshot), "junk");
    for id in 1000..1060_i32 {
        let joining = [&[1][..], &seen.node(leader), &seen.node(id), &[0, 9], b"127.0.0.1", &[0, 9], &[0, 0]].concat();
        seen.is_taken(leader, JOIN, &joining);
    }
    let now = Seen::by(&nodes.node(1).bootstrap).expect("there is a leader");
    assert_eq!((now.leader, now.term), (leader, term), "the same leads on");
    assert!(now.observers <= 16, "{} observers", now.observers);

    nodes.kill_all();
    nodes.restart(&[1, 2, 3]);
    let back = eventually("they elect", || Seen::by(&nodes.node(1).bootstrap));
    nodes.node_mut(u8::try_from(back.leader).expect("an id")).kill();
    let left = (1..=3).find(|id| i32::from(*id) != back.leader).expect("two are left");
    eventually("the two that are left elect", || {
        Seen::by(&nodes.node(left).bootstrap).filter(|seen| seen.leader != back.leader)
    });
}
