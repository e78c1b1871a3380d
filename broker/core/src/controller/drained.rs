//! Which brokers an operator has emptied of leaderships: what placement and elections ask. `drain` does the emptying.

use std::collections::BTreeSet;

use ballast_wire::BrokerId;

use crate::image::{ConfigResource, Image};

/// The setting.
pub const DRAIN_LEADERS: &str = "ballast.drain.leaders";

/// Shall the broker lead only what nobody else can?
pub(super) fn is_drained(image: &Image, broker: BrokerId) -> bool {
    let own = image.configs(&ConfigResource::broker(broker));
    own.and_then(|configs| configs.get(DRAIN_LEADERS)).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// All of them.
pub(super) fn drained(image: &Image) -> BTreeSet<BrokerId> {
    image.brokers().map(|broker| broker.id).filter(|id| is_drained(image, *id)).collect()
}
