//! Log directories: which replica lives in which, and what a failed one takes with it (KIP-858).
//!
//! A broker with one directory has all its replicas there from the start. One with several chooses, and tells.

use ballast_wire::{BrokerId, Uuid};

use super::draft::Draft;
use super::error::AssignError;
use super::request::{AssignedDir, DirAssignment};
use crate::image::Record;

/// Writes down where a broker's replicas live. A row each.
pub(super) fn assign(draft: &mut Draft<'_>, broker: BrokerId, assignments: &[DirAssignment]) -> Vec<AssignedDir> {
    assignments.iter().map(|assignment| (*assignment, assign_one(draft, broker, *assignment))).collect()
}

fn assign_one(draft: &mut Draft<'_>, broker: BrokerId, assignment: DirAssignment) -> Result<(), AssignError> {
    let DirAssignment { dir, topic, index } = assignment;
    let found = draft.image.topic_by_id(topic).ok_or(AssignError::UnknownTopicId)?;
    let mut state = (**found.partition(index).ok_or(AssignError::UnknownPartition)?).clone();
    let at = state.replicas.iter().position(|replica| *replica == broker).ok_or(AssignError::NotReplica)?;
    if state.directories[at] == dir {
        return Ok(());
    }
    state.directories[at] = dir;
    state.partition_epoch += 1;
    draft.push(Record::Partition { topic, index, state: Box::new(state) });
    if !draft.image.broker(broker).is_some_and(|broker| broker.has_online_dir(dir)) {
        leave_isr(draft, broker, topic, index);
    }
    Ok(())
}

/// Directories that a broker reports as failed: what lives in them is out of sync and cannot lead.
pub(super) fn drop_failed(draft: &mut Draft<'_>, broker: BrokerId, failed: &[Uuid]) {
    let Some(registered) = draft.image.broker(broker) else { return };
    if !registered.log_dirs.iter().any(|dir| failed.contains(dir)) {
        return;
    }
    let mut left = (**registered).clone();
    left.log_dirs.retain(|dir| !failed.contains(dir));
    draft.push(Record::RegisterBroker(Box::new(left)));
    let affected = draft.partitions_where(|partition| {
        partition.directory(broker).is_some_and(|dir| failed.contains(&dir))
            && (partition.isr.contains(&broker) || partition.leader == broker)
    });
    for (topic, index) in affected {
        leave_isr(draft, broker, topic, index);
    }
}

fn leave_isr(draft: &mut Draft<'_>, broker: BrokerId, topic: Uuid, index: ballast_wire::PartitionIndex) {
    draft.change(topic, index, |change| change.isr.retain(|member| *member != broker));
}
