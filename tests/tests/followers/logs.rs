//! What the leader acknowledged is on its followers, whoever leads, dies and comes back meanwhile.

use ballast_tests::raw::Connection;
use ballast_tests::raw::messages::name;
use ballast_tests::raw::rows::eventually;
use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;

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

#[test]
fn with_flush_messages_1_followers_sync_before_they_count() {
    let rig =
        Rig::new(|cluster| cluster.topic_with("orders", 2, &[("flush.messages", "1"), ("min.insync.replicas", "2")]));
    for n in 0..5 {
        assert_eq!(rig.produce(ALL, "orders", n % 2, &["synced"]), i64::from(n / 2));
    }
    rig.cluster.kill();
    rig.cluster.restart_blocking().expect("they come back");
    for (partition, expected) in [("orders-0", 3), ("orders-1", 2)] {
        let bytes: Vec<u8> = rig.alike(partition).into_values().flatten().collect();
        let found = String::from_utf8_lossy(&bytes).matches("synced").count();
        assert_eq!(found, expected, "{partition}");
    }
}

#[test]
fn a_follower_that_was_away_gets_what_it_missed() {
    let rig = Rig::new(|cluster| cluster.topic("orders", 3));
    for partition in 0..3 {
        rig.produce(ALL, "orders", partition, &["before"]);
    }
    rig.cluster.broker(3).kill();
    for partition in 0..3 {
        assert_eq!(rig.produce(ALL, "orders", partition, &["meanwhile"]), 1, "two of three go on");
    }
    rig.cluster.restart_blocking().expect("it comes back");
    for partition in ["orders-0", "orders-1", "orders-2"] {
        let bytes: Vec<u8> = rig.alike(partition).into_values().flatten().collect();
        assert!(String::from_utf8_lossy(&bytes).contains("meanwhile"), "{partition}");
    }
}

#[test]
fn a_leader_lost_in_the_middle_of_produces_loses_nothing_that_was_acknowledged() {
    let rig = Rig::new(|cluster| cluster.topic_with("orders", 1, &[("min.insync.replicas", "2")]));
    let mut acknowledged = Vec::new();
    for n in 0..30 {
        if n == 10 || n == 20 {
            rig.cluster.broker(rig.leader("orders", 0)).kill();
        }
        let value = format!("<{n}>");
        rig.produce(ALL, "orders", 0, &[&value]);
        acknowledged.push(value);
        if n == 15 || n == 25 {
            rig.cluster.restart_blocking().expect("it comes back");
        }
    }
    let bytes: Vec<u8> = rig.alike("orders-0").into_values().flatten().collect();
    let text = String::from_utf8_lossy(&bytes);
    let mut rest = &*text;
    for value in &acknowledged {
        let at = rest.find(value.as_str()).unwrap_or_else(|| panic!("{value} is gone, or out of order"));
        rest = &rest[at..];
    }
}

#[test]
fn a_topic_that_is_deleted_while_it_is_fetched_leaves_the_others_alone() {
    let rig = Rig::new(|cluster| cluster.topic("goes", 3).topic("stays", 3));
    for partition in 0..3 {
        rig.produce(ALL, "goes", partition, &["a"]);
        rig.produce(ALL, "stays", partition, &["b"]);
    }
    let state = DeleteTopicState::default().with_name(Some(name("goes")));
    let request = DeleteTopicsRequest::default().with_topics(vec![state]).with_timeout_ms(10_000);
    eventually("it is deleted", || {
        rig.cluster.brokers().iter().find_map(|broker| {
            let answer = Connection::open(broker.bootstrap()).call(6, &request);
            matches!(answer.responses[0].error_code, 0 | 3).then_some(())
        })
    });
    for partition in 0..3 {
        assert_eq!(rig.produce(ALL, "stays", partition, &["c"]), 1);
    }
    rig.cluster.stop_blocking();
    (0..3).for_each(|partition| drop(rig.alike(&format!("stays-{partition}"))));
}
