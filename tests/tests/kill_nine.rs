//! kill -9 under an idempotent librdkafka producer: nothing acknowledged is missing, nothing is there twice, and no offset
//! has two meanings.
//!
//! Each round reads what is new and what lies just before the kill; the end reads everything once more.
//!
//! A few rounds by default. The long run: `BALLAST_ROUNDS=200 cargo test -p ballast-tests --test kill_nine -- --nocapture`.

#[path = "shared/numbers.rs"]
mod numbers;

use std::time::Duration;

use ballast_tests::process::Serve;
use numbers::{PARTITIONS, Seen, TOPIC, Writer};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::ClientConfig;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

async fn create(broker: &Serve) {
    let admin: AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", &broker.bootstrap).create().expect("the settings are good");
    let topic = [NewTopic::new(TOPIC, PARTITIONS, TopicReplication::Fixed(1))];
    let created = admin.create_topics(&topic, &AdminOptions::new()).await.expect("the broker answers");
    assert_eq!(created, [Ok(TOPIC.to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_by_kill_nine() {
    let rounds = number("BALLAST_ROUNDS", 5);
    let mut random = number("BALLAST_SEED", 1);
    println!("replay: BALLAST_ROUNDS={rounds} BALLAST_SEED={random} cargo test -p ballast-tests --test kill_nine");
    let mut broker = Serve::start(&["log.segment.bytes=1048576"]);
    create(&broker).await;
    let writer = Writer::start(&broker.bootstrap);
    let (mut seen, mut longest_ms) = (Seen::of(TOPIC), 0);
    for round in 0..rounds {
        // An LCG: where in the traffic the kill falls.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(100 + (random >> 33) % 300)).await;
        broker.kill();
        broker.restart();
        seen.read_on(&broker.bootstrap, &format!("round {round}"));
        writer.goes_on(1, &format!("round {round}")).await;
        longest_ms = longest_ms.max(writer.take_gap_ms());
    }
    println!("writes stood still for at most {longest_ms} ms");
    let acknowledged = writer.finish().await;
    seen.check(&broker.bootstrap, &acknowledged);
}
