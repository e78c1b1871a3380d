//! A cluster inside a test: several embedded brokers and their metadata quorum, with real replication between them.
//!
//! ```
//! use ballast_broker::embed::Cluster;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Cluster::builder().brokers(3).topic("orders", 6).start_blocking()?;
//! println!("point clients at {}", cluster.bootstrap());
//! cluster.broker(2).kill();
//! cluster.broker(2).restart_blocking()?;
//! # Ok(())
//! # }
//! ```
//! Every broker is a broker of its own, with its threads, its faults and its folder; they meet over TCP alone. Each one votes
//! on the metadata.
//!
//! Read next: `known` (what is waited for), `broker` (what can be done to each), `ask` (how it is asked what it knows).

mod known;

use std::path::{Path, PathBuf};

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::{
    CreateTopicsRequest, DescribeQuorumRequest, TopicName, describe_quorum_request as quorum,
};
use kafka_protocol::protocol::StrBytes;

use super::broker::Broker;
use super::builder::Builder;
use super::ports::{HeldPort, hold};
use super::{Error, wait};

/// Brokers of a cluster, unless another number is asked for.
const BROKERS: usize = 3;
/// Replicas of a topic, unless the settings say otherwise.
const REPLICAS_MAX: usize = 3;
/// The controllers' listener.
const CONTROLLER: &str = "CONTROLLER";
/// Where a cluster is, unless listeners are set.
const HOST: &str = "127.0.0.1";
/// Attempts to make topics, each after [`PAUSE_MS`]: right after the start a controller may have changed.
const ATTEMPTS: usize = 600;
const PAUSE_MS: u64 = 20;
/// How long the controller may take for a topic.
const TOPIC_MAX_MS: i32 = 30_000;

/// What suits tests: a lost broker is noticed soon, and clients may run on the same two cores.
const DEFAULTS: [(&str, &str); 6] = [
    ("broker.heartbeat.interval.ms", "200"),
    ("broker.session.timeout.ms", "3000"),
    ("replica.lag.time.max.ms", "4000"),
    ("replica.fetch.backoff.ms", "50"),
    ("controller.quorum.election.timeout.ms", "600"),
    ("controller.quorum.election.backoff.max.ms", "400"),
];

type Shape = Box<dyn Fn(i32, Builder) -> Builder + Send>;

struct Topic {
    name: String,
    partitions: i32,
    configs: Vec<(String, String)>,
}

/// A cluster to be. Without any wish: three ephemeral brokers, nodes 1 to 3, on free ports of 127.0.0.1.
#[must_use = "a builder starts nothing until it is told to"]
pub struct ClusterBuilder {
    brokers: usize,
    settings: Vec<(String, String)>,
    data_dir: Option<PathBuf>,
    shapes: Vec<Shape>,
    topics: Vec<Topic>,
}

impl ClusterBuilder {
    /// So many brokers, at least one [default: 3].
    pub fn brokers(mut self, count: usize) -> ClusterBuilder {
        self.brokers = count.max(1);
        self
    }

