//! What every broker of a cluster has heard of: a start is over when whoever asks any of them is told the same.
//!
//! A broker that serves knows itself; what the controller decided last about the others is on its way to it.

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};

use super::{ATTEMPTS, Cluster, PAUSE_MS};
use crate::embed::Error;
use crate::embed::broker::Broker;

/// The version that is asked.
const METADATA: i16 = 12;

impl Cluster {
    /// Waits until every broker knows all others. One that does not answer, because a fault keeps it from that, is not waited
    /// for.
    pub(super) async fn all_meet(&self) -> Result<(), Error> {
        let nothing_else = MetadataRequest::default().with_topics(Some(Vec::new()));
        for broker in &self.brokers {
            let met = |answer: Option<MetadataResponse>| answer.is_none_or(|it| it.brokers.len() == self.brokers.len());
            if !comes_to(broker, &nothing_else, met).await {
                return Err(Error::Unmet { broker: broker.bootstrap().to_owned() });
            }
        }
        Ok(())
    }

    /// Waits until every broker knows the topics and who leads their partitions.
    pub(super) async fn all_know(&self, names: &[TopicName]) -> Result<(), Error> {
        let topic = |name: &TopicName| MetadataRequestTopic::default().with_name(Some(name.clone()));
        let request = MetadataRequest::default().with_topics(Some(names.iter().map(topic).collect()));
        for broker in &self.brokers {
            let known = |answer: Option<MetadataResponse>| {
                answer.is_some_and(|it| {
                    it.topics.iter().all(|topic| {
                        topic.error_code == 0 && topic.partitions.iter().all(|partition| partition.error_code == 0)
                    })
                })
            };
            if !comes_to(broker, &request, known).await {
                let why = format!("the broker at {} does not come to know it", broker.bootstrap());
                return Err(Error::Topic { name: names[0].to_string(), why });
            }
        }
        Ok(())
    }
}

/// Asks until the answer is as wanted; false if it never is.
async fn comes_to(
    broker: &Broker,
    request: &MetadataRequest,
    wanted: impl Fn(Option<MetadataResponse>) -> bool,
) -> bool {
    for _ in 0..ATTEMPTS {
        if wanted(broker.ask(METADATA, request.clone()).await) {
            return true;
        }
        broker.pause_ms(PAUSE_MS).await;
    }
    false
}
