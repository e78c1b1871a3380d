//! Descriptors and maps under limits. The limits are the process's, so these claims share one test and have a process
//! to themselves.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test: what fails here is the finding")]

use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::{Disk, DiskFile, DiskLimits, DiskOptions, FileKind, OpenMode, RealDisk, held, set_limits};
use tempfile::TempDir;

const LIMITS: DiskLimits = DiskLimits { max_open_files: 8, max_maps: 8 };
const FILES: usize = 100;
const DESCRIPTORS_TO_USE_UP_MAX: usize = 65_536;

fn content(n: usize) -> Vec<u8> {
    vec![n as u8; 200_000]
}

fn sealed_files(disk: &dyn Disk, dir: &Path) -> Vec<Arc<dyn DiskFile>> {
    let make = |n: usize| {
        let file = disk.open(&dir.join(format!("{n}.log")), OpenMode::CreateNew, FileKind::ActiveLog).unwrap();
        file.write_at(0, &[IoSlice::new(&content(n))]).unwrap();
        file.set_kind(FileKind::SealedLog);
        file
    };
    (0..FILES).map(make).collect()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn maps_of(dir: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains(dir.to_str().unwrap())).count()
}

#[test]
fn a_process_keeps_to_its_limits_and_files_come_back() {
    set_limits(LIMITS);
    let disk = RealDisk::new(DiskOptions::default());
    let dir = TempDir::new().unwrap();
    let before = open_descriptors();

    let files = sealed_files(&*disk, dir.path());
    assert!(held().max_open_files <= LIMITS.max_open_files, "{:?}", held());
    assert!(open_descriptors() - before <= LIMITS.max_open_files, "unsynced files were synced and closed");
    for round in 0..3 {
        for (n, file) in files.iter().enumerate() {
            assert_eq!(file.view(0..200_000).unwrap().bytes().unwrap(), content(n), "round {round}, file {n}");
            file.sync().unwrap();
        }
        assert!(held().max_open_files <= LIMITS.max_open_files && held().max_maps <= LIMITS.max_maps, "{:?}", held());
        assert!(maps_of(dir.path()) <= LIMITS.max_maps, "{} maps", maps_of(dir.path()));
    }

    what_is_viewed_is_kept_and_what_is_dropped_is_given_back(&files, dir.path());
    a_file_that_was_replaced_is_not_taken_for_itself(&*disk, &files, dir.path());
    many_threads_get_along(&files);
    without_maps_everything_is_read(&files, dir.path());
    active_files_keep_theirs_beyond_the_limit(&*disk, dir.path());
    names_are_read_and_synced_when_the_process_has_no_descriptor_left(&*disk, &files, dir.path());

    drop(files);
    assert_eq!(held(), DiskLimits { max_open_files: 0, max_maps: 0 });
    assert_eq!(open_descriptors(), before);
}

fn what_is_viewed_is_kept_and_what_is_dropped_is_given_back(files: &[Arc<dyn DiskFile>], dir: &Path) {
    let views: Vec<_> = files[..20].iter().map(|file| file.view(0..200_000).unwrap()).collect();
    for (n, view) in views.iter().enumerate() {
        assert!(files[n].is_viewed());
        assert_eq!(view.bytes().unwrap(), content(n));
    }
    drop(views);
    drop(files[50].view(0..200_000));
    assert!(held().max_open_files <= LIMITS.max_open_files, "{:?}", held());
    assert!(held().max_maps <= LIMITS.max_maps && maps_of(dir) <= LIMITS.max_maps, "{:?}", held());
    assert!(files.iter().all(|file| !file.is_viewed()));
}

fn a_file_that_was_replaced_is_not_taken_for_itself(disk: &dyn Disk, files: &[Arc<dyn DiskFile>], dir: &Path) {
    std::fs::write(dir.join("other"), content(7)).unwrap();
    disk.rename(&dir.join("other"), &dir.join("3.log")).unwrap();
    // All others are used twice: the third file has lost its descriptor and its map by then.
    for file in files[10..].iter().chain(&files[10..]) {
        drop(file.view(0..200_000).unwrap());
    }
    assert_eq!(files[3].view(0..200_000).unwrap_err().kind(), ErrorKind::NotFound);
}

/// Every file is opened, mapped and given up by several threads at once, none of which may wait for another for ever.
fn many_threads_get_along(files: &[Arc<dyn DiskFile>]) {
    let work = |thread: usize| {
        for step in 0..2000 {
            let n = 4 + (step * 7 + thread * 13) % (FILES - 4);
            let range = if step % 3 == 0 { 0..100 } else { 0..100_000 };
            let len = range.end as usize;
            assert_eq!(files[n].view(range).unwrap().bytes().unwrap(), content(n)[..len]);
            if step % 5 == 0 {
                files[n].write_at(200_000 + thread as u64, &[IoSlice::new(&[1])]).unwrap();
            }
            if step % 50 == 0 {
                files[n].sync().unwrap();
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    assert!(files.iter().all(|file| !file.is_viewed()));
}

fn without_maps_everything_is_read(files: &[Arc<dyn DiskFile>], dir: &Path) {
    set_limits(DiskLimits { max_maps: 0, ..LIMITS });
    assert_eq!(maps_of(dir), 0);
    for (n, file) in files.iter().enumerate().skip(4) {
        assert_eq!(file.view(1..200_000).unwrap().bytes().unwrap(), content(n)[1..]);
    }
    assert_eq!(maps_of(dir), 0);
    set_limits(LIMITS);
}

fn active_files_keep_theirs_beyond_the_limit(disk: &dyn Disk, dir: &Path) {
    let before = open_descriptors();
    let make = |n| disk.open(&dir.join(format!("active-{n}")), OpenMode::Create, FileKind::ActiveLog).unwrap();
    let active: Vec<_> = (0..20).map(make).collect();
    disk.rename(&dir.join("active-0"), &dir.join("renamed")).unwrap();
    assert_eq!(open_descriptors() - before, 20);
    active[0].write_at(0, &[IoSlice::new(b"still open")]).unwrap();
    assert_eq!(std::fs::read(dir.join("renamed")).unwrap(), b"still open");
    for file in &active {
        file.set_kind(FileKind::SealedLog);
    }
    assert!(held().max_open_files <= LIMITS.max_open_files, "{:?}", held());
}

fn names_are_read_and_synced_when_the_process_has_no_descriptor_left(
    disk: &dyn Disk,
    files: &[Arc<dyn DiskFile>],
    dir: &Path,
) {
    type Need<'a> = &'a dyn Fn() -> std::io::Result<()>;
    let needs: [Need<'_>; 3] =
        [&|| disk.list(dir).map(drop), &|| disk.sync_dir(dir), &|| disk.sync_file(&dir.join("9.log"))];
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: usize = soft.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX);
    if soft > DESCRIPTORS_TO_USE_UP_MAX {
        eprintln!("SKIPPED: {soft} open files are allowed, too many to use them up");
        return;
    }
    for need in needs {
        files[10..].iter().for_each(|file| drop(file.view(0..200_000).unwrap()));
        let mut rest = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            rest.push(file);
        }
        need().unwrap();
    }
}
