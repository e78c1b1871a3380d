//! Three real nodes under an idempotent librdkafka producer with acks=all and two replicas in sync at least: one node at a time
//! is killed, frozen, cut off, stopped or replaced, then all of them are killed at once.
//!
//! Nothing acknowledged is lost, nothing is there twice, order is kept, no offset has two meanings. How long writes stood still
//! is printed, not asserted.
//!
//! Every fault once by default. The long run:
//! `BALLAST_ROUNDS=20 cargo test -p ballast-tests --test cluster_processes -- --nocapture`; with `BALLAST_FAULT=SIGSTOP` only
//! faults with that word.

#[path = "../shared/numbers.rs"]
mod numbers;

mod cluster;
mod fault;

use ballast_tests::nodes::{NoTown, Town};
use cluster::Cluster;
use fault::{FAULTS, Fault};
use numbers::{Seen, Writer};

/// What is read before and after each fault, in values.
const BETWEEN: u64 = 2_000;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn town() -> Option<Town> {
    match Town::new(3) {
        Ok(town) => Some(town),
        Err(NoTown::Program) => {
            ballast_tests::foreign::skip("nodes that are cut off", "ip (iproute2)");
            None
        }
        Err(NoTown::Forbidden(why)) => {
            // Nothing that could be installed.
            eprintln!("SKIPPED nodes that are cut off: {why}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_while_nodes_fail_one_at_a_time_and_then_all() {
    let mut cluster = Cluster::start(town()).await;
    let can_cut = cluster.nodes.town().is_some();
    let only = std::env::var("BALLAST_FAULT").unwrap_or_default();
    let wanted = |fault: &Fault| (can_cut || !fault.needs_a_network()) && fault.to_string().contains(&only);
    let faults: Vec<Fault> = FAULTS.into_iter().filter(wanted).collect();
    let writer = Writer::start(&cluster.nodes.bootstrap());
    let mut seen = Seen::default();
    for round in 0..number("BALLAST_ROUNDS", 1) {
        for fault in &faults {
            writer.goes_on(BETWEEN, "before a fault").await;
            writer.take_gap_ms();
            let target = fault.happen(&mut cluster, &writer).await;
            writer.goes_on(BETWEEN, &format!("after {fault}")).await;
            println!("round {round}: {fault} (node {target}): writes stood still for {} ms", writer.take_gap_ms());
            cluster.heals(&format!("after {fault}")).await;
            seen.read_on(&cluster.nodes.bootstrap(), &format!("after {fault}"));
        }
    }
    let acknowledged = writer.finish().await;
    seen.check(&cluster.nodes.bootstrap(), &acknowledged);
}
