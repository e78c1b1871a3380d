//! Bytes of one replica that change on its disk while the broker is down: what a start makes of them (docs/DISK.md: Recovery).

use std::path::PathBuf;

use ballast_log::disk::Disk as _;
use ballast_tests::disk::Outlet;
use ballast_tests::raw::rows::eventually_or_told;
use ballast_wire::batch::batches;

use crate::rig::{ALL, Rig};

const TOPIC: &str = "orders";
const SEGMENT: &str = "orders-0/00000000000000000000.log";
const VALUES: usize = 20;
/// Where a batch says of which version it is, and the first byte that its checksum covers.
const MAGIC_AT: u64 = 16;
const BODY_AT: u64 = 21;

/// Three machines with a topic of one partition that is on all of them, and what was acknowledged.
fn written() -> (Rig, Vec<Outlet>, Vec<String>) {
    let (rig, machines) = Rig::on_disks(TOPIC, &[("min.insync.replicas", "2")]);
    let values: Vec<String> = (0..VALUES).map(|number| format!("<{number}>")).collect();
    for value in &values {
        rig.produce(ALL, TOPIC, 0, &[value]);
    }
    (rig, machines, values)
}

fn segment(rig: &Rig, broker: i32) -> PathBuf {
    rig.folder.path().join(broker.to_string()).join(SEGMENT)
}

fn bytes_of(rig: &Rig, machines: &[Outlet], broker: i32) -> Vec<u8> {
    machines[broker as usize - 1].now().peek(segment(rig, broker)).expect("it has the partition")
}

/// Flips a bit of the last batch of a broker's log, so far from the beginning of the batch.
fn rot(rig: &Rig, machines: &[Outlet], broker: i32, at: u64) {
    let bytes = bytes_of(rig, machines, broker);
    let sizes: Vec<usize> = batches(&bytes).map(|batch| batch.expect("it is whole").len()).collect();
    let last: usize = sizes[..sizes.len() - 1].iter().sum();
    let position = last as u64 + at;
    let flipped = bytes[position as usize] ^ 1;
    machines[broker as usize - 1].now().rot(segment(rig, broker), position, &[flipped]).expect("it is there");
}

/// Every replica comes to have every value, in order.
fn all_have(rig: &Rig, machines: &[Outlet], values: &[String]) {
    eventually_or_told(20_000, "every replica has everything", || {
        let logs: Vec<Vec<u8>> = (1..=3).map(|broker| bytes_of(rig, machines, broker)).collect();
        let have_all = logs.iter().all(|log| *log == logs[0]) && has_in_order(&logs[0], values);
        have_all.then_some(()).ok_or_else(|| {
            let told = logs.iter().zip(1..).map(|(log, broker)| {
                let batches: Vec<_> = batches(log).collect();
                format!("\nbroker {broker}, {} bytes: {batches:?}", log.len())
            });
            told.collect()
        })
    });
}

fn has_in_order(log: &[u8], values: &[String]) -> bool {
    let text = String::from_utf8_lossy(log).into_owned();
    let mut rest = &*text;
    values.iter().all(|value| {
        let at = rest.find(value.as_str());
        rest = at.map_or(rest, |at| &rest[at + value.len()..]);
        at.is_some()
    })
}

/// The leader of the moment. It is stopped in order, after the others: they have left the ISR one after another, and the
/// second of them stays eligible.
fn stopped(rig: &Rig) -> i32 {
    let leader = rig.leader(TOPIC, 0);
    for follower in (1..=3).filter(|id| *id != leader) {
        rig.cluster.broker(follower).stop_blocking();
    }
    rig.cluster.broker(leader).stop_blocking();
    leader
}

#[test]
fn a_log_that_rots_after_a_clean_stop_does_not_lead_with_less_than_it_was_closed_with() {
    let (rig, machines, mut values) = written();
    let leader = stopped(&rig);
    rot(&rig, &machines, leader, MAGIC_AT);
    rig.cluster.restart_blocking().expect("they come back");
    values.push("<more>".to_owned());
    rig.produce(ALL, TOPIC, 0, &["<more>"]);
    all_have(&rig, &machines, &values);
}

#[test]
fn a_replica_whose_folder_is_gone_after_a_clean_stop_does_not_lead_and_is_made_anew() {
    let (rig, machines, mut values) = written();
    let leader = stopped(&rig);
    let folder = segment(&rig, leader).parent().expect("it lies in a folder").to_owned();
    machines[leader as usize - 1].now().rename(&folder, &folder.with_extension("away")).expect("it is there");
    rig.cluster.restart_blocking().expect("they come back");
    values.push("<more>".to_owned());
    rig.produce(ALL, TOPIC, 0, &["<more>"]);
    all_have(&rig, &machines, &values);
}

#[test]
fn what_rots_under_a_killed_leader_is_cut_at_its_start_and_fetched_from_the_others() {
    let (rig, machines, mut values) = written();
    let leader = rig.leader(TOPIC, 0);
    rig.cluster.broker(leader).kill();
    rot(&rig, &machines, leader, BODY_AT);
    rig.cluster.restart_blocking().expect("it comes back");
    values.push("<more>".to_owned());
    rig.produce(ALL, TOPIC, 0, &["<more>"]);
    all_have(&rig, &machines, &values);
}
