//! Three real nodes under idempotent producers with acks=all, librdkafka's and Apache Kafka's, and two replicas in sync
//! at least: one node at a time is killed, frozen, cut off, stopped or replaced, then all of them are killed at once.
//!
//! Nothing acknowledged is lost, nothing is there twice, order is kept, no offset has two meanings. How long writes
//! stood still is printed, not asserted.
//!
//! Every fault once by default. The long run:
//! `BALLAST_ROUNDS=20 cargo test -p ballast-tests --test cluster_processes -- --nocapture`; with `BALLAST_FAULT=SIGSTOP` only
//! faults with that word.

#[path = "../shared/numbers.rs"]
mod numbers;

mod cluster;
mod fault;
mod java;
mod load;

use ballast_tests::nodes::{NoTown, Town};
use cluster::Cluster;
use fault::{FAULTS, Fault};
use load::Load;

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
    let mut load = Load::start(&cluster.nodes.bootstrap());
    for round in 0..number("BALLAST_ROUNDS", 1) {
        for fault in &faults {
            load.goes_on(BETWEEN, "before a fault").await;
            load.take_gaps();
            let target = fault.happen(&mut cluster, &load).await;
            load.goes_on(BETWEEN, &format!("after {fault}")).await;
            println!("round {round}: {fault} (node {target}): writes stood still for {}", load.take_gaps());
            cluster.heals(&format!("after {fault}")).await;
            load.compare(&format!("after {fault}"));
        }
    }
    load.finish().await;
}
