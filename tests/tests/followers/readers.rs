//! Who reads from a follower sees what was acknowledged, soon: the follower hears of the watermark as it moves.

use ballast_tests::raw::rows::eventually;

use crate::rig::{ALL, Rig};

const AN_HOUR_MS: &str = "3600000";

/// KIP-1166. The leader may keep a follower's fetch for an hour when there is nothing to tell: a follower that was not told
/// of the watermark would know it an hour later.
#[test]
fn a_follower_serves_what_was_acknowledged_although_nothing_else_is_written() {
    let rig = Rig::new(|cluster| {
        let patient = ["replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms"];
        patient.into_iter().fold(cluster.topic("orders", 1), |cluster, name| cluster.setting(name, AN_HOUR_MS))
    });
    for end in 1..=3 {
        assert_eq!(rig.produce(ALL, "orders", 0, &["a record"]), end - 1);
        let leader = rig.leader("orders", 0);
        for follower in (1..=3).filter(|broker| *broker != leader) {
            eventually("the follower serves the record", || {
                let row = rig.served(follower, "orders", end - 1);
                (row.error_code == 0 && row.high_watermark == end && !row.records.is_empty()).then_some(())
            });
        }
    }
}
