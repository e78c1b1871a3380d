//! Whom a consumer shall read from instead of the leader: the replica in its own rack (KIP-392).
//!
//! Only where `replica.selector.class` says so, and only for consumers that name a rack.

use ballast_core::machine::Tick;
use ballast_core::replica::{Candidate, preferred_read_replica};
use ballast_wire::{BrokerId, Offset};

use crate::api::call::Ctx;
use crate::drive::partition::Partition;

/// The one selector that looks at racks; Kafka's name for it, which is that of a Java class.
const RACK_AWARE: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";

/// Does this broker send consumers to other replicas?
pub(super) fn is_on(ctx: &Ctx) -> bool {
    ctx.node.settings.now().replication.selector_class.as_deref() == Some(RACK_AWARE)
}

/// The replica that a consumer in `rack` shall ask from now on; `None` for this one, and where this broker does not lead.
pub(super) fn choose(ctx: &Ctx, partition: &Partition, rack: &str, offset: Offset) -> Option<BrokerId> {
    let image = ctx.node.metadata.image();
    let rack_of = |id: BrokerId| image.broker(id).and_then(|broker| broker.rack.as_deref());
    let me = ctx.node.id;
    let (log_start, end) = (partition.log.start(), partition.log.end());
    let leader = Candidate { broker: me, rack: rack_of(me), log_start, end, caught_up_at: Tick::MAX };
    partition.leader(|machine| {
        let followers = machine.in_sync_followers().filter_map(|(id, follower)| {
            let (log_start, caught_up_at) = (follower.log_start, follower.caught_up_at.unwrap_or(0));
            Some(Candidate { broker: id, rack: rack_of(id), log_start, end: follower.end?, caught_up_at })
        });
        let candidates: Vec<Candidate<'_>> = std::iter::once(leader).chain(followers).collect();
        preferred_read_replica(rack, offset, me, &candidates)
    })?
}
