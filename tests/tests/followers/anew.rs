//! A follower whose log the leader's does not reach begins anew at the leader's first offset, and counts again.

use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;

use crate::rig::{ALL, Rig};

/// kafka.md §8.2, OFFSET_OUT_OF_RANGE with a log start above the follower's end.
#[test]
fn a_follower_behind_the_leaders_first_offset_starts_over_there() {
    let rig = Rig::new(|cluster| cluster.topic("orders", 1));
    for n in 0..3 {
        assert_eq!(rig.produce(ALL, "orders", 0, &["old"]), n);
    }
    let away = (1..=3).find(|broker| *broker != rig.leader("orders", 0)).expect("two of three follow");
    rig.cluster.broker(away).kill();
    for n in 3..10 {
        assert_eq!(rig.produce(ALL, "orders", 0, &["meanwhile"]), n);
    }
    eventually("records are deleted without the one that is away", || {
        let mut leader = Connection::open(rig.cluster.broker(rig.leader("orders", 0)).bootstrap());
        let row = leader.delete_records("orders", 0, 8);
        (row.error_code == 0).then(|| assert_eq!(row.low_watermark, 8))
    });
    rig.cluster.restart_blocking().expect("it comes back");
    eventually("it is in sync again", || {
        let row = rig.told(rig.cluster.broker(away), "orders").pop()?;
        row.isr_nodes.iter().any(|member| member.0 == away).then_some(())
    });
    assert_eq!(rig.produce(ALL, "orders", 0, &["new"]), 10);
    let served = eventually("it hears that the new one is committed", || {
        let row = rig.served(away, "orders", 8);
        (row.high_watermark == 11).then_some(row)
    });
    assert_eq!(served.log_start_offset, 8, "what it serves itself");
    assert_eq!(rig.served(away, "orders", 7).error_code, 1, "OFFSET_OUT_OF_RANGE: it has nothing below");
    let bytes: Vec<u8> = rig.segments(away, "orders-0").into_values().flatten().collect();
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!((text.matches("old").count(), text.matches("new").count()), (0, 1), "its former log is gone");
}
