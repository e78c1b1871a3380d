//! CreateTopics and CreatePartitions: what may be created, with how many partitions, on which brokers.
//!
//! Each topic stands for itself: one that is refused does not hold up the others.

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::{BrokerId, PartitionIndex, Uuid};

use super::Entropy;
use super::configs::judge_lengths;
use super::draft::Draft;
use super::drained::is_drained;
use super::error::TopicError;
use super::names::{self, Collisions};
use super::placement::{Candidate, place};
use super::request::{CreatedTopic, MorePartitions, NewTopic};
use crate::image::{ConfigResource, Partition, Record, Recovery};
use crate::settings::{Configs, TopicDefaults, TopicSettings, topic_rows};

/// Partitions that one request may create.
pub(super) const PARTITIONS_PER_REQUEST_MAX: usize = 10_000;

/// Why nothing of a request is done, if it asks for too much.
fn too_many(partitions: impl Iterator<Item = i32>) -> bool {
    let wanted = partitions.map(|count| usize::try_from(count).unwrap_or(0));
    wanted.fold(0usize, usize::saturating_add) > PARTITIONS_PER_REQUEST_MAX
}

/// Creates topics. A row each; a name that comes twice has one row.
pub(super) fn create_topics(
    draft: &mut Draft<'_>,
    entropy: &mut Entropy,
    defaults: &TopicDefaults,
    topics: &[NewTopic],
) -> Vec<(String, Result<CreatedTopic, TopicError>)> {
    let count = |topic: &NewTopic| match topic.assignments.len() {
        0 if topic.partitions == -1 => defaults.num_partitions,
        0 => topic.partitions,
        assigned => i32::try_from(assigned).unwrap_or(i32::MAX),
    };
    let refuse_all = too_many(topics.iter().map(count));
    let twice = names_that_come_twice(topics.iter().map(|topic| topic.name.as_str()));
    // Names are judged against the topics that were there before the request: two of its own may collide, as in Kafka.
    let collisions = Collisions::of(&draft.image, topics.iter().map(|topic| topic.name.as_str()));
    let judged: Vec<_> = topics.iter().map(|topic| judge_name(draft, &collisions, &topic.name)).collect();
    let mut rows: Vec<(String, Result<CreatedTopic, TopicError>)> = Vec::new();
    for (topic, judged) in topics.iter().zip(judged) {
        if twice.contains(topic.name.as_str()) {
            if !rows.iter().any(|(name, _)| *name == topic.name) {
                rows.push((topic.name.clone(), Err(TopicError::Duplicate)));
            }
            continue;
        }
        let result = match judged {
            _ if refuse_all => Err(TopicError::TooMany("partitions")),
            Err(error) => made_before(draft, topic).ok_or(error),
            Ok(()) => create_topic(draft, entropy, defaults, topic),
        };
        rows.push((topic.name.clone(), result));
    }
    rows
}

/// Names that are there more than once.
pub(super) fn names_that_come_twice<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| !seen.insert(*name)).collect()
}

fn judge_name(draft: &Draft<'_>, collisions: &Collisions, name: &str) -> Result<(), TopicError> {
    if name == names::CLUSTER_METADATA_TOPIC {
        return Err(TopicError::Reserved(name.to_owned()));
    }
    names::validate(name).map_err(TopicError::BadName)?;
    if draft.image.topic(name).is_some() {
        return Err(TopicError::Exists(name.to_owned()));
    }
    match collisions.with(name) {
        Some(other) => Err(TopicError::Collides { name: name.to_owned(), other: other.to_owned() }),
        None => Ok(()),
    }
}

fn create_topic(
    draft: &mut Draft<'_>,
    entropy: &mut Entropy,
    defaults: &TopicDefaults,
    topic: &NewTopic,
) -> Result<CreatedTopic, TopicError> {
    let configs = judge_configs(draft, topic)?;
    let assignments = assignments(draft, entropy, defaults, topic)?;
    let is_free = !topic.id.is_zero() && draft.image.topic_by_id(topic.id).is_none();
    let id = if is_free { topic.id } else { fresh_topic_id(draft, entropy) };
    draft.push(Record::Topic { name: topic.name.clone(), id });
    for (key, value) in &configs {
        let resource = ConfigResource::topic(&topic.name);
        draft.push(Record::Config { resource, key: key.clone(), value: Some(value.clone()) });
    }
    for (replicas, index) in assignments.iter().zip(0..) {
        push_partition(draft, id, index, replicas);
    }
    Ok(CreatedTopic {
        id,
        partitions: i32::try_from(assignments.len()).expect("one request creates at most 10,000 partitions"),
        replication_factor: assignments.first().map_or(0, |replicas| i16::try_from(replicas.len()).unwrap_or(i16::MAX)),
        configs: topic_rows(Some(&configs), &draft.layers()),
    })
}

