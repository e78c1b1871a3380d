//! What differs between two images, for whoever skips the entries in between: a start, a snapshot from the leader.

use std::sync::Arc;

use ballast_core::image::{Delta, Image, Topic};

/// What changed from `old` to `new`.
pub(super) fn between(old: &Image, new: &Image) -> Delta {
    let mut delta = Delta {
        index: new.index(),
        features_changed: !old.features().eq(new.features()),
        controller_changed: old.controller() != new.controller(),
        cluster_id_changed: old.cluster_id() != new.cluster_id(),
        ..Delta::default()
    };
    for topic in new.topics() {
        match old.topic_by_id(topic.id) {
            None => {
                delta.topics_created.insert(topic.id);
                delta.partitions_changed.extend(topic.partitions().map(|(index, _)| (topic.id, index)));
            }
            Some(before) => changed_partitions(before, topic, &mut delta),
        }
    }
    delta.topics_deleted = old.topics().filter(|topic| new.topic_by_id(topic.id).is_none()).map(Arc::clone).collect();
    brokers(old, new, &mut delta);
    configs(old, new, &mut delta);
    delta
}

fn changed_partitions(before: &Topic, after: &Topic, delta: &mut Delta) {
    for (index, partition) in after.partitions() {
        let same = before.partition(index).is_some_and(|old| Arc::ptr_eq(old, partition) || old == partition);
        if !same {
            delta.partitions_changed.insert((after.id, index));
        }
    }
}

fn brokers(old: &Image, new: &Image, delta: &mut Delta) {
    let joined = new.brokers().filter(|broker| old.broker(broker.id) != Some(*broker)).map(|broker| broker.id);
    let left = old.brokers().filter(|broker| new.broker(broker.id).is_none()).map(|broker| broker.id);
    delta.brokers_changed = joined.chain(left).collect();
}

/// A deleted topic's configs are gone without being listed, as an entry would say it.
fn configs(old: &Image, new: &Image, delta: &mut Delta) {
    let set = new.all_configs().filter(|(resource, configs)| old.configs(resource) != Some(*configs));
    delta.configs_changed = set.map(|(resource, _)| resource.clone()).collect();
    for (resource, _) in old.all_configs().filter(|(resource, _)| new.configs(resource).is_none()) {
        let with_its_topic = delta.topics_deleted.iter().any(|topic| topic_config(topic) == *resource);
        if !with_its_topic {
            delta.configs_changed.insert(resource.clone());
        }
    }
}

fn topic_config(topic: &Topic) -> ballast_core::image::ConfigResource {
    ballast_core::image::ConfigResource::topic(&topic.name)
}

#[cfg(test)]
mod tests {
    use ballast_core::image::{ConfigResource, Partition, Record};
    use ballast_wire::Uuid;

    use super::*;

    fn topic(n: u8) -> [Record; 3] {
        let name = format!("topic-{n}");
        [
            Record::Topic { name: name.clone(), id: Uuid([n; 16]) },
            Record::Partition { topic: Uuid([n; 16]), index: 0, state: Box::new(partition(0)) },
            Record::Config {
                resource: ConfigResource::topic(&name),
                key: "retention.ms".into(),
                value: Some("1".into()),
            },
        ]
    }

    fn partition(leader_epoch: i32) -> Partition {
        Partition {
            replicas: vec![1],
            directories: vec![Uuid([9; 16])],
            isr: vec![1],
            elr: vec![],
            last_known_elr: vec![],
            adding: vec![],
            removing: vec![],
            leader: 1,
            leader_epoch,
            partition_epoch: 0,
            recovery: ballast_core::image::Recovery::Recovered,
        }
    }

    #[test]
    fn the_difference_of_two_images_is_what_the_entries_between_them_said() {
        let mut old = Image::default();
        old.apply(1, &topic(1));
        old.apply(2, &topic(2));
        let mut new = old.clone();
        let mut said = new.apply(3, &topic(3));
        said.merge(new.apply(4, &[Record::RemoveTopic { id: Uuid([1; 16]) }]));
        let moved = Record::Partition { topic: Uuid([2; 16]), index: 0, state: Box::new(partition(1)) };
        said.merge(new.apply(5, &[moved, Record::ClusterId { id: Uuid([7; 16]) }]));
        assert_eq!(between(&old, &new), said);
    }

    #[test]
    fn the_difference_to_nothing_is_everything_and_to_itself_only_the_index() {
        let mut image = Image::default();
        for n in 1..=3 {
            image.apply(u64::from(n), &topic(n));
        }
        let whole = between(&Image::default(), &image);
        assert_eq!((whole.index, whole.topics_created.len(), whole.partitions_changed.len()), (3, 3, 3));
        assert_eq!(whole.configs_changed.len(), 3);
        assert!(between(&image, &image).is_empty());
    }
}
