//! What is asked when all is mended: does every partition take a record, are all replicas in sync, what has been committed?

use std::time::Duration;

use ballast_client::admin::Admin;
use ballast_client::producer::{NewRecord, Producer, ProducerConfig};
use ballast_client::{Cluster, ErrorCode};

use super::group::GROUP;
use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place, Value};

/// The number of the producer that asks.
const AUDITOR: u32 = 900_000;
/// How long its records may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for calm, asks until the answers are good, and says so in the history. Ends with the run otherwise.
pub async fn audit(around: Surroundings, places: Vec<Place>) {
    around.phase.reached(Phase::CALM).await;
    let dice = around.dice("auditor");
    let cluster = around.cluster(&dice);
    let mut asked = 0;
    for place in &places {
        while around.phase.now() < Phase::OVER {
            let value = Value { producer: AUDITOR + asked, sequence: 0 };
            asked += 1;
            if write(&around, &cluster, place, value).await {
                break;
            }
            pause(&dice, 50, 300).await;
        }
    }
    while around.phase.now() < Phase::OVER && !all_in_sync(&cluster, &places).await {
        pause(&dice, 100, 400).await;
    }
    list_topics(&around, &cluster).await;
    let admin = Admin::new(cluster);
    while around.phase.now() < Phase::OVER {
        around.recorder.note(Event::AskingCommitted { group: GROUP });
        if let Ok(offsets) = admin.group_offsets(GROUP).await {
            let place = |(topic, partition): (String, i32)| Place::new(&topic, partition);
            let offsets = offsets.into_iter().map(|(of, committed)| (place(of), committed.offset)).collect();
            around.recorder.note(Event::FinallyCommitted { group: GROUP, offsets });
            around.recorder.note(Event::Recovered);
            around.phase.set(Phase::RECOVERED);
            return;
        }
        pause(&dice, 50, 300).await;
    }
}

async fn write(around: &Surroundings, cluster: &Cluster, at: &Place, value: Value) -> bool {
    let config = ProducerConfig {
        delivery_timeout: PATIENCE,
        max_block: PATIENCE,
        create_topics: false,
        linger: Duration::ZERO,
        ..ProducerConfig::default()
    };
    let producer = Producer::new(cluster.clone(), config).expect("the settings agree");
    let bytes = value.encode(0);
    let record =
        NewRecord { key: None, value: Some(&bytes), headers: &[], timestamp: None, partition: Some(at.partition) };
    around.recorder.note(Event::Sent { at: at.clone(), value });
    let fate = match producer.send(&at.topic, record).await {
        Ok(delivery) => delivery.wait().await,
        Err(error) => Err(error),
    };
    let at = at.clone();
    match fate {
        Ok(written) => {
            around.recorder.note(Event::Acked { at, value, offset: written.offset });
            true
        }
        Err(error) => {
            around.recorder.note(Event::Unknown { at, value, error: error.to_string() });
            false
        }
    }
}

/// Is every replica of every partition in sync?
async fn all_in_sync(cluster: &Cluster, places: &[Place]) -> bool {
    let mut topics: Vec<&str> = places.iter().map(|place| &*place.topic).collect();
    topics.dedup();
    let Ok(metadata) = cluster.topics_there_are(&topics).await else { return false };
    places.iter().all(|place| {
        let partition = metadata.topics.get(&*place.topic).and_then(|topic| topic.partitions.get(&place.partition));
        partition.is_some_and(|partition| {
            partition.error == ErrorCode::NONE && partition.isr.len() == partition.replicas.len()
        })
    })
}

async fn list_topics(around: &Surroundings, cluster: &Cluster) {
    while around.phase.now() < Phase::OVER {
        if let Ok(metadata) = cluster.all_topics().await {
            for topic in metadata.topics.values() {
                around.recorder.note(Event::TopicListed { name: topic.name.clone(), id: topic.id });
            }
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
