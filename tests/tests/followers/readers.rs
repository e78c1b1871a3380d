//! Who reads from a follower sees what was acknowledged, soon: the follower hears of the watermark as it moves.

use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Fetch, fetch_row};
use ballast_wire::fetch::FetchResponse;
use ballast_wire::frame::{ApiKey, parse_response_header};

use crate::rig::{ALL, Rig};

/// The first version in which a consumer may ask a follower (KIP-392), and the last that names topics.
const FETCH: i16 = 12;
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
            let mut reader = Connection::open(rig.cluster.broker(follower).bootstrap());
            eventually("the follower serves the record", || {
                reader.start(FETCH, &Fetch::of("orders", vec![fetch_row(0, end - 1)]).0);
                let frame = reader.frame();
                let (_, body) = parse_response_header(&frame, ApiKey::FETCH, FETCH).expect("a header");
                let body = frame.slice(body.position()..);
                let response = FetchResponse::decode(FETCH, &body).expect("a Fetch answer");
                let row = &response.topics[0].partitions[0];
                (row.error_code == 0 && row.high_watermark == end && !row.records.is_empty()).then_some(())
            });
        }
    }
}
