//! A producer: acks=all, several batches in flight, idempotent or not; now and then it begins anew with another producer id.

use std::time::Duration;

use ballast_client::producer::{NewRecord, Producer, ProducerConfig};

use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place, Value};

/// Records of one producer's life.
const RECORDS_PER_LIFE: u64 = 200;
/// Batches fit into the small segments of the run's topics.
const BATCH_BYTES: usize = 2_000;
/// How long a record may take before its fate counts as unknown.
const DELIVERY_MAX: Duration = Duration::from_secs(8);

/// Does a producer number what it sends?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// It does: what is sent again is there once, and in order.
    Idempotent,
    /// It does not: what is sent again may be there twice.
    Plain,
}

/// Sends records to `places` while the load lasts. `number` is the producer's place among all.
pub async fn produce(around: Surroundings, number: u32, places: Vec<Place>, habit: Habit) {
    let dice = around.dice(&format!("producer {number}"));
    let cluster = around.cluster(&dice);
    around.phase.reached(Phase::LOAD).await;
    let mut life = 0;
    while around.phase.now() == Phase::LOAD {
        let config = ProducerConfig {
            linger: Duration::from_millis(dice.between(0, 20)),
            idempotence: habit == Habit::Idempotent,
            in_flight_max: dice.between(1, 5) as usize,
            delivery_timeout: DELIVERY_MAX,
            max_block: Duration::from_secs(3),
            create_topics: false,
            batch_bytes: BATCH_BYTES,
            ..ProducerConfig::default()
        };
        let producer = Producer::new(cluster.clone(), config).expect("the settings agree");
        let me = number * 1_000 + life;
        for sequence in 0..RECORDS_PER_LIFE {
            if around.phase.now() != Phase::LOAD {
                break;
            }
            send(&around, &producer, dice.one_of(&places), Value { producer: me, sequence }, dice.between(0, 600))
                .await;
            pause(&dice, 0, 60).await;
        }
        // Whatever failed has been noted for each record.
        let _ = producer.flush().await;
        life += 1;
    }
}

async fn send(around: &Surroundings, producer: &Producer, at: &Place, value: Value, padding: u64) {
    let recorder = around.recorder.clone();
    recorder.note(Event::Sent { at: at.clone(), value });
    let bytes = value.encode(padding as usize);
    let record =
        NewRecord { key: None, value: Some(&bytes), headers: &[], timestamp: None, partition: Some(at.partition) };
    let at = at.clone();
    match producer.send(&at.topic, record).await {
        Err(error) => recorder.note(Event::Unknown { at, value, error: error.to_string() }),
        Ok(delivery) => {
            tokio::spawn(async move {
                recorder.note(match delivery.wait().await {
                    Ok(written) => Event::Acked { at, value, offset: written.offset },
                    Err(error) => Event::Unknown { at, value, error: error.to_string() },
                });
            });
        }
    }
}
