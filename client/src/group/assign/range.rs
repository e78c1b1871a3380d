//! `range`: each topic for itself, in as many ranges as it has readers; the first ones take the remainder. Members that
//! read several topics of the same size get the same numbers of each, so that equal keys meet.

use std::collections::BTreeMap;

use ballast_wire::PartitionIndex;

use super::{Candidate, topics};

pub(super) fn assign(
    members: &[&Candidate],
    counts: &BTreeMap<String, i32>,
    give: &mut impl FnMut(&Candidate, &str, PartitionIndex),
) {
    for (topic, count) in topics(members, counts) {
        let readers: Vec<&&Candidate> = members.iter().filter(|member| member.wants(topic)).collect();
        let shares = readers.len() as i32;
        let mut next = 0;
        for (at, reader) in readers.into_iter().enumerate() {
            let share = count / shares + i32::from((at as i32) < count % shares);
            for partition in next..next + share {
                give(reader, topic, partition);
            }
            next += share;
        }
        assert_eq!(next, count.max(0), "{topic}: every partition has one reader");
    }
}
