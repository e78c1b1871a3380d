//! Each fault of the double, shown once.

use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ballast_log::disk::{Disk, DiskFile, FileKind, OpenMode, read_small, replace_small};

use super::{Call, Crash, Repeat, SimDisk, Trouble};

const CRASHES: [Crash; 4] = [Crash::Process, Crash::LoseUnsynced, Crash::Tear, Crash::Fray];

fn disk() -> SimDisk {
    let disk = SimDisk::new(7);
    disk.create_dir(Path::new("/data")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

fn open(disk: &SimDisk, path: &str) -> Arc<dyn DiskFile> {
    disk.open(Path::new(path), OpenMode::Create, FileKind::ActiveLog).unwrap()
}

fn write(file: &dyn DiskFile, position: u64, bytes: &[u8]) -> std::io::Result<()> {
    file.write_at(position, &[IoSlice::new(bytes)])
}

fn durable_file(disk: &SimDisk, path: &str, bytes: &[u8]) -> Arc<dyn DiskFile> {
    let file = open(disk, path);
    write(&*file, 0, bytes).unwrap();
    file.sync().unwrap();
    disk.sync_dir(Path::new(path).parent().unwrap()).unwrap();
    file
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.list(Path::new("/data")).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn what_was_synced_survives_every_crash() {
    for crash in CRASHES {
        let disk = disk();
        let file = durable_file(&disk, "/data/f", &[1; 2000]);
        write(&*file, 1000, &[2; 3000]).unwrap();
        let after = disk.crash(crash).peek("/data/f").unwrap();
        // Byte 1000 lies in sector 1, which the second write touched.
        assert_eq!(after[..512], [1; 512], "{crash:?}");
        assert!(after.len() >= 2000, "{crash:?} shortened the file to {}", after.len());
        assert!(after[512..1000].iter().all(|&byte| byte == 1), "{crash:?}");
    }
}

#[test]
fn a_frayed_disk_has_names_and_lengths_and_lacks_a_sector_here_and_there() {
    let disk = disk();
    write(&*open(&disk, "/data/f"), 0, &[1; 512 * 160]).unwrap();
    let after = disk.crash(Crash::Fray).peek("/data/f").unwrap();
    let lost = after.chunks(512).filter(|sector| sector == &[0; 512]).count();
    assert_eq!(after.len(), 512 * 160);
    assert!((1..=40).contains(&lost), "{lost} of 160 sectors are lost");
}

#[test]
fn a_process_may_die_so_many_calls_after_a_telling_one() {
    let disk = disk();
    let (file, other) = (durable_file(&disk, "/data/f", &[1]), durable_file(&disk, "/data/g", &[1]));
    disk.kill_at(&[(Call::SetLen, "/f"), (Call::Write, "/f")], 1);
    other.set_len(0).unwrap();
    write(&*file, 0, &[2]).unwrap();
    file.set_len(9).unwrap();
    write(&*other, 0, &[2]).unwrap();
    write(&*file, 0, &[2]).unwrap();
    assert!(!disk.is_dead(), "one more call");
    file.sync().unwrap();
    assert!(disk.is_dead() && file.sync().is_err());
    let next = disk.reopen();
    open(&next, "/data/f").set_len(0).unwrap();
    assert!(!next.is_dead(), "an order is for one life");
}

#[test]
fn unsynced_bytes_are_lost_kept_or_torn_by_sector() {
    let run = |seed, crash| {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "/f", &[1; 4096]);
        write(&*file, 0, &[2; 4096]).unwrap();
        disk.crash(crash).peek("/f").unwrap()
    };
    assert_eq!(run(1, Crash::Process), [2; 4096]);
    assert_eq!(run(1, Crash::LoseUnsynced), [1; 4096]);
    let torn = run(1, Crash::Tear);
    assert!(torn.chunks(512).all(|sector| sector.iter().all(|&byte| byte == sector[0])), "sectors are whole");
    assert!(torn.contains(&1) && torn.contains(&2), "some are old and some are new");
    assert_eq!(torn, run(1, Crash::Tear), "equal seeds, equal crashes");
    assert_ne!(torn, run(2, Crash::Tear));
}

#[test]
fn a_lost_tail_may_leave_zeros_or_a_shorter_file() {
    let (mut zeros, mut shorter) = (false, false);
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "/f", &[1; 512]);
        write(&*file, 512, &[2; 2048]).unwrap();
        let after = disk.crash(Crash::Tear).peek("/f").unwrap();
        zeros |= after.contains(&0);
        shorter |= after.len() < 2560;
    }
    assert!(zeros && shorter, "zeros: {zeros}, shorter: {shorter}");
}

