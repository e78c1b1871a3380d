//! A writer without patience: one small record after the other to one partition, each a question of its own.
//!
//! It gives up a request after [`PATIENCE`] and asks at once who leads now, so that a partition that takes writes again is
//! found within about as long.

use std::time::Duration;

use ballast_client::producer::{NewRecord, Producer, ProducerConfig};

use super::{Phase, Surroundings};
use crate::sim::history::{Event, Place, Value};

/// How long one connection attempt or request may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long one record may take, with everything that is asked for it.
const RECORD_MAX: Duration = Duration::from_millis(600);
/// Between two records.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes to `at` while the load lasts.
pub async fn probe(around: Surroundings, at: Place) {
    let dice = around.dice(&format!("probe of {at}"));
    let cluster = around.cluster_with(&dice, |config| {
        config.connection.setup_timeout = PATIENCE;
        config.request_timeout = PATIENCE;
        config.api_timeout = RECORD_MAX;
        config.retry_backoff_max = Duration::from_millis(100);
    });
    around.phase.reached(Phase::LOAD).await;
    let config = ProducerConfig {
        idempotence: false,
        linger: Duration::ZERO,
        delivery_timeout: RECORD_MAX,
        max_block: RECORD_MAX,
        create_topics: false,
        ..ProducerConfig::default()
    };
    let mut sequence = 0;
    while around.phase.now() == Phase::LOAD {
        let producer = Producer::new(cluster.clone(), config.clone()).expect("the settings agree");
        let value = Value { producer: at.partition as u32, sequence };
        sequence += 1;
        around.recorder.note(Event::Sent { at: at.clone(), value });
        let bytes = value.encode(0);
        let record =
            NewRecord { key: None, value: Some(&bytes), headers: &[], timestamp: None, partition: Some(at.partition) };
        let fate = match producer.send(&at.topic, record).await {
            Ok(delivery) => delivery.wait().await,
            Err(error) => Err(error),
        };
        around.recorder.note(match fate {
            Ok(written) => Event::Acked { at: at.clone(), value, offset: written.offset },
            Err(error) => Event::Unknown { at: at.clone(), value, error: error.to_string() },
        });
        tokio::time::sleep(PAUSE).await;
    }
}
