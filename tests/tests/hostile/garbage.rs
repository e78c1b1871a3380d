//! Bytes without sense, and honest requests with some bytes changed.

use std::time::Duration;

use ballast_tests::raw::Reply;
use ballast_tests::raw::layout::layouts;
use ballast_tests::target::Broker;
use ballast_wire::frame::{ApiKey, Form, Writer};

use crate::watch::{Random, Watch};

const ROUNDS: usize = 400;
const MUTANTS: usize = 6000;
/// Requests that one connection carries, if it lives that long.
const MUTANTS_PER_CONNECTION: usize = 20;

/// A changed byte could make an honest order of these: they would do what they are there for.
const ORDERS: [ApiKey; 7] = [
    ApiKey::UNREGISTER_BROKER,
    ApiKey::ADD_RAFT_VOTER,
    ApiKey::REMOVE_RAFT_VOTER,
    ApiKey::ALTER_CONFIGS,
    ApiKey::INCREMENTAL_ALTER_CONFIGS,
    ApiKey::ALTER_CLIENT_QUOTAS,
    ApiKey::UPDATE_FEATURES,
];

fn assert_ends(broker: &Broker, payload: &[u8], what: &str) {
    let mut connection = broker.connect();
    let _ = connection.send_frame(payload);
    connection.half_close_quietly();
    assert_ne!(connection.reply(), Reply::Silence, "{what}: {payload:?}");
}

#[test]
fn random_bytes_end_the_connection() {
    let Some(watch) = Watch::start(&[]) else { return };
    let mut random = Random::of("garbage::random_bytes_end_the_connection", 2026);
    watch.during(|broker| {
        for _ in 0..ROUNDS {
            let len = 1 + random.below(4096);
            let bytes = random.bytes(len);
            let mut connection = broker.connect();
            let _ = connection.send(&bytes);
            connection.half_close_quietly();
            assert_ne!(connection.reply(), Reply::Silence, "{bytes:?}");
            // The same as a whole frame.
            assert_ends(broker, &bytes, "a frame of random bytes");
        }
    });
}

#[test]
fn random_bodies_behind_true_headers_end_or_are_answered() {
    let Some(watch) = Watch::start(&[]) else { return };
    let mut random = Random::of("garbage::random_bodies_behind_true_headers_end_or_are_answered", 7);
    let layouts = layouts();
    watch.during(|broker| {
        for _ in 0..ROUNDS {
            let layout = &layouts[random.below(layouts.len())];
            if ORDERS.contains(&layout.key) {
                continue;
            }
            let mut frame = Writer::new(Form::Plain);
            frame.i16(layout.key.0);
            frame.i16(layout.version);
            frame.i32(9);
            frame.raw(b"\xff\xff\0");
            let len = random.below(300);
            frame.raw(&random.bytes(len));
            let mut connection = broker.connect();
            let _ = connection.send_frame(&frame.finish());
            // A random number may be how long to wait.
            connection.half_close_quietly();
            let _ = connection.reply_within(Duration::from_millis(20));
        }
    });
}

#[test]
fn honest_requests_with_changed_bytes_do_no_harm() {
    let Some(watch) = Watch::start(&[]) else { return };
    let mut random = Random::of("garbage::honest_requests_with_changed_bytes_do_no_harm", 41);
    let mut layouts = layouts();
    layouts.retain(|layout| !ORDERS.contains(&layout.key));
    watch.during(|broker| {
        let mut connection = broker.connect();
        for number in 0..MUTANTS {
            let layout = &layouts[random.below(layouts.len())];
            let mut body = layout.honest().body;
            for _ in 0..=random.below(3) {
                if !body.is_empty() {
                    let at = random.below(body.len());
                    body[at] ^= 1 << random.below(8);
                }
            }
            let sent = connection.request(layout.key, layout.version, &body);
            if sent.is_err() || number % MUTANTS_PER_CONNECTION == 0 {
                connection = broker.connect();
            }
        }
    });
}
