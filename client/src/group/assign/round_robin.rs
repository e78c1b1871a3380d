//! `roundrobin`: the partitions of all topics in one line, dealt to the members in turn; who does not read a topic is
//! passed over.

use std::collections::BTreeMap;

use ballast_wire::PartitionIndex;

use super::{Candidate, topics};

pub(super) fn assign(
    members: &[&Candidate],
    counts: &BTreeMap<String, i32>,
    give: &mut impl FnMut(&Candidate, &str, PartitionIndex),
) {
    let mut turn = 0;
    for (topic, count) in topics(members, counts) {
        for partition in 0..count {
            // Ends, because somebody wants the topic.
            while !members[turn % members.len()].wants(topic) {
                turn += 1;
            }
            give(members[turn % members.len()], topic, partition);
            turn += 1;
        }
    }
}
