//! A log gives way to its copy while every disk call fails once, or from then on, and then the process or the machine ends.
//! Whatever folder the next start believes, by the rules of its names, has everything that was synced.

use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::Disk;
use ballast_log::{Budget, Drained, Log, OpenFrom, Origin, validate};
use ballast_tests::disk::{Crash, Repeat, SimDisk, Trouble};
use ballast_wire::Offset;
use ballast_wire::batch::{BatchBuilder, Compression, batches};

use super::rig::{NOW_MS, small};

const PLAIN: [&str; 2] = ["/a/t-0", "/b/t-0"];
const RETIRED: &str = "/a/t-0.x-delete";
const FUTURE: &str = "/b/t-0.x-future";

/// Appends one record that says its offset. `None` if the log does not take it.
fn append(log: &Log) -> Option<Offset> {
    let end = log.end();
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(NOW_MS, None, Some(format!("record {end}").as_bytes()), &[]);
    let origin = Origin::Client { produce_version: 9, transactions_v2: false };
    let batch = validate(&builder.finish(), &log.config(), origin, NOW_MS).expect("a good batch");
    let appended = log.append(batch, 0, NOW_MS).ok()?;
    match log.drain(Budget::Through(appended.last_offset)) {
        Drained::Done { failed: None, .. } => Some(appended.last_offset),
        _ => None,
    }
}

/// Reads everything; every record says its offset.
fn read(log: &Log) -> Offset {
    let mut next = log.start();
    while next < log.end() {
        let found = log.read(next, log.end(), 1 << 20, true).expect("it can be read").records.expect("it is there");
        for batch in batches(&found.bytes().expect("it can be read")) {
            let batch = batch.expect("a whole batch");
            batch.verify_checksum().expect("as it was written");
            assert_eq!(batch.base_offset(), next);
            next = batch.last_offset() + 1;
        }
    }
    next
}

fn is_there(disk: &Arc<dyn Disk>, path: &str) -> bool {
    let path = Path::new(path);
    let (parent, name) = (path.parent().expect("not the root"), path.file_name().expect("a name"));
    disk.list(parent).expect("it can be listed").iter().any(|entry| name == entry.name.as_str())
}

/// One life: a log of 14 records, 10 of them synced, moves while call `n` fails. Then it goes on, if it can. Was the call
/// reached?
fn run(n: u64, repeat: Repeat, crash: Crash) -> bool {
    let sim = SimDisk::new(n);
    let disk = sim.shared();
    for dir in ["/a", "/b"] {
        disk.create_dir(Path::new(dir)).expect("nothing fails yet");
        disk.sync_dir(Path::new("/")).expect("nothing fails yet");
    }
    let config = Arc::new(small());
    let create = |path: &str| Log::create(Arc::clone(&disk), path.into(), Arc::clone(&config), 0, NOW_MS);
    let (log, copy) = (create(PLAIN[0]).expect("nothing fails yet"), create(FUTURE).expect("nothing fails yet"));
    for _ in 0..10 {
        append(&log).expect("nothing fails yet");
    }
    let mut synced = log.sync(NOW_MS).expect("nothing fails yet");
    while copy.copy_from(&log, 1, NOW_MS).expect("nothing fails yet") > 0 {}
    for _ in 0..4 {
        append(&log).expect("nothing fails yet");
    }
    sim.fail_call(n, Trouble::Io, repeat);
    let moved = log.give_way_to(&copy, Path::new(RETIRED), NOW_MS);
    if moved.is_ok() {
        assert_eq!((log.dir().as_path(), log.recovery_point()), (Path::new(PLAIN[1]), 14));
    }
    assert_eq!((log.start(), log.end()), (0, 14));
    synced = synced.max(log.recovery_point());
    for _ in 0..3 {
        append(&log);
        synced = log.sync(NOW_MS).map_or(synced, |point| point.max(synced));
    }
    let published = log.end();
    let reached = sim.fault_was_reached();
    let context = format!("call {n}, {repeat:?}, {crash:?}, {moved:?}, synced {synced}, published {published}");
    drop((log, copy));

    let sim = sim.crash(crash);
    let disk = sim.shared();
    let plain: Vec<_> = PLAIN.iter().filter(|path| is_there(&disk, path)).collect();
    let believed = match plain[..] {
        [one] => *one,
        [] => {
            assert!(is_there(&disk, RETIRED) && is_there(&disk, FUTURE), "{context}: nothing says what happened");
            FUTURE
        }
        _ => panic!("{context}: two logs"),
    };
    let from = OpenFrom { clean: false, recovery_point: 0, log_start: 0 };
    let (log, _) = Log::open(disk, believed.into(), config, from, NOW_MS, &mut |_| {})
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    let end = read(&log);
    let must = if crash == Crash::Process { published } else { synced };
    assert!(end >= must, "{context}: {believed} ends at {end}");
    reached
}

#[test]
fn whatever_call_fails_while_a_log_moves_the_next_start_finds_what_was_promised() {
    for repeat in [Repeat::Once, Repeat::Always] {
        for crash in [Crash::Process, Crash::LoseUnsynced, Crash::Tear] {
            let mut n = 0;
            while run(n, repeat, crash) {
                n += 1;
            }
            assert!(n > 10, "a move takes more than {n} calls");
        }
    }
}