    /// Sets one of Kafka's broker settings on every broker. A name that nobody knows is refused when the cluster starts.
    pub fn setting(mut self, name: &str, value: &str) -> ClusterBuilder {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Has the last word on each broker: `shape` is given its node id and its builder.
    pub fn each(mut self, shape: impl Fn(i32, Builder) -> Builder + Send + 'static) -> ClusterBuilder {
        self.shapes.push(Box::new(shape));
        self
    }

    /// Keeps data in `path`, a folder for each node id, and syncs it. Dropping such a cluster stops it in order.
    pub fn data_dir(mut self, path: impl AsRef<Path>) -> ClusterBuilder {
        self.data_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Makes a topic, of `default.replication.factor` replicas, before the start is done.
    pub fn topic(self, name: &str, partitions: i32) -> ClusterBuilder {
        self.topic_with(name, partitions, &[])
    }

    /// As [`ClusterBuilder::topic`], with topic configs.
    pub fn topic_with(mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> ClusterBuilder {
        let configs = configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.topics.push(Topic { name: name.to_owned(), partitions, configs });
        self
    }

    /// Starts it, and waits until every broker serves and knows the others and the topics. Works on any runtime.
    ///
    /// # Errors
    /// One line that says what stands in the way. Nothing is left behind then.
    pub async fn start(self) -> Result<Cluster, Error> {
        let topics = self.topics.iter().map(wish).collect::<Vec<_>>();
        let brokers = wait::all(self.builders()?.into_iter().map(Builder::start)).await;
        let cluster = Cluster { brokers: brokers.into_iter().collect::<Result<_, _>>()? };
        cluster.all_meet().await?;
        if !topics.is_empty() {
            cluster.make_topics(topics).await?;
        }
        Ok(cluster)
    }

    /// As [`ClusterBuilder::start`], for tests that are plain functions.
    ///
    /// # Errors
    /// As [`ClusterBuilder::start`].
    pub fn start_blocking(self) -> Result<Cluster, Error> {
        wait::block_on(self.start())
    }

    fn builders(&self) -> Result<Vec<Builder>, Error> {
        let at = |source| Error::Port { address: format!("{HOST}:0"), source };
        let ports: Vec<HeldPort> = (0..self.brokers).map(|_| hold(HOST, 0).map_err(at)).collect::<Result<_, _>>()?;
        let voter = |(id, port): (usize, &HeldPort)| format!("{id}@{HOST}:{}", port.address.port());
        let voters: Vec<String> = (1..).zip(&ports).map(voter).collect();
        let replicas = self.brokers.min(REPLICAS_MAX).to_string();
        let of_one = |(id, port): (i32, HeldPort)| {
            let mut builder = Broker::builder().node_id(id).controller(CONTROLLER, port);
            for (name, value) in DEFAULTS {
                builder = builder.setting(name, value);
            }
            builder = builder
                .setting("controller.quorum.voters", &voters.join(","))
                .setting("default.replication.factor", &replicas)
                .setting("offsets.topic.replication.factor", &replicas);
            for (name, value) in &self.settings {
                builder = builder.setting(name, value);
            }
            if let Some(path) = &self.data_dir {
                builder = builder.data_dir(path.join(id.to_string()));
            }
            self.shapes.iter().fold(builder, |builder, shape| shape(id, builder))
        };
        Ok((1..).zip(ports).map(of_one).collect())
    }
}

fn wish(topic: &Topic) -> CreatableTopic {
    let text = |text: &String| StrBytes::from_string(text.clone());
    let configs = topic
        .configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value))));
    CreatableTopic::default()
        .with_name(TopicName(text(&topic.name)))
        .with_num_partitions(topic.partitions)
        .with_replication_factor(-1)
        .with_configs(configs.collect())
}

/// Brokers in this process that form a cluster. Dropping it ends them all and waits until nothing of them is left: ephemeral
/// ones at once, those with a `data_dir` in order.
#[derive(Debug)]
pub struct Cluster {
    brokers: Vec<Broker>,
}

impl Cluster {
    /// A cluster to be.
    pub fn builder() -> ClusterBuilder {
        let (settings, shapes, topics) = (Vec::new(), Vec::new(), Vec::new());
        ClusterBuilder { brokers: BROKERS, settings, data_dir: None, shapes, topics }
    }