#[test]
fn an_unsynced_truncation_may_come_back() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", &[1; 2000]);
    file.set_len(100).unwrap();
    let disk = disk.crash(Crash::LoseUnsynced);
    assert_eq!(disk.peek("/data/f").unwrap(), [1; 2000]);
}

#[test]
fn names_without_a_folder_sync_are_lost_and_a_rename_is_whole() {
    let disk = disk();
    durable_file(&disk, "/data/old", b"old");
    let file = open(&disk, "/data/new.tmp");
    write(&*file, 0, b"new").unwrap();
    file.sync().unwrap();
    disk.rename(Path::new("/data/new.tmp"), Path::new("/data/old")).unwrap();
    assert_eq!(disk.peek("/data/old").unwrap(), b"new");
    let disk = disk.crash(Crash::LoseUnsynced);
    assert_eq!(names(&disk), ["old"]);
    assert_eq!(disk.peek("/data/old").unwrap(), b"old");
}

#[test]
fn replacing_a_small_file_leaves_the_old_or_the_new_one_whatever_fails() {
    for (crash, seed) in CRASHES.into_iter().flat_map(|crash| (0..20).map(move |seed| (crash, seed))) {
        for n in 0.. {
            let disk = SimDisk::new(seed);
            durable_file(&disk, "/f", &[1; 700]);
            disk.fail_call(n, Trouble::Io, Repeat::Once);
            let done = replace_small(&disk, Path::new("/f"), &[2; 900]);
            let reached = disk.fault_was_reached();
            let disk = disk.crash(crash);
            let after = read_small(&disk, Path::new("/f"), 1000).unwrap();
            let is_new = after == [2; 900];
            assert!(is_new || after == [1; 700], "{crash:?}, seed {seed}, call {n}");
            assert!(done.is_err() || is_new, "{crash:?}, seed {seed}, call {n}: acknowledged and lost");
            if !reached {
                break;
            }
        }
    }
}

#[test]
fn a_failed_write_leaves_a_first_part_of_its_bytes() {
    let disk = disk();
    let file = open(&disk, "/data/f");
    disk.fail(Call::Write, "f", Trouble::Io, Repeat::Once);
    assert_eq!(write(&*file, 0, &[1; 1000]).unwrap_err().raw_os_error(), Some(5));
    let torn = file.len().unwrap();
    assert!(torn < 1000, "{torn}");
    write(&*file, 0, &[2; 1000]).unwrap();
    assert_eq!(disk.peek("/data/f").unwrap(), [2; 1000]);
}

#[test]
fn a_failed_sync_lies_from_then_on() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"safe");
    write(&*file, 0, b"gone").unwrap();
    disk.fail(Call::Sync, "f", Trouble::Io, Repeat::Once);
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(disk.crash(Crash::LoseUnsynced).peek("/data/f").unwrap(), b"safe");
}

