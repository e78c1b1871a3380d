//! One of the two brokers, or of the two clusters, as a case sees it: its connection, the topics that were prepared on it,
//! and what it answered.
//!
//! Holds: both sides go through the same calls in the same order, so that names (made of the case, the version and a
//! number) and offsets are the same on both without being set aside.

use std::collections::BTreeMap;
use std::fmt;

use ballast_tests::raw::connection::encoded;
use ballast_tests::raw::{Connection, Reply, timed};
use ballast_tests::target::Topic;
use ballast_wire::batch::Compression;
use ballast_wire::frame::{ApiKey, parse_response_header};
use bytes::Bytes;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::protocol::{Decodable, Request};

use super::normal::Known;
use super::tree::Tree;

/// What stands for an answer that did not come.
pub(crate) const CLOSED: &str = "<connection closed>";
const SILENT: &str = "<no answer>";

/// One broker, or one cluster.
pub(crate) struct Side {
    /// `HOST:PORT` of the node that is asked.
    pub(crate) bootstrap: String,
    /// `HOST:PORT` of each node, by its id less one.
    nodes: Vec<String>,
    /// The epoch of the broker that a case has registered, if one has.
    pub(crate) stranger_epoch: i64,
    /// The connection that requests go through; a new one after the broker has closed it.
    pub(crate) connection: Connection,
    /// The same on both sides: times of records are counted from here, in ms since 1970.
    pub(crate) now_ms: i64,
    known: Known,
    topics: BTreeMap<String, Topic>,
    /// Prefix of the names that the running case makes, and how many it has made.
    scope: (String, u32),
    answers: Vec<Tree>,
}

impl Side {
    /// The broker at `bootstrap`, or the cluster whose nodes are there, with commas between.
    pub(crate) fn new(bootstrap: &str, now_ms: i64) -> Side {
        let nodes: Vec<String> = bootstrap.split(',').map(str::to_owned).collect();
        let bootstrap = nodes[0].as_str();
        Side {
            bootstrap: bootstrap.to_owned(),
            nodes: nodes.clone(),
            stranger_epoch: -1,
            connection: Connection::open(bootstrap),
            now_ms,
            known: Known::default(),
            topics: BTreeMap::new(),
            scope: (String::new(), 0),
            answers: Vec::new(),
        }
    }

    /// From now on this node is asked, until the case ends.
    pub(crate) fn at(&mut self, id: u8) {
        let node = self.nodes[usize::from(id) - 1].clone();
        self.turn_to(node);
    }

    /// From now on this address is asked, until the case ends.
    pub(crate) fn turn_to(&mut self, bootstrap: String) {
        self.bootstrap = bootstrap;
        self.connection = self.open();
    }

    /// Begins a case; names that it makes start with `scope`.
    pub(crate) fn begin(&mut self, scope: String) {
        if self.bootstrap != self.nodes[0] {
            self.at(1);
        }
        self.scope = (scope, 0);
        self.answers.clear();
    }

    /// What has been answered since, comparable with the other side.
    pub(crate) fn finish(&mut self) -> Tree {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in &mut answers {
            // What this case has named is called the same in every version.
            self.known.normalize(answer, &self.scope.0);
        }
        if answers.len() == 1 { answers.remove(0) } else { Tree::List(answers) }
    }

    /// Sends a message; what becomes of it is compared.
    pub(crate) fn ask<R>(&mut self, version: i16, request: &R) -> Option<R::Response>
    where
        R: Request,
        R::Response: fmt::Debug,
    {
        self.connection.start(version, request);
        self.take::<R>(version)
    }

    /// Sends a body of a version that the library cannot write; what becomes of it is compared.
    pub(crate) fn ask_body<R>(&mut self, version: i16, body: &[u8]) -> Option<R::Response>
    where
        R: Request,
        R::Response: fmt::Debug,
    {
        self.connection.request(ApiKey(R::KEY), version, body).expect("the connection is open");
        self.take::<R>(version)
    }

    /// The answer to what has been sent, compared.
    pub(crate) fn take<R>(&mut self, version: i16) -> Option<R::Response>
    where
        R: Request,
        R::Response: fmt::Debug,
    {
        let key = ApiKey(R::KEY);
        let (tree, response) = match self.connection.reply() {
            Reply::Closed => (Tree::Leaf(CLOSED.to_owned()), None),
            Reply::Silence => (Tree::Leaf(SILENT.to_owned()), None),
            Reply::Frame(frame) => match decoded::<R>(key, version, &frame) {
                Ok(response) => (Tree::of(&response), Some(response)),
                Err(error) => (Tree::Leaf(format!("<{error}: {frame:?}>")), None),
            },
        };
        if response.is_none() {
            self.connection = self.open();
        }
        self.answers.push(tree);
        response
    }

