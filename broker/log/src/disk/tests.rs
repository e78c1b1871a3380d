//! What every disk promises, run over all that touch real files, and what only the Linux one does.

use std::io::{ErrorKind, IoSlice};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::mpsc;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::*;

fn disks() -> Vec<(&'static str, Arc<dyn Disk>)> {
    let plain = DiskOptions { reserve: false, ..DiskOptions::default() };
    vec![
        ("real", RealDisk::new(DiskOptions::default())),
        ("without reservations", RealDisk::new(plain)),
        ("ephemeral", RealDisk::ephemeral()),
        ("portable", PortableDisk::new(true)),
        ("portable, ephemeral", PortableDisk::new(false)),
    ]
}

/// Runs a claim over every disk and kind of file.
fn everywhere(claim: impl Fn(&dyn Disk, FileKind, &Path)) {
    for (name, disk) in disks() {
        for kind in [FileKind::ActiveLog, FileKind::SealedLog, FileKind::Index, FileKind::Small] {
            println!("{name}, {kind:?}");
            let dir = TempDir::new().unwrap();
            claim(&*disk, kind, dir.path());
        }
    }
}

fn write(file: &dyn DiskFile, position: u64, bytes: &[u8]) {
    file.write_at(position, &[IoSlice::new(bytes)]).unwrap();
}

fn file_with(disk: &dyn Disk, path: &Path, kind: FileKind, bytes: &[u8]) -> Arc<dyn DiskFile> {
    let file = disk.open(path, OpenMode::CreateNew, kind).unwrap();
    write(&*file, 0, bytes);
    file
}

#[test]
fn what_was_written_is_read_and_viewed() {
    everywhere(|disk, kind, dir| {
        let file = disk.open(&dir.join("f"), OpenMode::CreateNew, kind).unwrap();
        file.write_at(0, &[IoSlice::new(b"head "), IoSlice::new(b""), IoSlice::new(b"body")]).unwrap();
        write(&*file, 9, b" tail");
        assert_eq!(file.len().unwrap(), 14);
        let mut buffer = [0; 4];
        file.read_at(5, &mut buffer).unwrap();
        assert_eq!(&buffer, b"body");
        for _ in 0..3 {
            assert_eq!(file.view(5..14).unwrap().bytes().unwrap(), "body tail");
            assert_eq!(file.view(5..14).unwrap().len(), 9);
        }
        assert!(file.view(3..3).unwrap().is_empty());
        file.sync().unwrap();
        let again = disk.open(&dir.join("f"), OpenMode::Read, kind).unwrap();
        assert_eq!(again.view(0..14).unwrap().bytes().unwrap(), "head body tail");
        assert!(again.is_resident(0..14));
        again.warm(0..14).unwrap();
    });
}

#[test]
fn more_parts_than_one_system_call_takes_are_written() {
    everywhere(|disk, kind, dir| {
        let file = disk.open(&dir.join("f"), OpenMode::Create, kind).unwrap();
        let bytes: Vec<u8> = (0..5000_u32).flat_map(u32::to_be_bytes).collect();
        let parts: Vec<IoSlice<'_>> = bytes.chunks(4).map(IoSlice::new).collect();
        file.write_at(3, &parts).unwrap();
        assert_eq!(file.view(3..20_003).unwrap().bytes().unwrap(), bytes);
        assert_eq!(file.view(0..3).unwrap().bytes().unwrap(), [0; 3][..], "a gap reads as zeros");
    });
}

