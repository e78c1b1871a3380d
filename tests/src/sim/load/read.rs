//! A reader: follows all partitions from their beginning, and goes on where it was after whatever is in its way.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_client::consumer::{Consumer, ConsumerConfig, Fetched, OffsetReset, StartAt};
use ballast_wire::Offset;

use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place, Value};

/// How long one poll waits.
const POLL_MAX: Duration = Duration::from_millis(500);

/// What a reader is like.
#[derive(Debug, Clone, Default)]
pub struct Taste {
    /// `client.rack`: brokers may send it to a replica there.
    pub rack: String,
}

/// Reads `places` until the run is over. `number` is the reader's place among all.
pub async fn read(around: Surroundings, number: u32, places: Vec<Place>, taste: Taste) {
    let dice = around.dice(&format!("reader {number}"));
    let cluster = around.cluster(&dice);
    around.phase.reached(Phase::LOAD).await;
    let mut next: BTreeMap<Place, Offset> = places.into_iter().map(|place| (place, 0)).collect();
    while around.phase.now() < Phase::OVER {
        let config =
            ConsumerConfig { offset_reset: OffsetReset::None, rack: taste.rack.clone(), ..ConsumerConfig::default() };
        let mut consumer = Consumer::new(cluster.clone(), config);
        let positions: Vec<_> =
            next.iter().map(|(place, offset)| (&*place.topic, place.partition, StartAt::Offset(*offset))).collect();
        let mut outcome = consumer.assign(&positions).await.map(|()| Vec::<Fetched>::new());
        for (at, offset) in &next {
            around.recorder.note(Event::Sought { reader: number, at: at.clone(), offset: *offset });
        }
        while let Ok(fetched) = outcome {
            for part in fetched {
                let at = Place { topic: part.topic, partition: part.partition };
                for record in part.records {
                    next.insert(at.clone(), record.offset + 1);
                    around.recorder.note(Event::Read {
                        reader: number,
                        at: at.clone(),
                        offset: record.offset,
                        leader_epoch: record.leader_epoch,
                        value: record.value.as_deref().and_then(Value::decode),
                    });
                }
            }
            if around.phase.now() >= Phase::OVER {
                return;
            }
            outcome = consumer.poll(POLL_MAX).await;
        }
        if let Err(error) = outcome {
            let error = error.to_string();
            if error.contains("OFFSET_OUT_OF_RANGE") {
                // The log has lost what was read: whether it may have is for the checks to say.
                next.values_mut().for_each(|offset| *offset = 0);
            }
            around.recorder.note(Event::ReadFailed { reader: number, error });
        }
        pause(&dice, 50, 500).await;
    }
}