#[test]
fn what_a_failed_sync_left_in_memory_goes_with_it_unless_it_is_written_again() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"safe");
    write(&*file, 0, b"gone").unwrap();
    disk.fail(Call::Sync, "f", Trouble::Io, Repeat::Once);
    file.sync().unwrap_err();
    assert_eq!(disk.reopen().peek("/data/f").unwrap(), b"gone", "the next life reads what is in memory");
    disk.evict("/data/f").unwrap();
    assert_eq!(disk.peek("/data/f").unwrap(), b"safe");
    let disk = disk.reopen();
    let file = disk.open(Path::new("/data/f"), OpenMode::Write, FileKind::Small).unwrap();
    write(&*file, 0, b"anew").unwrap();
    disk.fail(Call::Sync, "f", Trouble::Io, Repeat::Once);
    file.sync().unwrap_err();
    write(&*file, 0, b"anew").unwrap();
    file.sync().unwrap();
    assert_eq!(disk.crash(Crash::LoseUnsynced).peek("/data/f").unwrap(), b"anew");
}

#[test]
fn a_full_disk_takes_what_fits_and_frees_what_is_removed() {
    let disk = disk();
    disk.set_capacity(Some(1000));
    let file = open(&disk, "/data/f");
    file.reserve(600).unwrap();
    assert_eq!((file.len().unwrap(), disk.used_bytes()), (0, 600), "room, not length");
    let error = write(&*file, 0, &[1; 1200]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 1000);
    assert_eq!(file.reserve(1001).unwrap_err().kind(), ErrorKind::StorageFull);
    file.set_len(100).unwrap();
    assert_eq!(disk.space(Path::new("/")).unwrap().available_bytes, 900);
    drop(file);
    disk.remove_file(Path::new("/data/f")).unwrap();
    assert_eq!(disk.used_bytes(), 0);
}

#[test]
fn the_nth_call_fails_once_or_for_good() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"x");
    disk.fail_call(1, Trouble::Io, Repeat::Once);
    file.len().unwrap();
    assert!(!disk.fault_was_reached());
    file.len().unwrap_err();
    file.len().unwrap();
    assert!(disk.fault_was_reached());
    disk.fail_call(0, Trouble::Full, Repeat::Always);
    file.len().unwrap_err();
    disk.list(Path::new("/data")).unwrap_err();
    disk.heal();
    let before = disk.calls();
    file.len().unwrap();
    assert_eq!(disk.calls(), before + 1);
    assert_eq!(disk.calls_of(Call::Sync), 1);
}

#[test]
fn a_killed_generation_writes_no_more_and_its_locks_are_free() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"x");
    let lock = disk.lock(Path::new("/data/.lock")).unwrap();
    assert_eq!(disk.lock(Path::new("/data/.lock")).err().unwrap().kind(), ErrorKind::WouldBlock);
    let next = disk.reopen();
    write(&*file, 0, b"y").unwrap_err();
    disk.open(Path::new("/data/f"), OpenMode::Read, FileKind::Small).unwrap_err();
    let again = next.lock(Path::new("/data/.lock")).unwrap();
    drop(lock);
    assert!(next.lock(Path::new("/data/.lock")).is_err(), "the dead owner's lock is not the living one's");
    drop(again);
    assert_eq!(next.peek("/data/f").unwrap(), b"x");
}

#[test]
fn views_stay_and_are_counted() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"0123456789");
    let view = file.view(2..5).unwrap();
    assert!(file.is_viewed());
    disk.remove_file(Path::new("/data/f")).unwrap();
    assert_eq!(view.bytes().unwrap(), "234");
    drop(view);
    assert!(!file.is_viewed());
    assert_eq!(file.view(8..11).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
#[should_panic(expected = "cut from 10 to 4 bytes under 1 views")]
fn shortening_a_viewed_file_is_a_bug() {
    let disk = disk();
    let file = durable_file(&disk, "/data/f", b"0123456789");
    let _view = file.view(0..10).unwrap();
    drop(file.set_len(4));
}

#[test]
fn jobs_run_at_once_unless_they_are_held() {
    let disk = disk();
    let ran = Arc::new(AtomicU32::new(0));
    let job = || {
        let ran = Arc::clone(&ran);
        Box::new(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        })
    };
    disk.spawn(job());
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    disk.hold_jobs();
    disk.spawn(job());
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert_eq!(disk.run_jobs(), 1);
    assert_eq!(ran.load(Ordering::Relaxed), 2);
}
