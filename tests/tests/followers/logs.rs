//! What the leader acknowledged is on its followers.

use crate::rig::{ALL, LEADER, Rig};

#[test]
fn followers_have_the_leaders_bytes() {
    let rig = Rig::new(|cluster| cluster.topic("orders", 4));
    for partition in 0..4 {
        for n in 0..10 {
            rig.produce(LEADER, "orders", partition, &[&format!("record {n}"), "and another"]);
        }
        assert_eq!(rig.produce(ALL, "orders", partition, &["the last"]), 20);
    }
    rig.cluster.stop_blocking();
    for partition in 0..4 {
        rig.alike(&format!("orders-{partition}"));
    }
}
