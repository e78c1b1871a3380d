//! What a broker took for something must come back when that is gone.

use ballast_tests::raw::rows::{FETCH, eventually};
use ballast_tests::raw::{Fetch, batch, fetch_row, name};
use ballast_tests::target::{shared, with};
use kafka_protocol::messages::{DeleteTopicsRequest, FetchRequest};

const SESSIONS: i32 = 4000;
const GROWTH_KIB_MAX: u64 = 64 << 10;

#[test]
fn deleted_topics_give_back_their_maps_and_descriptors() {
    let Some(broker) = with(&["log.segment.delete.delay.ms=0"]) else { return };
    let Some(serve) = broker.serve.as_ref() else { return };
    let mut connection = broker.connect();
    let open = || {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", serve.pid())).unwrap();
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", serve.pid())).unwrap();
        let files = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let files = files.filter(|file| file.to_string_lossy().contains("/churn-")).count();
        files + maps.lines().filter(|line| line.contains("/churn-")).count()
    };
    for round in 0..2 {
        let topics: Vec<String> = (0..15).map(|number| format!("churn-{round}-{number}")).collect();
        for topic in &topics {
            connection.create_topic(topic, 2, &[]);
            connection.append(topic, 1, batch(&["a"]));
            connection.fetch(topic, 1, 0);
        }
        let names = topics.iter().map(|topic| name(topic)).collect();
        let request = DeleteTopicsRequest::default().with_topic_names(names).with_timeout_ms(20_000);
        assert!(connection.call(5, &request).responses.iter().all(|row| row.error_code == 0));
        eventually("maps and descriptors of deleted topics are closed", || (open() == 0).then_some(()));
    }
    eventually("their folders are gone", || {
        let mut left = std::fs::read_dir(serve.data()).unwrap().flatten();
        left.all(|entry| !entry.file_name().to_string_lossy().starts_with("churn-")).then_some(())
    });
}

#[test]
fn idle_fetch_sessions_do_not_pile_up() {
    let Some(broker) = with(&[]) else { return };
    let topic = broker.topic("sessions", 1, &[]);
    let mut connection = broker.connect();
    let before = broker.resident_kib();
    let mut opened = 0;
    for _ in 0..SESSIONS {
        let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(0, 0);
        let response = connection.call::<FetchRequest>(FETCH, &fetch.0);
        assert_eq!(response.error_code, 0);
        opened += i32::from(response.session_id != 0);
    }
    assert!(opened <= 1000, "{opened} sessions are kept, max.incremental.fetch.session.cache.slots is 1000");
    if let (Some(before), Some(after)) = (before, broker.resident_kib()) {
        assert!(after < before + GROWTH_KIB_MAX, "{before} KiB before {SESSIONS} sessions, {after} KiB after");
    }
}

#[test]
fn a_client_that_goes_away_in_the_middle_of_a_wait_is_forgotten_when_the_wait_is_over() {
    let broker = shared();
    let Some(serve) = broker.serve.as_ref() else { return };
    let topic = broker.topic("gone", 1, &[]);
    let poll = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).wait(1, 500).0;
    let sockets = || {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", serve.pid())).unwrap();
        let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let before = sockets();
    let mut waiting: Vec<_> = (0..100).map(|_| broker.connect()).collect();
    for connection in &mut waiting {
        connection.start::<FetchRequest>(FETCH, &poll);
    }
    drop(waiting);
    // Other tests open and close connections meanwhile.
    eventually("the sockets are closed", || (sockets() < before + 50).then_some(()));
}