/// The topic as an earlier copy of this request has made it.
fn made_before(draft: &Draft<'_>, topic: &NewTopic) -> Option<CreatedTopic> {
    let found = draft.image.topic(&topic.name).filter(|found| !topic.id.is_zero() && found.id == topic.id)?;
    let replicas = found.partition(0).map_or(0, |partition| partition.replicas.len());
    let configs = draft.image.configs(&ConfigResource::topic(&topic.name));
    Some(CreatedTopic {
        id: found.id,
        partitions: i32::try_from(found.partitions().count()).unwrap_or(i32::MAX),
        replication_factor: i16::try_from(replicas).unwrap_or(i16::MAX),
        configs: topic_rows(configs.map(|configs| &**configs), &draft.layers()),
    })
}

fn fresh_topic_id(draft: &Draft<'_>, entropy: &mut Entropy) -> Uuid {
    loop {
        let id = Uuid::from_random(entropy());
        if draft.image.topic_by_id(id).is_none() {
            return id;
        }
    }
}

/// A key that comes twice has its last value, as in Kafka.
fn judge_configs(draft: &Draft<'_>, topic: &NewTopic) -> Result<Configs, TopicError> {
    let without_value = |(key, value): &(String, Option<String>)| value.is_none().then(|| key.clone());
    let nulls: Vec<String> = topic.configs.iter().filter_map(without_value).collect();
    if !nulls.is_empty() {
        return Err(TopicError::NullConfig(nulls.join(",")));
    }
    let given = topic.configs.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
    let configs: Configs = given.collect();
    judge_lengths(&configs).map_err(|error| TopicError::BadRequest(error.to_string()))?;
    TopicSettings::validate(&configs, &draft.layers()).map_err(TopicError::BadConfig)?;
    Ok(configs)
}

/// The replicas of each partition, by hand or placed.
fn assignments(
    draft: &Draft<'_>,
    entropy: &mut Entropy,
    defaults: &TopicDefaults,
    topic: &NewTopic,
) -> Result<Vec<Vec<BrokerId>>, TopicError> {
    if !topic.assignments.is_empty() {
        return by_hand(draft, topic);
    }
    let factor = match topic.replication_factor {
        -1 => defaults.default_replication_factor,
        factor => i32::from(factor),
    };
    let factor = usize::try_from(factor).ok().filter(|factor| *factor > 0).ok_or_else(|| {
        let why = "Replication factor must be larger than 0, or -1 to use the default value.";
        TopicError::BadReplicationFactor(why.to_owned())
    })?;
    let partitions = if topic.partitions == -1 { defaults.num_partitions } else { topic.partitions };
    let partitions = usize::try_from(partitions).ok().filter(|partitions| *partitions > 0).ok_or_else(|| {
        TopicError::BadPartitions("Number of partitions was set to an invalid non-positive value.".to_owned())
    })?;
    placed(draft, entropy, partitions, factor)
}

fn placed(
    draft: &Draft<'_>,
    entropy: &mut Entropy,
    partitions: usize,
    factor: usize,
) -> Result<Vec<Vec<BrokerId>>, TopicError> {
    let unable = |why: &str| {
        TopicError::BadReplicationFactor(format!("Unable to replicate the partition {factor} time(s): {why}"))
    };
    let seed = entropy();
    let seed = u64::from_be_bytes(seed[..8].try_into().expect("eight of sixteen bytes"));
    let brokers = draft.image.brokers();
    let candidates: Vec<Candidate> =
        brokers.map(|broker| Candidate { id: broker.id, rack: broker.rack.clone(), fenced: broker.fenced }).collect();
    let placed = place(&candidates, partitions, factor, seed).map_err(|why| unable(&why))?;
    if placed.iter().any(|replicas| !replicas.iter().any(|broker| draft.is_active(*broker))) {
        return Err(unable("All brokers are currently fenced or in controlled shutdown."));
    }
    Ok(placed)
}

fn by_hand(draft: &Draft<'_>, topic: &NewTopic) -> Result<Vec<Vec<BrokerId>>, TopicError> {
    let beside = |what: &str| {
        TopicError::BadRequest(format!("A manual partition assignment was specified, but {what} was not set to -1."))
    };
    if topic.replication_factor != -1 {
        return Err(beside("replication factor"));
    }
    if topic.partitions != -1 {
        return Err(beside("numPartitions"));
    }
    let mut by_index: BTreeMap<PartitionIndex, &Vec<BrokerId>> = BTreeMap::new();
    let mut factor = None;
    for (index, replicas) in &topic.assignments {
        if by_index.insert(*index, replicas).is_some() {
            return Err(TopicError::BadAssignment(format!(
                "Found multiple manual partition assignments for partition {index}"
            )));
        }
        judge_assignment(draft, replicas, *index, factor)?;
        factor = Some(replicas.len());
    }
    if by_index.keys().zip(0..).any(|(index, expected)| *index != expected) {
        return Err(TopicError::BadAssignment(
            "partitions should be a consecutive 0-based integer sequence".to_owned(),
        ));
    }
    Ok(by_index.into_values().cloned().collect())
}