    /// `HOST:PORT,HOST:PORT,…` of every broker, down or not: what clients bootstrap from.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let all: Vec<&str> = self.brokers.iter().map(Broker::bootstrap).collect();
        all.join(",")
    }

    /// The broker of this node id.
    ///
    /// # Panics
    /// There is none: ids go from 1 to the number of brokers.
    #[must_use]
    pub fn broker(&self, id: i32) -> &Broker {
        let at = usize::try_from(id).ok().and_then(|id| self.brokers.get(id.checked_sub(1)?));
        at.unwrap_or_else(|| panic!("there is no broker {id}, only 1 to {}", self.brokers.len()))
    }

    /// Every broker, by node id.
    #[must_use]
    pub fn brokers(&self) -> &[Broker] {
        &self.brokers
    }

    /// Node id of the active controller, as the first broker that answers knows it; `None` while there is none.
    pub async fn controller(&self) -> Option<i32> {
        let partition = quorum::PartitionData::default();
        let topic = quorum::TopicData::default().with_partitions(vec![partition]);
        let topic = topic.with_topic_name(TopicName(StrBytes::from_static_str("__cluster_metadata")));
        let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
        for broker in &self.brokers {
            if let Some(answer) = broker.ask(0, request.clone()).await {
                let told = answer.topics.first().and_then(|topic| topic.partitions.first());
                return told.map(|partition| partition.leader_id.0).filter(|leader| *leader >= 0);
            }
        }
        None
    }

    /// As [`Cluster::controller`], for tests that are plain functions.
    #[must_use]
    pub fn controller_blocking(&self) -> Option<i32> {
        wait::block_on(self.controller())
    }

    /// Stops every broker in order, all at once.
    pub async fn stop(&self) {
        wait::all(self.brokers.iter().map(Broker::stop)).await;
    }

    /// As [`Cluster::stop`], for tests that are plain functions.
    pub fn stop_blocking(&self) {
        wait::block_on(self.stop());
    }

    /// Ends every broker as a loss of power ends machines that share it, but keeps what the system has of their files.
    pub fn kill(&self) {
        self.brokers.iter().for_each(Broker::kill);
    }

    /// Starts every broker that is down; done when all of them serve and know each other.
    ///
    /// # Errors
    /// One does not come up.
    pub async fn restart(&self) -> Result<(), Error> {
        let down = self.brokers.iter().filter(|broker| !broker.is_running());
        wait::all(down.map(Broker::restart)).await.into_iter().collect::<Result<(), Error>>()?;
        self.all_meet().await
    }

    /// As [`Cluster::restart`], for tests that are plain functions.
    ///
    /// # Errors
    /// As [`Cluster::restart`].
    pub fn restart_blocking(&self) -> Result<(), Error> {
        wait::block_on(self.restart())
    }

    async fn make_topics(&self, topics: Vec<CreatableTopic>) -> Result<(), Error> {
        let names: Vec<TopicName> = topics.iter().map(|topic| topic.name.clone()).collect();
        let request = CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(TOPIC_MAX_MS);
        let mut last = (names[0].to_string(), "no broker answers".to_owned());
        for attempt in 0..ATTEMPTS {
            let broker = &self.brokers[attempt % self.brokers.len()];
            match broker.ask(7, request.clone()).await {
                None => {}
                Some(answer) => {
                    let failed = answer.topics.iter().find(|topic| !matches!(topic.error_code, 0 | TOPIC_EXISTS));
                    let Some(failed) = failed else { return self.all_know(&names).await };
                    let why = failed.error_message.as_ref().map_or_else(String::new, ToString::to_string);
                    last = (failed.name.to_string(), format!("error {} {why}", failed.error_code));
                    if !matches!(failed.error_code, NOT_CONTROLLER | REQUEST_TIMED_OUT) {
                        break;
                    }
                }
            }
            broker.pause_ms(PAUSE_MS).await;
        }
        let (name, why) = last;
        Err(Error::Topic { name, why })
    }
}

const REQUEST_TIMED_OUT: i16 = 7;
const TOPIC_EXISTS: i16 = 36;
const NOT_CONTROLLER: i16 = 41;

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.brokers.iter().any(Broker::keeps_its_data) {
            // One after another, the last ones would look in vain for a quorum to leave.
            self.stop_blocking();
        }
    }
}