#[test]
fn nothing_is_seen_beyond_the_end_of_the_data() {
    everywhere(|disk, kind, dir| {
        let file = file_with(disk, &dir.join("f"), kind, b"0123456789");
        file.reserve(1 << 20).unwrap();
        assert_eq!(file.len().unwrap(), 10, "a reservation is no length");
        assert_eq!(file.read_at(6, &mut [0; 5]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        #[expect(clippy::reversed_empty_ranges, reason = "a range that ends before it begins is refused")]
        let wrong = [0..11, 10..11, 1 << 40..1 << 41, 5..4];
        for range in wrong {
            assert_eq!(file.view(range).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        }
    });
}

#[test]
fn a_view_outlives_the_name_and_the_file_object() {
    everywhere(|disk, kind, dir| {
        for len in [100, 200_000] {
            let bytes = vec![7; len];
            let file = file_with(disk, &dir.join("f"), kind, &bytes);
            let views: Vec<Chunk> = (0..3).map(|_| file.view(0..len as u64).unwrap()).collect();
            disk.remove_file(&dir.join("f")).unwrap();
            drop(file);
            for view in views {
                assert_eq!(view.bytes().unwrap(), bytes);
            }
        }
    });
}

#[test]
fn a_view_counts_until_its_last_byte_is_dropped() {
    everywhere(|disk, kind, dir| {
        let file = file_with(disk, &dir.join("f"), kind, &[1; 300_000]);
        for range in [0..10, 0..10, 5..300_000, 5..300_000] {
            assert!(!file.is_viewed());
            let view = file.view(range).unwrap();
            assert!(file.is_viewed());
            let bytes = view.bytes().unwrap().slice(1..2);
            let copied = matches!(view, Chunk::File { mapped: None, .. });
            drop(view);
            assert!(copied || file.is_viewed(), "bytes of a map are a view");
            drop(bytes);
        }
        assert!(!file.is_viewed());
        file.set_len(5).unwrap();
        assert_eq!(file.view(0..5).unwrap().bytes().unwrap(), [1; 5][..]);
    });
}

#[test]
fn a_view_made_before_the_file_grew_still_counts() {
    everywhere(|disk, kind, dir| {
        let file = file_with(disk, &dir.join("f"), kind, &[1; 100_000]);
        let early = file.view(0..100_000).unwrap().bytes().unwrap();
        for n in 1..20_u64 {
            write(&*file, n * 100_000, &[2; 100_000]);
            assert_eq!(file.view(n * 100_000..(n + 1) * 100_000).unwrap().bytes().unwrap(), [2; 100_000][..]);
        }
        assert_eq!(early, [1; 100_000][..]);
        drop(early);
        assert!(!file.is_viewed());
    });
}

#[test]
fn a_file_can_be_cut_and_grown_again() {
    everywhere(|disk, kind, dir| {
        let file = file_with(disk, &dir.join("f"), kind, &[1; 10_000]);
        drop(file.view(0..10_000));
        drop(file.view(0..10_000));
        file.set_len(4).unwrap();
        assert_eq!(file.view(0..5).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        write(&*file, 4, &[2; 4]);
        assert_eq!(file.view(0..8).unwrap().bytes().unwrap(), [1, 1, 1, 1, 2, 2, 2, 2][..]);
        file.set_len(10).unwrap();
        assert_eq!(file.view(6..10).unwrap().bytes().unwrap(), [2, 2, 0, 0][..]);
    });
}

#[test]
fn open_modes_say_what_must_be_there() {
    everywhere(|disk, kind, dir| {
        let path = dir.join("f");
        for mode in [OpenMode::Read, OpenMode::Write] {
            assert_eq!(disk.open(&path, mode, kind).unwrap_err().kind(), ErrorKind::NotFound);
        }
        drop(file_with(disk, &path, kind, b"abc"));
        assert_eq!(disk.open(&path, OpenMode::CreateNew, kind).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(disk.open(&path, OpenMode::Create, kind).unwrap().len().unwrap(), 3, "nothing is cut on opening");
        let read = disk.open(&path, OpenMode::Read, kind).unwrap();
        read.write_at(0, &[IoSlice::new(b"x")]).unwrap_err();
        assert_eq!(read.path(), path);
    });
}

#[test]
fn names_are_listed_renamed_and_removed() {
    everywhere(|disk, kind, dir| {
        disk.create_dir(&dir.join("a/b")).unwrap();
        disk.create_dir(&dir.join("a/b")).unwrap();
        drop(file_with(disk, &dir.join("a/two"), kind, b"22"));
        drop(file_with(disk, &dir.join("a/one"), kind, b"1"));
        let list = || disk.list(&dir.join("a")).unwrap();
        let seen: Vec<(String, bool, u64)> = list().into_iter().map(|e| (e.name, e.is_dir, e.len)).collect();
        assert_eq!(seen, [("b".into(), true, 0), ("one".into(), false, 1), ("two".into(), false, 2)]);
        assert!(list()[1].modified_ms > 1_600_000_000_000, "milliseconds since 1970");
        disk.rename(&dir.join("a/two"), &dir.join("a/one")).unwrap();
        disk.sync_dir(&dir.join("a")).unwrap();
        assert_eq!(read_small(disk, &dir.join("a/one"), 10).unwrap(), b"22");
        disk.remove_dir(&dir.join("a")).unwrap();
        assert_eq!(disk.list(&dir.join("a")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.remove_file(&dir.join("a")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_small_file_is_replaced_whole_and_read_with_a_limit() {
    everywhere(|disk, _kind, dir| {
        let path = dir.join("small");
        replace_small(disk, &path, b"longer than the next").unwrap();
        replace_small(disk, &path, b"second").unwrap();
        assert_eq!(read_small(disk, &path, 6).unwrap(), b"second");
        assert_eq!(read_small(disk, &path, 5).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(disk.list(dir).unwrap().len(), 1, "no temporary file is left");
    });
}

#[test]
fn a_lock_is_held_by_one_and_freed_by_dropping_it() {
    everywhere(|disk, _kind, dir| {
        let lock = disk.lock(&dir.join(".lock")).unwrap();
        assert_eq!(disk.lock(&dir.join(".lock")).err().unwrap().kind(), ErrorKind::WouldBlock);
        drop(lock);
        disk.lock(&dir.join(".lock")).unwrap();
    });
}

#[test]
fn space_is_told_in_bytes() {
    everywhere(|disk, _kind, dir| {
        let space = disk.space(dir).unwrap();
        assert!(space.available_bytes > 0 && space.available_bytes <= space.total_bytes, "{space:?}");
        assert!(space.total_bytes > 1 << 20, "{space:?}");
    });
}

#[test]
fn jobs_run_on_a_thread_of_the_disk() {
    for (name, disk) in disks() {
        let (tell, told) = mpsc::channel();
        disk.spawn(Box::new(move || tell.send(std::thread::current().id()).unwrap()));
        assert_ne!(told.recv().unwrap(), std::thread::current().id(), "{name}");
    }
}

#[test]
fn a_read_waits_for_no_sync() {
    for (name, disk) in disks() {
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        // More syncs than threads, and none of them ends.
        for _ in 0..10 {
            let blocked = Arc::clone(&blocked);
            disk.spawn(Box::new(move || assert!(blocked.lock().recv().is_err())));
        }
        let (tell, told) = mpsc::channel();
        disk.spawn_read(Box::new(move || tell.send(()).unwrap()));
        told.recv().unwrap_or_else(|_| panic!("{name}: the read was not done"));
        drop(release);
    }
}

#[test]
fn a_reservation_takes_room_without_length_and_is_given_back() {
    let dir = TempDir::new().unwrap();
    let disk = RealDisk::new(DiskOptions::default());
    let path = dir.path().join("f");
    let file = file_with(&*disk, &path, FileKind::ActiveLog, b"abc");
    let blocks_bytes = || std::fs::metadata(&path).unwrap().blocks() * 512;
    file.reserve(4 << 20).unwrap();
    assert!(blocks_bytes() >= 4 << 20, "{} bytes are reserved", blocks_bytes());
    write(&*file, 3, &[1; 1000]);
    assert_eq!(file.len().unwrap(), 1003);
    file.set_len(1003).unwrap();
    assert!(blocks_bytes() < 1 << 20, "{} bytes are still reserved", blocks_bytes());
}

#[test]
fn an_active_segment_is_viewed_through_a_map_and_its_file() {
    let dir = TempDir::new().unwrap();
    let disk = RealDisk::ephemeral();
    let file = file_with(&*disk, &dir.path().join("f"), FileKind::ActiveLog, &[1; 1000]);
    let first = file.view(0..1000).unwrap();
    assert!(matches!(first, Chunk::File { mapped: None, .. }), "one small look is not worth a map");
    let second = file.view(0..1000).unwrap();
    assert!(matches!(second, Chunk::File { mapped: Some(_), .. }));
    write(&*file, 1000, &[2; 1000]);
    assert_eq!(file.view(999..1001).unwrap().bytes().unwrap(), [1, 2][..], "the map sees what was appended");
}

#[test]
fn a_failing_device_fails_the_sync_and_every_later_one() {
    // /dev/full takes no byte; a sync of it is not supported, which is an error like any other.
    let disk = RealDisk::new(DiskOptions { reserve: false, ..DiskOptions::default() });
    let file = disk.open(Path::new("/dev/full"), OpenMode::Write, FileKind::ActiveLog).unwrap();
    let error = file.write_at(0, &[IoSlice::new(b"x")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    file.sync().unwrap_err();
    let again = file.sync().unwrap_err();
    assert!(again.to_string().contains("an earlier sync of /dev/full failed"), "{again}");
}