/// Replicas that somebody chose: distinct, registered, as many as in the other partitions, one of them active.
fn judge_assignment(
    draft: &Draft<'_>,
    replicas: &[BrokerId],
    index: PartitionIndex,
    factor: Option<usize>,
) -> Result<(), TopicError> {
    let bad = |why: String| Err(TopicError::BadAssignment(why));
    if replicas.is_empty() {
        return bad("The manual partition assignment includes an empty replica list.".to_owned());
    }
    for (at, broker) in replicas.iter().enumerate() {
        if replicas[..at].contains(broker) {
            return bad(format!("The manual partition assignment includes the broker {broker} more than once."));
        }
        if draft.image.broker(*broker).is_none() {
            return bad(format!(
                "The manual partition assignment includes broker {broker}, but no such broker is registered."
            ));
        }
    }
    if let Some(factor) = factor.filter(|factor| *factor != replicas.len()) {
        return bad(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with previous partitions, which have {factor} replica(s).",
            replicas.len()
        ));
    }
    if !replicas.iter().any(|broker| draft.is_active(*broker)) {
        return bad(format!(
            "All brokers specified in the manual partition assignment for partition {index} are fenced or in controlled shutdown."
        ));
    }
    Ok(())
}

/// A new partition: its active replicas are in sync, and the first of them leads that is not drained.
fn push_partition(draft: &mut Draft<'_>, topic: Uuid, index: PartitionIndex, replicas: &[BrokerId]) {
    let isr: Vec<BrokerId> = replicas.iter().copied().filter(|broker| draft.is_active(*broker)).collect();
    let active = isr.first().expect("an assignment without an active broker was refused");
    let leader = *isr.iter().find(|broker| !is_drained(&draft.image, **broker)).unwrap_or(active);
    let state = Box::new(Partition {
        replicas: replicas.to_vec(),
        directories: replicas.iter().map(|broker| draft.new_directory(*broker)).collect(),
        leader,
        isr,
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        adding: Vec::new(),
        removing: Vec::new(),
        leader_epoch: 0,
        partition_epoch: 0,
        recovery: Recovery::Recovered,
    });
    draft.push(Record::Partition { topic, index, state });
}

/// Adds partitions to topics. A row each; a name that comes twice has one row.
pub(super) fn create_partitions(
    draft: &mut Draft<'_>,
    entropy: &mut Entropy,
    topics: &[MorePartitions],
) -> Vec<(String, Result<(), TopicError>)> {
    let present = |name: &str| draft.image.topic(name).map_or(0, |topic| topic.partition_count());
    let added = |topic: &MorePartitions| topic.count.saturating_sub(i32::try_from(present(&topic.name)).unwrap_or(0));
    let refuse_all = too_many(topics.iter().map(added));
    let twice = names_that_come_twice(topics.iter().map(|topic| topic.name.as_str()));
    let mut rows: Vec<(String, Result<(), TopicError>)> = Vec::new();
    for topic in topics {
        let result = if twice.contains(topic.name.as_str()) {
            if rows.iter().any(|(name, _)| *name == topic.name) {
                continue;
            }
            Err(TopicError::Duplicate)
        } else if refuse_all {
            Err(TopicError::TooMany("additional partitions"))
        } else {
            grow(draft, entropy, topic)
        };
        rows.push((topic.name.clone(), result));
    }
    rows
}

fn grow(draft: &mut Draft<'_>, entropy: &mut Entropy, topic: &MorePartitions) -> Result<(), TopicError> {
    let found = draft.image.topic(&topic.name).ok_or(TopicError::Unknown)?;
    let (id, present) = (found.id, found.partition_count());
    let factor = found.partition(0).map_or(0, |partition| partition.replicas.len());
    let wanted = usize::try_from(topic.count).unwrap_or(0);
    if wanted == present {
        return Err(TopicError::BadPartitions(format!("Topic already has {present} partition(s).")));
    }
    if wanted < present {
        return Err(TopicError::BadPartitions(format!(
            "The topic {} currently has {present} partition(s); {} would not be an increase.",
            topic.name, topic.count
        )));
    }
    let first = PartitionIndex::try_from(present).expect("a topic has fewer than 2^31 partitions");
    let assignments = match &topic.assignments {
        None => placed(draft, entropy, wanted - present, factor)?,
        Some(given) if given.len() != wanted - present => {
            return Err(TopicError::BadAssignment(format!(
                "Attempted to add {} additional partition(s), but only {} assignment(s) were specified.",
                wanted - present,
                given.len()
            )));
        }
        Some(given) => {
            for (replicas, index) in given.iter().zip(first..) {
                judge_assignment(draft, replicas, index, Some(factor))?;
            }
            given.clone()
        }
    };
    for (replicas, index) in assignments.iter().zip(first..) {
        push_partition(draft, id, index, replicas);
    }
    Ok(())
}
