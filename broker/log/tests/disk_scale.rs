//! Many partitions on one disk: descriptors, maps and memory stay within what a process may have. A process of its own,
//! because all three are counted per process.
//!
//! `BALLAST_SCALE=10000 cargo test -p ballast-log --test disk_scale -- --nocapture` shows the figures for 10,000 partitions.

#![cfg(target_os = "linux")]

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::{Disk, DiskFile, DiskLimits, DiskOptions, FileKind, OpenMode, RealDisk, held, set_limits};
use tempfile::TempDir;

const LIMITS: DiskLimits = DiskLimits { max_open_files: 64, max_maps: 256 };
/// Files of a partition: an active segment, two sealed ones, and the two indexes of each.
const FILES: usize = 9;
/// Anonymous memory that the disk may take for a partition, in bytes: about 320 for a file with its path, and the lists.
const BYTES_PER_PARTITION_MAX: usize = 4 << 10;

type Files = Vec<Arc<dyn DiskFile>>;

fn partitions() -> usize {
    std::env::var("BALLAST_SCALE").ok().and_then(|number| number.parse().ok()).unwrap_or(500)
}

fn make(disk: &dyn Disk, dir: &Path) -> Files {
    disk.create_dir(dir).expect("a folder can be made");
    let mut files = Files::new();
    for base in [0, 100, 200] {
        for (suffix, kind) in [("log", FileKind::ActiveLog), ("index", FileKind::Index), ("timeindex", FileKind::Index)]
        {
            let file =
                disk.open(&dir.join(format!("{base:020}.{suffix}")), OpenMode::CreateNew, kind).expect("a new file");
            file.write_at(0, &[IoSlice::new(&[7; 1000])]).expect("it can be written");
            if base < 200 && kind == FileKind::ActiveLog {
                file.set_kind(FileKind::SealedLog);
            }
            files.push(file);
        }
    }
    files
}

fn reopen(disk: &dyn Disk, dir: &Path) -> Files {
    let kind = |name: &str| match name.ends_with(".log") {
        true if name.starts_with("00000000000000000200") => FileKind::ActiveLog,
        true => FileKind::SealedLog,
        false => FileKind::Index,
    };
    let names = disk.list(dir).expect("it can be listed").into_iter().map(|entry| entry.name);
    names.map(|name| disk.open(&dir.join(&name), OpenMode::Write, kind(&name)).expect("it is there")).collect()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

fn maps_of(dir: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    maps.lines().filter(|line| line.contains(dir.to_str().expect("a plain name"))).count()
}

fn status_bytes(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(key)).expect("a line for it");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).expect("a number") << 10
}

#[test]
fn many_partitions_fit_into_a_process() {
    set_limits(LIMITS);
    let count = partitions();
    let disk = RealDisk::new(DiskOptions { durable: false, ..DiskOptions::default() });
    let dir = TempDir::new().expect("a temporary folder");
    let path = |n: usize| dir.path().join(format!("orders-with-a-name-{n}"));
    (0..count).for_each(|n| drop(make(&*disk, &path(n))));

    let (fds_before, memory_before) = (open_descriptors(), status_bytes("RssAnon"));
    let clock = stopwatch();
    let partitions: Vec<Files> = (0..count).map(|n| reopen(&*disk, &path(n))).collect();
    let opened_ms = clock();
    assert!(partitions.iter().all(|files| files.len() == FILES));
    let (fds, memory) = (open_descriptors() - fds_before, status_bytes("RssAnon") - memory_before);
    println!(
        "{count} partitions x {FILES} files: opened in {opened_ms} ms, {fds} descriptors, {} B each",
        memory / count
    );
    assert!(fds <= count + LIMITS.max_open_files, "{fds} descriptors for {count} partitions");

    for round in 0..3 {
        for file in partitions.iter().flatten() {
            assert_eq!(file.view(0..1000).and_then(|view| view.bytes()).expect("it can be read"), [7; 1000][..]);
        }
        let fds = open_descriptors() - fds_before;
        let (maps, file_bytes) = (maps_of(dir.path()), status_bytes("RssFile"));
        let memory = status_bytes("RssAnon").saturating_sub(memory_before);
        println!(
            "all read {} times: {fds} descriptors, {maps} maps, {} B anonymous each, {} KiB file pages",
            round + 1,
            memory / count,
            file_bytes >> 10
        );
        assert!(fds <= count + LIMITS.max_open_files, "{fds} descriptors for {count} partitions");
        assert!(maps <= LIMITS.max_maps, "{maps} maps");
        assert!(memory / count <= BYTES_PER_PARTITION_MAX, "{} bytes per partition", memory / count);
    }
    drop(partitions);
    assert_eq!((held().max_open_files, held().max_maps, open_descriptors()), (0, 0, fds_before));
}

/// Milliseconds since it was made.
fn stopwatch() -> impl Fn() -> u128 {
    #[expect(clippy::disallowed_methods, reason = "a measurement, shown and not judged")]
    let start = std::time::Instant::now();
    move || start.elapsed().as_millis()
}
