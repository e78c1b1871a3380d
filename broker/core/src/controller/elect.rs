//! Elections that somebody asks for, and those that the controller holds by itself.

use ballast_wire::{NO_LEADER, PartitionIndex, Uuid};

use super::change::Election;
use super::draft::Draft;
use super::drained::is_drained;
use super::error::ElectionError;

/// Leaderships given back in one pass.
const BALANCE_PER_PASS_MAX: usize = 1_000;

type Row = (String, PartitionIndex, Result<(), ElectionError>);

/// ElectLeaders. Without `partitions` all are tried, and those that need nothing are left out of the answer.
pub(super) fn elect_leaders(
    draft: &mut Draft<'_>,
    unclean: bool,
    partitions: Option<&[(String, PartitionIndex)]>,
) -> Vec<Row> {
    let election = if unclean { Election::Unclean } else { Election::Preferred };
    if let Some(partitions) = partitions {
        let asked = partitions.iter();
        return asked.map(|(topic, index)| (topic.clone(), *index, elect(draft, topic, *index, election))).collect();
    }
    let every: Vec<(String, PartitionIndex)> = draft
        .image
        .topics()
        .flat_map(|topic| topic.partitions().map(|(index, _)| (topic.name.to_string(), index)))
        .collect();
    let rows = every.into_iter().map(|(topic, index)| {
        let result = elect(draft, &topic, index, election);
        (topic, index, result)
    });
    rows.filter(|(_, _, result)| *result != Err(ElectionError::NotNeeded)).collect()
}

fn elect(draft: &mut Draft<'_>, topic: &str, index: PartitionIndex, election: Election) -> Result<(), ElectionError> {
    let unknown = || ElectionError::UnknownPartition(topic.to_owned(), index);
    let found = draft.image.topic(topic).ok_or_else(|| ElectionError::UnknownTopic(topic.to_owned()))?;
    let (id, old) = (found.id, found.partition(index).ok_or_else(unknown)?.clone());
    let preferred = old.replicas.first().copied().unwrap_or(NO_LEADER);
    match election {
        Election::Preferred if old.leader == preferred => return Err(ElectionError::NotNeeded),
        Election::Unclean if old.has_leader() => return Err(ElectionError::NotNeeded),
        Election::Online | Election::Preferred | Election::Unclean => {}
    }
    let before = draft.records.len();
    let new = draft.change(id, index, |change| change.election = election).ok_or_else(unknown)?;
    match election {
        Election::Preferred if new.leader != preferred => {
            assert!(
                draft.records.len() == before || new.leader != old.leader,
                "a preferred election of {topic}-{index} changed something besides the leader"
            );
            Err(ElectionError::PreferredNotAvailable)
        }
        Election::Unclean if !new.has_leader() => Err(ElectionError::EligibleNotAvailable),
        Election::Online | Election::Preferred | Election::Unclean => Ok(()),
    }
}

/// Gives leaderships back to preferred replicas that are in sync. Says whether there may be more.
pub(super) fn balance(draft: &mut Draft<'_>) -> bool {
    let image = draft.image.clone();
    let leads_again = |id| image.broker(id).is_some_and(|broker| broker.is_active()) && !is_drained(&image, id);
    let unbalanced = draft.partitions_where(|partition| {
        let preferred = partition.replicas.first().copied().unwrap_or(NO_LEADER);
        partition.leader != preferred && partition.isr.contains(&preferred) && leads_again(preferred)
    });
    for (topic, index) in unbalanced.iter().take(BALANCE_PER_PASS_MAX) {
        draft.change(*topic, *index, |change| change.election = Election::Preferred);
    }
    unbalanced.len() > BALANCE_PER_PASS_MAX
}

/// Looks for a leader for every partition that has none: unclean where the topic allows it.
pub(super) fn elect_leaderless(draft: &mut Draft<'_>, only: impl Fn(&Draft<'_>, Uuid) -> bool) {
    for (topic, index) in draft.partitions_where(|partition| !partition.has_leader()) {
        if only(draft, topic) {
            draft.change(topic, index, |_| {});
        }
    }
}
