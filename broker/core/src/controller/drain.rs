//! Brokers without leaderships: an operator empties one before work on it.
//!
//! ```text
//!  ballast.drain.leaders=true on a broker ----> drained: it leads what nobody else can lead, and nothing more
//!  the setting removed, or a new life of the broker ----> as all others; balancing gives its leaderships back
//! ```
//! It is a broker's dynamic setting, so that every tool that changes settings can begin and end it, every node sees it, and
//! a controller that takes over goes on with it.
//!
//! Holds: a drained broker loses no leadership that no other in-sync replica can take: emptying costs no availability.

use ballast_wire::BrokerId;

use super::draft::Draft;
use super::drained::{DRAIN_LEADERS, drained};
use crate::image::{ConfigResource, Image, Record};

/// Leaderships handed over in one pass; the log takes others' changes in between.
const PER_PASS_MAX: usize = 1_000;

/// Is any broker drained?
pub(super) fn is_under_way(image: &Image) -> bool {
    !drained(image).is_empty()
}

/// Hands leaderships of drained brokers to other in-sync replicas. Says whether there are more.
pub(super) fn hand_over(draft: &mut Draft<'_>) -> bool {
    let image = draft.image.clone();
    let drained = drained(&image);
    let takes_over =
        |id: &BrokerId| !drained.contains(id) && image.broker(*id).is_some_and(|broker| broker.is_active());
    let led =
        draft.partitions_where(|partition| drained.contains(&partition.leader) && partition.isr.iter().any(takes_over));
    for (topic, index) in led.iter().take(PER_PASS_MAX) {
        draft.change(*topic, *index, |_| {});
    }
    led.len() > PER_PASS_MAX
}

/// The broker begins a new life, or is forgotten: what was asked of the old one is over.
pub(super) fn end(draft: &mut Draft<'_>, broker: BrokerId) {
    let resource = ConfigResource::broker(broker);
    if draft.image.configs(&resource).is_some_and(|configs| configs.contains_key(DRAIN_LEADERS)) {
        draft.push(Record::Config { resource, key: DRAIN_LEADERS.to_owned(), value: None });
    }
}
