//! Consumer groups and committed offsets, each claim made with frames written by hand.
//!
//! One file for each subject. Numbers in brackets in the names of rows are Kafka's error codes. Every expectation holds on
//! Apache Kafka 4.4 as well, except where a test says that Ballast differs: `ballast_tests::target` tells how to run these
//! tests against it, with the settings below.

mod admin;
mod by_id;
mod churn;
mod commits;
mod coordinator;
mod dead_members;
mod expiry;
mod fetching;
mod joining;
mod leaving;
mod life;
mod metrics;
mod offsets_topic;
mod static_members;
mod syncing;

use std::sync::{Arc, Weak};

use ballast_tests::raw::groups::Member;
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::{Broker, unique, with};
use kafka_protocol::messages::JoinGroupResponse;
use parking_lot::Mutex;

/// Groups settle at once, sessions end within a test's patience, and few members fill a group.
const SETTINGS: [&str; 4] = [
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "group.max.size=4",
    "offsets.topic.replication.factor=1",
];

static RUNNING: Mutex<Weak<Broker>> = Mutex::new(Weak::new());

/// The broker of tests without wishes, and a new group on it. `None`: the broker that they were sent to has other settings.
fn group(stem: &str) -> Option<(Arc<Broker>, String)> {
    let mut running = RUNNING.lock();
    let broker = match running.upgrade() {
        Some(broker) => broker,
        None => Arc::new(with(&SETTINGS)?),
    };
    *running = Arc::downgrade(&broker);
    let group = unique(stem);
    broker.connect().coordinator(&group);
    Some((broker, group))
}

/// A member on a connection of its own, not joined yet.
fn member(broker: &Broker, group: &str) -> Member {
    Member::new(broker.connect(), group)
}

/// Lets the first lead, and gives each its own id as assignment.
fn settle(members: &mut [Member]) {
    members[0].join();
    gather(members);
    let ids: Vec<String> = members.iter().map(|member| member.id.clone()).collect();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
    let start = |(at, member): (usize, &mut Member)| member.start_sync(if at == 0 { &all } else { &[] });
    let started: Vec<i32> = members.iter_mut().enumerate().map(start).collect();
    for (member, id) in members.iter_mut().zip(started) {
        let synced = member.finish_sync(id);
        assert_eq!((synced.error_code, &*synced.assignment), (0, member.id.as_bytes()));
    }
}

/// All join one generation; the first is its leader, and in the group already.
fn gather(members: &mut [Member]) -> Vec<JoinGroupResponse> {
    let (first, rest) = members.split_first_mut().expect("somebody leads");
    let mut started = Vec::new();
    if rest.iter().all(|member| member.generation < 0) {
        started.extend(rest.iter_mut().map(Member::start_join));
        if !rest.is_empty() {
            eventually("a rebalance", || (first.heartbeat() == 27).then_some(()));
        }
        started.insert(0, first.start_join());
    } else {
        // A leader that joins again begins a rebalance; a follower that came first would be told that nothing changed.
        started.push(first.start_join());
        for member in rest {
            eventually("a rebalance", || (member.heartbeat() == 27).then_some(()));
            started.push(member.start_join());
        }
    }
    let joined: Vec<_> = members.iter_mut().zip(started).map(|(member, id)| member.finish_join(id)).collect();
    let leaders = joined.iter().filter(|answer| answer.leader.as_str() == members[0].id).count();
    assert_eq!((leaders, joined[0].members.len()), (members.len(), members.len()));
    joined
}
