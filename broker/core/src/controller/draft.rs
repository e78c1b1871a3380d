//! What one request would change: records, and the image as it will be with them.

use std::sync::Arc;

use ballast_wire::{BrokerId, PartitionIndex, Uuid};

use super::change::{Change, Election};
use super::drained::is_drained;
use super::event::{Event, Standing};
use crate::image::{Directories, Image, Partition, Record};
use crate::settings::{Layers, Statics, topic_flag, topic_number};

/// Records under way. Dropping the draft undoes them.
pub(super) struct Draft<'a> {
    pub(super) image: Image,
    pub(super) records: Vec<Record>,
    /// What the records come to, for operators.
    pub(super) events: Vec<Event>,
    pub(super) statics: &'a Statics,
}

impl<'a> Draft<'a> {
    pub(super) fn new(image: &Image, statics: &'a Statics) -> Draft<'a> {
        Draft { image: image.clone(), records: Vec::new(), events: Vec::new(), statics }
    }

    pub(super) fn push(&mut self, record: Record) {
        self.image.apply_ahead(std::slice::from_ref(&record));
        self.records.push(record);
    }

    /// The layers below a topic's own configs, as the controller sees them: no broker's own.
    pub(super) fn layers(&self) -> Layers<'_> {
        Layers::of(&self.image, None, self.statics)
    }

    /// Is the broker registered, alive and not leaving?
    pub(super) fn is_active(&self, broker: BrokerId) -> bool {
        self.image.broker(broker).is_some_and(|broker| broker.is_active())
    }

    /// The directory of a new replica: the broker's only one, else one that the broker chooses.
    pub(super) fn new_directory(&self, broker: BrokerId) -> Uuid {
        match self.image.broker(broker).map(|broker| broker.log_dirs.as_slice()) {
            Some([only]) => *only,
            _ => Directories::UNASSIGNED,
        }
    }

    /// Changes one partition as `edit` asks, with the election that the topic allows, and says what it is then. `None` if
    /// there is no such partition.
    pub(super) fn change(
        &mut self,
        topic: Uuid,
        index: PartitionIndex,
        edit: impl FnOnce(&mut Change<'_>),
    ) -> Option<Partition> {
        let found = self.image.topic_by_id(topic)?;
        let (name, old) = (found.name.clone(), found.partition(index)?.clone());
        let image = &self.image;
        let acceptable = |id: BrokerId| {
            let online = |dir: Uuid| image.broker(id).is_some_and(|broker| broker.has_online_dir(dir));
            self.is_active(id) && old.directory(id).is_none_or(online)
        };
        let drained = |id: BrokerId| is_drained(image, id);
        let new_directory = |id: BrokerId| self.new_directory(id);
        let mut change = Change {
            old: &old,
            acceptable: &acceptable,
            drained: &drained,
            new_directory: &new_directory,
            elr_enabled: image.elr_enabled(),
            min_isr: self.min_isr(&name),
            election: if self.unclean_allowed(&name) { Election::Unclean } else { Election::Online },
            isr: old.isr.clone(),
            replicas: old.replicas.clone(),
            adding: old.adding.clone(),
            removing: old.removing.clone(),
            recovery: old.recovery,
            distrusted: None,
        };
        edit(&mut change);
        match change.build() {
            Some((new, standing)) => {
                self.events.extend(event(name, index, &old, &new, standing));
                self.push(Record::Partition { topic, index, state: Box::new(new.clone()) });
                Some(new)
            }
            None => Some((*old).clone()),
        }
    }

    /// Every partition that `wanted` picks.
    pub(super) fn partitions_where(&self, wanted: impl Fn(&Partition) -> bool) -> Vec<(Uuid, PartitionIndex)> {
        let topics = self.image.topics();
        topics
            .flat_map(|topic| topic.partitions().map(move |(index, partition)| (topic.id, index, partition)))
            .filter(|(_, _, partition)| wanted(partition))
            .map(|(topic, index, _)| (topic, index))
            .collect()
    }

    fn min_isr(&self, topic: &str) -> usize {
        let own = self.image.configs(&crate::image::ConfigResource::topic(topic));
        let number = topic_number("min.insync.replicas", own.map(|configs| &**configs), &self.layers());
        usize::try_from(number).unwrap_or(1)
    }

    pub(super) fn unclean_allowed(&self, topic: &str) -> bool {
        let own = self.image.configs(&crate::image::ConfigResource::topic(topic));
        topic_flag("unclean.leader.election.enable", own.map(|configs| &**configs), &self.layers())
    }
}

/// What the change is to operators: another leader, or none.
fn event(
    topic: Arc<str>,
    index: PartitionIndex,
    old: &Partition,
    new: &Partition,
    standing: Option<Standing>,
) -> Option<Event> {
    if new.leader == old.leader {
        return None;
    }
    let (from, to, leader_epoch) = (old.leader, new.leader, new.leader_epoch);
    Some(match standing {
        Some(standing) => Event::Elected { topic, index, from, to, leader_epoch, standing },
        None => {
            let lists = [&new.isr, &new.elr, &new.last_known_elr];
            let waits_for = lists.into_iter().find(|list| !list.is_empty()).cloned().unwrap_or_default();
            Event::Leaderless { topic, index, from, waits_for }
        }
    })
}
