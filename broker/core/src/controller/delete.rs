//! DeleteTopics: by name or by id.

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::Uuid;

use super::draft::Draft;
use super::error::TopicError;
use super::request::{DeletedTopic, TopicRef};
use crate::image::Record;

/// Deletes topics. A row for each reference, except that references to one topic are one row, refused.
pub(super) fn delete_topics(draft: &mut Draft<'_>, enabled: bool, topics: &[TopicRef]) -> Vec<DeletedTopic> {
    if !enabled {
        return topics.iter().map(|topic| refused(topic, TopicError::DeletionDisabled)).collect();
    }
    let mut rows = Vec::new();
    let mut found: Vec<(Uuid, String, &TopicRef)> = Vec::new();
    for topic in topics {
        match resolve(draft, topic) {
            Ok((id, name)) => found.push((id, name, topic)),
            Err(error) => rows.push(refused(topic, error)),
        }
    }
    let mut times: BTreeMap<Uuid, usize> = BTreeMap::new();
    for (id, ..) in &found {
        *times.entry(*id).or_default() += 1;
    }
    let mut done = BTreeSet::new();
    for (id, name, topic) in found.into_iter().filter(|(id, ..)| done.insert(*id)) {
        if times.get(&id) == Some(&1) {
            draft.push(Record::RemoveTopic { id });
            rows.push(DeletedTopic { name: Some(name), id, result: Ok(()) });
        } else {
            // As it was asked for: by its name or by its id, not by both.
            rows.push(refused(topic, TopicError::DuplicateRef(format!("Topic {name} is given more than once."))));
        }
    }
    rows
}

fn refused(topic: &TopicRef, error: TopicError) -> DeletedTopic {
    DeletedTopic { name: topic.name.clone(), id: topic.id, result: Err(error) }
}

fn resolve(draft: &Draft<'_>, topic: &TopicRef) -> Result<(Uuid, String), TopicError> {
    let bad = |why: &str| Err(TopicError::BadRequest(why.to_owned()));
    let found = match (&topic.name, topic.id) {
        (Some(_), id) if !id.is_zero() => return bad("You may not specify both topic name and topic id."),
        (None, id) if id.is_zero() => return bad("Neither topic name nor id were specified."),
        (Some(name), _) => draft.image.topic(name).ok_or(TopicError::Unknown)?,
        (None, id) => draft.image.topic_by_id(id).ok_or(TopicError::UnknownId)?,
    };
    Ok((found.id, found.name.to_string()))
}