    /// Sends a message that only prepares; its answer is not compared.
    ///
    /// # Panics
    /// If there is no answer.
    pub(crate) fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.connection.call(version, request)
    }

    /// Sends a body of this API as it is; what becomes of it is compared as bytes.
    pub(crate) fn ask_raw(&mut self, key: ApiKey, version: i16, body: &[u8]) {
        self.connection.request(key, version, body).expect("the connection is open");
        let tree = match self.connection.reply() {
            Reply::Closed => Tree::Leaf(CLOSED.to_owned()),
            Reply::Silence => Tree::Leaf(SILENT.to_owned()),
            // The correlation id is ours.
            Reply::Frame(frame) => Tree::of(&frame.slice(4..)),
        };
        self.connection = self.open();
        self.answers.push(tree);
    }

    /// Sends a message of which no answer is expected, as when acks is 0, and compares whether the connection still works.
    pub(crate) fn tell<R: Request>(&mut self, version: i16, request: &R) {
        let body = encoded(version, request);
        self.connection.request(ApiKey(R::KEY), version, &body).expect("the connection is open");
        let probe = kafka_protocol::messages::MetadataRequest::default().with_topics(Some(vec![]));
        self.connection.start(1, &probe);
        let open = matches!(self.connection.reply(), Reply::Frame(_));
        if !open {
            self.connection = self.open();
        }
        self.answers.push(Tree::Leaf(if open { "<no answer, and the connection works>" } else { CLOSED }.to_owned()));
    }

    /// One more connection.
    pub(crate) fn open(&self) -> Connection {
        Connection::open(&self.bootstrap)
    }

    /// A name that nothing else has; the same on both sides.
    pub(crate) fn unique(&mut self, stem: &str) -> String {
        self.scope.1 += 1;
        format!("{stem}-{}-{}", self.scope.0, self.scope.1)
    }

    /// A topic for this case alone.
    pub(crate) fn fresh(&mut self, partitions: i32, configs: &[(&str, &str)]) -> Topic {
        let name = self.unique("topic");
        self.create(name, partitions, configs)
    }

    /// A topic that cases share: its records are there, and no case changes it. Made by the first that asks.
    pub(crate) fn shared(&mut self, name: &str, partitions: i32, fill: impl FnOnce(&mut Side, &Topic)) -> Topic {
        if let Some(topic) = self.topics.get(name) {
            return topic.clone();
        }
        let topic = self.create(name.to_owned(), partitions, &[]);
        fill(self, &topic);
        self.topics.insert(name.to_owned(), topic.clone());
        topic
    }

    /// Two partitions. The first holds three batches with offsets 0–1, 2 and 3–5, their records' times 1,000 ms apart from
    /// [`Side::now_ms`] on; the second is empty.
    pub(crate) fn letters(&mut self) -> Topic {
        self.shared("letters", 2, |side, topic| {
            for batch in [&["a", "b"][..], &["c"], &["d", "e", "f"]] {
                let at = side.connection.bounds(&topic.name, 0).1;
                let batch = side.batch_at(at, batch);
                side.connection.append(&topic.name, 0, batch);
            }
        })
    }

    /// These values, the first one dated `number` seconds after [`Side::now_ms`], the next one a second later.
    pub(crate) fn batch_at(&self, number: i64, values: &[&str]) -> Bytes {
        let time = |index: usize| self.now_ms + 1000 * (number + index as i64);
        let records: Vec<(i64, &str)> = values.iter().enumerate().map(|(index, value)| (time(index), *value)).collect();
        timed(Compression::None, &records)
    }

    /// What a topic's id, or another id, stands for from now on.
    pub(crate) fn learn(&mut self, id: impl fmt::Display, meaning: String) {
        self.known.ids.insert(id.to_string(), meaning);
    }

    /// A topic with a partition for each row, on these nodes, led by the first of them. Made by the first that asks.
    pub(crate) fn placed(&mut self, name: &str, rows: &[&[i32]], fill: impl FnOnce(&mut Side, &Topic)) -> Topic {
        if let Some(topic) = self.topics.get(name) {
            return topic.clone();
        }
        let place = |(partition, nodes): (i32, &&[i32])| {
            let nodes = nodes.iter().map(|id| (*id).into()).collect();
            CreatableReplicaAssignment::default().with_partition_index(partition).with_broker_ids(nodes)
        };
        let row = CreatableTopic::default()
            .with_name(ballast_tests::raw::name(name))
            .with_num_partitions(-1)
            .with_replication_factor(-1)
            .with_assignments((0..).zip(rows).map(place).collect());
        let created = self.call(7, &CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![row]));
        assert_eq!(created.topics[0].error_code, 0, "{name}: {:?}", created.topics[0].error_message);
        let topic = Topic { name: name.to_owned(), id: created.topics[0].topic_id };
        self.learn(topic.id, format!("<id of {name}>"));
        fill(self, &topic);
        self.topics.insert(name.to_owned(), topic.clone());
        topic
    }

    fn create(&mut self, name: String, partitions: i32, configs: &[(&str, &str)]) -> Topic {
        let id = self.connection.create_topic(&name, partitions, configs);
        self.learn(id, format!("<id of {name}>"));
        Topic { name, id }
    }
}

fn decoded<R: Request>(key: ApiKey, version: i16, frame: &Bytes) -> Result<R::Response, String> {
    let (_, body) = parse_response_header(frame, key, version).map_err(|error| format!("header: {error}"))?;
    let mut body = frame.slice(body.position()..);
    let response = R::Response::decode(&mut body, version).map_err(|error| format!("cannot be read: {error}"))?;
    if body.is_empty() { Ok(response) } else { Err(format!("{} bytes after the answer", body.len())) }
}
