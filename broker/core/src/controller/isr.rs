//! AlterPartition: a leader asks for another ISR.
//!
//! The rules are those of Kafka's controller: who knows more than we do makes us doubt ourselves, who knows less is fenced,
//! and nobody joins who is not alive under the epoch that it fetched with (KIP-903).

use ballast_wire::BrokerId;

use super::draft::Draft;
use super::error::AlterPartitionError;
use super::request::{AlteredPartition, IsrChange, PartitionState};
use crate::image::{Partition, Recovery};

/// A row for each partition, in the order of the request.
pub(super) fn alter_partitions(
    draft: &mut Draft<'_>,
    leader: BrokerId,
    changes: &[IsrChange],
) -> Vec<AlteredPartition> {
    let row = |change: &IsrChange, draft: &mut Draft<'_>| AlteredPartition {
        topic: change.topic,
        index: change.index,
        result: alter_partition(draft, leader, change),
    };
    changes.iter().map(|change| row(change, draft)).collect()
}

fn alter_partition(
    draft: &mut Draft<'_>,
    leader: BrokerId,
    change: &IsrChange,
) -> Result<PartitionState, AlterPartitionError> {
    let topic = draft.image.topic_by_id(change.topic).ok_or(AlterPartitionError::UnknownTopicId(change.topic))?;
    let old = topic.partition(change.index).ok_or(AlterPartitionError::UnknownPartition)?.clone();
    let recovery = judge(draft, leader, change, &old)?;
    let isr = change.isr.iter().map(|(broker, _)| *broker).collect();
    let new = draft.change(change.topic, change.index, |asked| {
        asked.isr = isr;
        asked.recovery = recovery;
    });
    let new = new.ok_or(AlterPartitionError::UnknownPartition)?;
    if new.leader_epoch != old.leader_epoch {
        return Err(AlterPartitionError::NewLeaderElected);
    }
    Ok(PartitionState {
        leader: new.leader,
        leader_epoch: new.leader_epoch,
        isr: new.isr,
        recovery: new.recovery.id(),
        partition_epoch: new.partition_epoch,
    })
}

fn judge(
    draft: &Draft<'_>,
    leader: BrokerId,
    change: &IsrChange,
    old: &Partition,
) -> Result<Recovery, AlterPartitionError> {
    let bad = |why: String| Err(AlterPartitionError::InvalidRequest(why));
    let &IsrChange { leader_epoch, partition_epoch, .. } = change;
    if leader_epoch > old.leader_epoch || partition_epoch > old.partition_epoch {
        return Err(AlterPartitionError::ControllerBehind { leader_epoch, partition_epoch });
    }
    if leader_epoch < old.leader_epoch {
        return Err(AlterPartitionError::FencedLeaderEpoch { given: leader_epoch, ours: old.leader_epoch });
    }
    if leader != old.leader {
        return bad(format!("broker {leader} is not the leader, {} is", old.leader));
    }
    if partition_epoch < old.partition_epoch {
        return Err(AlterPartitionError::InvalidUpdateVersion { given: partition_epoch, ours: old.partition_epoch });
    }
    let members: Vec<BrokerId> = change.isr.iter().map(|(broker, _)| *broker).collect();
    for (at, broker) in members.iter().enumerate() {
        if members[..at].contains(broker) || !old.replicas.contains(broker) {
            return bad(format!("ISR {members:?} is no set of replicas out of {:?}", old.replicas));
        }
    }
    if !members.contains(&leader) {
        return bad(format!("ISR {members:?} lacks the leader {leader}"));
    }
    let Some(recovery) = Recovery::from_id(change.recovery) else {
        return bad(format!("{} is no leader recovery state", change.recovery));
    };
    if recovery == Recovery::Recovering && members.len() > 1 {
        return bad(format!("a leader that is recovering is alone in its ISR, not {members:?}"));
    }
    if recovery == Recovery::Recovering && old.recovery == Recovery::Recovered {
        return bad("a leader that has recovered cannot be recovering again".to_owned());
    }
    match change.isr.iter().find(|(broker, epoch)| !is_eligible(draft, *broker, *epoch)) {
        Some((broker, _)) => Err(AlterPartitionError::IneligibleReplica(*broker)),
        None => Ok(recovery),
    }
}

fn is_eligible(draft: &Draft<'_>, broker: BrokerId, epoch: i64) -> bool {
    let registered = draft.image.broker(broker);
    registered.is_some_and(|broker| broker.is_active() && (epoch == -1 || epoch == broker.epoch))
}
