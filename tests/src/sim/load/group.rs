//! A member of a consumer group: reads what it is given, commits by hand, and now and then leaves or falls silent.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_client::consumer::{ConsumerConfig, Fetched, OffsetReset};
use ballast_client::group::{GroupConfig, GroupConsumer};
use ballast_wire::Offset;

use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place};

/// The group's id.
pub const GROUP: &str = "readers";
/// How long one poll waits.
const POLL_MAX: Duration = Duration::from_millis(300);

/// Name of a member's machine on the network.
#[must_use]
pub fn member_name(number: u32) -> String {
    format!("member{number}")
}

/// Takes part in the group until the run is over. `number` is the member's place among all.
pub async fn take_part(around: Surroundings, number: u32, topics: Vec<&'static str>) {
    let dice = around.dice(&format!("member {number}"));
    let cluster = around.cluster(&dice);
    around.phase.reached(Phase::LOAD).await;
    while around.phase.now() < Phase::OVER {
        let mut config = GroupConfig::new(GROUP);
        config.session_timeout = Duration::from_secs(2);
        config.heartbeat_interval = Duration::from_millis(500);
        config.poll_interval_max = Duration::from_secs(6);
        config.auto_commit = false;
        let consumer = ConsumerConfig { offset_reset: OffsetReset::Earliest, ..ConsumerConfig::default() };
        let joined = GroupConsumer::subscribe(cluster.clone(), &topics, config, consumer);
        let mut member = Member {
            around: &around,
            number,
            consumer: joined.expect("the settings agree"),
            generation: None,
            read: BTreeMap::new(),
            committed: BTreeMap::new(),
        };
        let rounds = dice.between(10, 200);
        for _ in 0..rounds {
            if around.phase.now() >= Phase::OVER || !member.round(dice.percent(40)).await {
                break;
            }
        }
        if dice.percent(50) {
            member.consumer.leave(Duration::from_secs(2)).await;
        }
        pause(&dice, 50, 1_000).await;
    }
}

struct Member<'a> {
    around: &'a Surroundings,
    number: u32,
    consumer: GroupConsumer,
    generation: Option<i32>,
    /// The offset after the last record of each partition, in this generation.
    read: BTreeMap<Place, Offset>,
    /// What of that was committed last: the same again is not sent, so it would be answered by nobody.
    committed: BTreeMap<Place, Offset>,
}

impl Member<'_> {
    /// One poll, and perhaps a commit; false when the membership is over.
    async fn round(&mut self, commits: bool) -> bool {
        let polled = self.consumer.poll(POLL_MAX).await;
        self.look_at_generation();
        match polled {
            Ok(fetched) => self.take(fetched),
            Err(error) => return self.failed(&error.to_string()),
        }
        // A member that joins again may find its generation as it was, and begins where it had committed.
        let consumer = &self.consumer;
        self.read.retain(|at, offset| consumer.position(&at.topic, at.partition) == Some(*offset));
        let is_new = |(place, offset): &(&Place, &Offset)| self.committed.get(*place) != Some(*offset);
        let offsets: Vec<_> = self.read.iter().filter(is_new).map(|(place, offset)| (place.clone(), *offset)).collect();
        if !commits || offsets.is_empty() {
            return true;
        }
        let (group, member) = (GROUP, self.number);
        let generation = self.generation.unwrap_or(-1);
        let recorder = &self.around.recorder;
        recorder.note(Event::Committing { group, member, generation, offsets: offsets.clone() });
        // A commit that failed is made up for by a later one.
        if self.consumer.commit().await.is_ok() {
            recorder.note(Event::Committed { group, member, generation, offsets });
            self.committed.clone_from(&self.read);
        }
        true
    }

    fn look_at_generation(&mut self) {
        let generation = self.consumer.generation();
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        self.read.clear();
        self.committed.clear();
        if let Some(generation) = generation {
            let mine = self.consumer.assignment().into_iter();
            let partitions =
                mine.flat_map(|(topic, all)| all.into_iter().map(move |one| Place::new(&topic, one))).collect();
            let (group, member) = (GROUP, self.number);
            self.around.recorder.note(Event::Assigned { group, member, generation, partitions });
        }
    }

    fn take(&mut self, fetched: Vec<Fetched>) {
        for part in fetched {
            let at = Place { topic: part.topic, partition: part.partition };
            if let Some(last) = part.records.last() {
                self.read.insert(at, last.offset + 1);
            }
        }
    }

    fn failed(&self, error: &str) -> bool {
        let error = error.to_owned();
        self.around.recorder.note(Event::MemberFailed { group: GROUP, member: self.number, error });
        false
    }
}
