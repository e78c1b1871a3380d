//! What is left of embedded brokers when they have been dropped: nothing.
//!
//! Alone in its process, because it counts what the process has. 200 brokers are started and dropped, four at a time, every
//! second one while a producer is at work, every fourth killed and restarted before.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::thread;

use ballast_broker::embed::{Api, Broker, ErrorCode, Fault};
use ballast_log::disk::{DiskLimits, held};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch};

const BROKERS: usize = 200;
const AT_A_TIME: usize = 4;
const TOPIC: &str = "t";

/// What this process has.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    threads: usize,
    descriptors: usize,
    /// Maps of files, by path. Those of memory belong to the allocator, which keeps some.
    maps_of_files: Vec<String>,
    /// Ports that are bound or listened on, as the kernel's socket descriptors.
    sockets: usize,
    /// Places that the disks of the process count as held.
    counted: DiskLimits,
    folders: usize,
}

fn holdings(temporary: &Path) -> Holdings {
    let entries = |path: &str| {
        fs::read_dir(path).expect("proc is there").map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let descriptors = entries("/proc/self/fd");
    let target = |path: &std::path::PathBuf| fs::read_link(path).map(|target| target.display().to_string());
    let is_socket = |path: &&std::path::PathBuf| target(path).is_ok_and(|target| target.starts_with("socket:"));
    let maps = fs::read_to_string("/proc/self/maps").expect("proc is there");
    let mut maps: Vec<String> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.starts_with('/'))
        .map(str::to_owned)
        .collect();
    maps.sort();
    Holdings {
        threads: entries("/proc/self/task").len(),
        sockets: descriptors.iter().filter(is_socket).count(),
        descriptors: descriptors.len(),
        maps_of_files: maps,
        counted: held(),
        folders: fs::read_dir(temporary).expect("the folder is there").count(),
    }
}

/// One broker's life, as a test would have it.
fn live(temporary: &Path, number: usize) {
    let builder = Broker::builder().temp_dir(temporary).topic(TOPIC, 2).http(([127, 0, 0, 1], 0).into());
    let broker = builder.start_blocking().unwrap_or_else(|error| panic!("broker {number}: {error}"));
    let mut connection = Connection::open(broker.bootstrap());
    connection.append(TOPIC, 0, batch(&["a", "b"]));
    broker.fault(Fault::fail_next(Api::FETCH, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1)).expect("Fetch is served");
    if number.is_multiple_of(4) {
        broker.kill();
        broker.restart_blocking().unwrap_or_else(|error| panic!("broker {number} again: {error}"));
        connection = Connection::open(broker.bootstrap());
    }
    if number.is_multiple_of(2) {
        // It goes away with requests in flight.
        for _ in 0..8 {
            let request = ballast_tests::raw::messages::produce(-1, TOPIC, 1, Some(batch(&["c"])));
            connection.start(9, &request);
        }
    } else {
        assert_eq!(connection.bounds(TOPIC, 0), (0, 2));
        broker.stop_blocking();
    }
}

#[test]
fn two_hundred_brokers_four_at_a_time_leave_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    // What a first broker makes once for the process is there before counting.
    live(temporary.path(), 0);
    let before = holdings(temporary.path());
    thread::scope(|scope| {
        for lane in 0..AT_A_TIME {
            let temporary = temporary.path();
            scope.spawn(move || {
                for number in (lane..BROKERS).step_by(AT_A_TIME) {
                    live(temporary, number);
                }
            });
        }
    });
    // The kernel takes a moment to forget a thread that has been joined.
    eventually("the threads of the test are gone", || {
        (holdings(temporary.path()).threads == before.threads).then_some(())
    });
    assert_eq!(holdings(temporary.path()), before);
}
