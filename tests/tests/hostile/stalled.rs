//! Sockets that announce much and send little, and those that send slowly.

use std::time::Duration;

use ballast_tests::raw::layout::layouts;
use ballast_tests::raw::{Connection, Reply, now_ms};
use ballast_wire::frame::{ApiKey, RequestHeader, Writer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::watch::Watch;

const SOCKETS: usize = 1000;
/// What each of them announces: as much as Kafka allows.
const ANNOUNCED_BYTES: i32 = 100 << 20;
/// How long they stay.
const ATTACK_MS: i64 = 1500;

/// A test needs as many descriptors as it opens sockets.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // What is refused shows when a socket cannot be opened.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn hold(started: i64) {
    while now_ms() - started < ATTACK_MS {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_thousand_sockets_that_announce_100_mib_and_stall_cost_nothing() {
    raise_descriptors();
    let Some(watch) = Watch::start(&[]) else { return };
    if !watch.broker.is_ballast() {
        return; // Apache Kafka runs out of memory and serves nobody any more.
    }
    watch.during(|broker| {
        let started = now_ms();
        let mut sockets: Vec<Connection> = (0..SOCKETS).map(|_| broker.connect()).collect();
        for socket in &mut sockets {
            socket.send(&ANNOUNCED_BYTES.to_be_bytes()).unwrap();
            socket.send(b"\0\0\0\x0b").unwrap();
        }
        hold(started);
    });
}

#[test]
fn stalled_frames_share_one_budget_and_the_oldest_give_way() {
    raise_descriptors();
    let budget = ["queued.max.request.bytes=16777216"];
    let Some(watch) = Watch::start(&budget) else { return };
    if !watch.broker.is_ballast() {
        return;
    }
    let part = vec![0; 256 << 10];
    watch.during(|broker| {
        let mut closed = 0;
        let mut sockets = Vec::new();
        // Together four times what memory there is for frames.
        for _ in 0..(64 << 20) / part.len() {
            let mut socket = broker.connect();
            let mut sent = socket.send(&ANNOUNCED_BYTES.to_be_bytes());
            sent = sent.and_then(|()| socket.send(b"\0\0\0\x0b")).and_then(|()| socket.send(&part));
            closed += usize::from(sent.is_err());
            sockets.push(socket);
        }
        for socket in &mut sockets {
            closed += usize::from(socket.reply_within(Duration::from_millis(1)) == Reply::Closed);
        }
        assert!(closed >= 64, "{closed} of {} stalled sockets were closed", sockets.len());
    });
}

#[test]
fn slow_clients_are_served_at_their_pace_and_hold_up_nobody() {
    raise_descriptors();
    let Some(watch) = Watch::start(&[]) else { return };
    let layouts = layouts();
    let layout = layouts.iter().find(|layout| (layout.key, layout.version) == (ApiKey::METADATA, 12)).unwrap();
    let header = RequestHeader { key: layout.key, version: 12, correlation_id: 5, client_id: Some("slow".into()) };
    let mut frame = Writer::frame();
    header.encode(&mut frame);
    frame.raw(&layout.honest().body);
    let frame = frame.finish_frame(0);
    watch.during(|broker| {
        let mut sockets: Vec<Connection> = (0..200).map(|_| broker.connect()).collect();
        for byte in &frame {
            for socket in &mut sockets {
                socket.send(&[*byte]).unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for socket in &mut sockets {
            assert_eq!(socket.frame()[..4], 5i32.to_be_bytes());
        }
    });
}

#[test]
fn clients_that_do_not_read_their_answers_hold_up_nobody() {
    let Some(watch) = Watch::start(&[]) else { return };
    let topic = watch.broker.topic("unread", 1, &[]);
    let mut connection = watch.broker.connect();
    let records = ballast_tests::raw::batches::batch_of_bytes(1_000_000);
    for _ in 0..4 {
        connection.append(&topic.name, 0, records.clone());
    }
    let row = ballast_tests::raw::fetch_row(0, 0).with_partition_max_bytes(50 << 20);
    let fetch = ballast_tests::raw::Fetch::of(&topic.name, vec![row]).0;
    watch.during(|broker| {
        let started = now_ms();
        let mut sockets: Vec<Connection> = (0..50).map(|_| broker.connect()).collect();
        for socket in &mut sockets {
            // 20 answers of 4 MB each: far more than any socket buffers.
            for _ in 0..20 {
                socket.start::<kafka_protocol::messages::FetchRequest>(12, &fetch);
            }
        }
        hold(started);
    });
}
