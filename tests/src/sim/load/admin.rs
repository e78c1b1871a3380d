//! An administrator: makes the topics of a run, and others while it lasts, asking again when no answer comes.

use std::collections::BTreeMap;

use ballast_client::admin::{Admin, ConfigResource, NewTopic};

use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place};

/// Whose setting is changed over and over.
const TOPIC_OF_SETTINGS: &str = "d1";

/// A topic of the run.
#[derive(Debug, Clone)]
pub struct Topic {
    /// Its name.
    pub name: &'static str,
    /// How many partitions.
    pub partitions: i32,
    /// Its settings.
    pub configs: &'static [(&'static str, &'static str)],
}

impl Topic {
    /// Its partitions.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        (0..self.partitions).map(|partition| Place::new(self.name, partition)).collect()
    }

    fn wanted(&self, replicas: i16) -> NewTopic {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        NewTopic {
            name: self.name.to_owned(),
            partitions: Some(self.partitions),
            replication_factor: Some(replicas),
            assignment: Vec::new(),
            configs: self.configs.iter().map(own).collect(),
        }
    }
}

/// Makes `topics`, and moves the run on to its load when they are there. Then makes a topic now and then.
pub async fn administer(around: Surroundings, topics: Vec<Topic>, replicas: i16) {
    let dice = around.dice("admin");
    let admin = Admin::new(around.cluster(&dice));
    for topic in &topics {
        while !make(&around, &admin, &topic.wanted(replicas)).await {
            pause(&dice, 50, 300).await;
        }
    }
    around.phase.set(Phase::LOAD);
    let mut made = 0;
    while around.phase.now() == Phase::LOAD {
        pause(&dice, 1_000, 4_000).await;
        let name = format!("extra-{made}");
        let topic = NewTopic {
            name,
            partitions: Some(1),
            replication_factor: Some(replicas),
            assignment: Vec::new(),
            configs: BTreeMap::new(),
        };
        if make(&around, &admin, &topic).await {
            made += 1;
        }
    }
}

/// Changes a setting over and over while the load lasts, so that there is always something on its way to the metadata log.
/// `number` is the client's place among those that do so.
pub async fn change_settings(around: Surroundings, number: u32) {
    let dice = around.dice(&format!("settings {number}"));
    let admin = Admin::new(around.cluster(&dice));
    around.phase.reached(Phase::LOAD).await;
    let topic = ConfigResource::Topic(TOPIC_OF_SETTINGS.to_owned());
    let mut value = 1_000_000;
    while around.phase.now() == Phase::LOAD {
        pause(&dice, 30, 200).await;
        value += 1;
        // Whether it was done is nobody's concern.
        let change = ("delete.retention.ms".to_owned(), Some(value.to_string()));
        let _ = admin.alter_configs(&topic, &[change], false).await;
    }
}

/// Makes a topic; true if it is there now.
async fn make(around: &Surroundings, admin: &Admin, topic: &NewTopic) -> bool {
    let name = topic.name.clone();
    match admin.create_topic(topic, false).await {
        Ok(made) => {
            around.recorder.note(Event::TopicMade { name, id: made.id });
            true
        }
        Err(error) => {
            let error = error.to_string();
            let is_there = error.contains("already exists");
            around.recorder.note(Event::TopicNotMade { name, error });
            is_there
        }
    }
}
