//! What survives when power fails, on one machine or on all of them (docs/decisions/0004: durability has named levels).
//!
//! ```text
//! D1  acks=all                     a machine loses what it had not synced; the others have it
//! D2  … with flush.messages=1      every machine of the ISR has synced what is acknowledged: all of them may fail at once
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ballast_tests::disk::{Crash, Outlet};
use ballast_tests::raw::rows::eventually;

use crate::rig::{ALL, Rig};

const TOPIC: &str = "orders";
const PARTITION: &str = "orders-0";
const ROUNDS: usize = 3;
/// Acknowledged before each failure.
const WRITES: usize = 30;

/// A replica's bytes, as text.
fn log_of(rig: &Rig, machines: &[Outlet], broker: i32) -> String {
    let folder = rig.folder.path().join(broker.to_string()).join(PARTITION);
    let bytes = machines[broker as usize - 1].contents(Path::new(&folder), ".log").unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything in `acknowledged` is on the leader, in its order, and the followers come to have the same.
fn nothing_is_lost(rig: &Rig, machines: &[Outlet], acknowledged: &[String]) {
    let leader = rig.leader(TOPIC, 0);
    let text = log_of(rig, machines, leader);
    let mut rest = &*text;
    for value in acknowledged {
        let at = rest.find(value.as_str()).unwrap_or_else(|| panic!("{value} is gone from broker {leader}"));
        rest = &rest[at + value.len()..];
    }
    eventually("the replicas are alike", || {
        let logs: Vec<String> = (1..=3).map(|broker| log_of(rig, machines, broker)).collect();
        logs.iter().all(|log| *log == logs[0]).then_some(())
    });
}

fn write(rig: &Rig, acknowledged: &mut Vec<String>) {
    for _ in 0..WRITES {
        let value = format!("<{}>", acknowledged.len());
        rig.produce(ALL, TOPIC, 0, &[&value]);
        acknowledged.push(value);
    }
}

#[test]
fn with_flush_messages_1_no_acknowledged_record_is_lost_when_power_fails_everywhere() {
    let (rig, machines) = Rig::on_disks(TOPIC, &[("flush.messages", "1"), ("min.insync.replicas", "2")]);
    let mut acknowledged = Vec::new();
    for crash in [Crash::LoseUnsynced, Crash::Tear].into_iter().cycle().take(ROUNDS) {
        write(&rig, &mut acknowledged);
        rig.cluster.kill();
        machines.iter().for_each(|machine| machine.fails(crash));
        rig.cluster.restart_blocking().expect("they come back");
        nothing_is_lost(&rig, &machines, &acknowledged);
    }
}

#[test]
fn one_machine_at_a_time_may_lose_its_power_whatever_is_synced() {
    let (rig, machines) = Rig::on_disks(TOPIC, &[("min.insync.replicas", "2")]);
    let mut acknowledged = Vec::new();
    for _ in 0..ROUNDS {
        write(&rig, &mut acknowledged);
        let leader = rig.leader(TOPIC, 0);
        rig.cluster.broker(leader).kill();
        machines[leader as usize - 1].fails(Crash::LoseUnsynced);
        write(&rig, &mut acknowledged);
        rig.cluster.restart_blocking().expect("it comes back");
        whole(&rig);
        nothing_is_lost(&rig, &machines, &acknowledged);
    }
}

/// Waits until every replica is in sync: the next failure shall be the only one.
fn whole(rig: &Rig) {
    eventually("every replica is in sync", || {
        let told = rig.told(rig.cluster.broker(1), TOPIC);
        (told.first()?.isr_nodes.len() == 3).then_some(())
    });
}

#[test]
fn a_leader_that_loses_its_power_in_the_middle_of_produces_takes_nothing_acknowledged_along() {
    let (rig, machines) = Rig::on_disks(TOPIC, &[("flush.messages", "1"), ("min.insync.replicas", "2")]);
    let mut acknowledged = Vec::new();
    for _ in 0..ROUNDS {
        let (done, first) = (AtomicBool::new(false), acknowledged.len());
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let value = format!("<{}>", first + written.len());
                    rig.produce(ALL, TOPIC, 0, &[&value]);
                    written.push(value);
                }
                written
            });
            let leader = rig.leader(TOPIC, 0);
            rig.cluster.broker(leader).kill();
            machines[leader as usize - 1].fails(Crash::Tear);
            rig.cluster.restart_blocking().expect("it comes back");
            whole(&rig);
            done.store(true, Ordering::Relaxed);
            writer.join().expect("it writes")
        });
        acknowledged.extend(written);
        nothing_is_lost(&rig, &machines, &acknowledged);
    }
}
