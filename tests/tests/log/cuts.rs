//! Every file of a log cut off at every byte, or with any byte changed.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::sync::Arc;

use ballast_log::disk::{Disk, FileKind, OpenMode};
use ballast_log::{Log, LogConfig, OpenFrom, RecoveryReport};
use ballast_tests::disk::SimDisk;

use super::rig::{Batch, LogRig, NOW_MS, Went, read_all, read_from};

/// Names and contents of a log's folder.
type Image = BTreeMap<String, Vec<u8>>;

fn config() -> LogConfig {
    LogConfig { segment_bytes: 5000, index_interval_bytes: 400, ..LogConfig::default() }
}

/// A log of 250 batches in several segments and epochs, left as a crash of the process leaves it, or closed.
fn image(closed: bool) -> (Image, Vec<Batch>) {
    let mut rig = LogRig::new(1, config());
    rig.create().expect("a new log");
    for n in 0..250 {
        if n % 60 == 0 {
            assert_eq!(rig.assign_epoch(), Went::Well);
        }
        assert_eq!(rig.append(1 + n % 3, (n % 4 != 0).then_some(n as i64 % 4)), Went::Well);
    }
    if closed {
        assert_eq!(rig.close(), Went::Well);
    }
    let disk = rig.disk.shared();
    let entries = disk.list(&LogRig::dir()).expect("the folder is there");
    let contents = |name: &String| rig.disk.peek(LogRig::dir().join(name)).expect("the file is there");
    let image = entries.into_iter().map(|entry| (entry.name.clone(), contents(&entry.name))).collect();
    (image, rig.published)
}

fn open(image: &Image, changed: (&str, &[u8]), clean: bool, recovery_point: i64) -> (Log, RecoveryReport) {
    let sim = SimDisk::new(1);
    let disk: Arc<dyn Disk> = sim.shared();
    disk.create_dir(&LogRig::dir()).expect("a folder");
    for (name, contents) in image {
        let contents = if name == changed.0 { changed.1 } else { contents };
        let path = LogRig::dir().join(name);
        let file = disk.open(&path, OpenMode::CreateNew, FileKind::Small).expect("a file");
        file.write_at(0, &[IoSlice::new(contents)]).expect("its contents");
    }
    let from = OpenFrom { clean, recovery_point, log_start: 0 };
    Log::open(disk, LogRig::dir(), Arc::new(config()), from, NOW_MS, &mut |_| {}).expect("a damaged log opens")
}

/// What is read is a prefix of what was written, and what opening found is consistent.
fn check(log: &Log, written: &[Batch], context: &str) -> usize {
    check_from(log, written, 0, context)
}

/// As `check`, reading only what lies behind the first `skipped` batches.
fn check_from(log: &Log, written: &[Batch], skipped: usize, context: &str) -> usize {
    let found = read_from(log, written[skipped].base.min(log.end())).expect("nothing fails");
    let count = skipped + found.len();
    assert_eq!(found, written[skipped..count], "{context}");
    let last = written[..count].last();
    assert_eq!(log.end(), last.map_or(0, |batch| batch.last + 1), "{context}");
    assert_eq!(log.latest_epoch(), last.map(|batch| batch.epoch), "{context}");
    count
}

/// Is it a file of the segment with this log, or of a later one?
fn is_segment_from(name: &str, log: &str) -> bool {
    name.as_bytes()[0].is_ascii_digit() && name[..20] >= log[..20]
}

fn clone_pair((name, contents): (&String, &Vec<u8>)) -> (String, Vec<u8>) {
    (name.clone(), contents.clone())
}

/// Positions where the batches of a segment end.
fn ends_of(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at += 12 + u32::from_be_bytes(bytes[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        ends.push(at);
    }
    ends
}

fn batches_in(image: &Image) -> usize {
    image.iter().filter(|(name, _)| name.ends_with(".log")).map(|(_, bytes)| ends_of(bytes).len()).sum()
}

#[test]
fn a_segment_cut_at_any_byte_keeps_every_whole_batch_before_the_cut() {
    let (image, written) = image(false);
    let segments: Vec<&String> = image.keys().filter(|name| name.ends_with(".log")).collect();
    assert!(segments.len() >= 4, "{segments:?}");
    let mut batches_before = 0;
    for (index, name) in segments.iter().copied().enumerate() {
        // Of what lies behind, the next segment shows that it all goes.
        let near: Image = match segments.get(index + 2) {
            Some(far) => image.iter().filter(|(name, _)| !is_segment_from(name, far)).map(clone_pair).collect(),
            None => image.clone(),
        };
        let bytes = &image[name];
        let ends = ends_of(bytes);
        // What lies before is synced, so that most runs scan one segment.
        let is_last = batches_before + ends.len() == written.len();
        let base: i64 = name[..20].parse().expect("a base offset");
        for cut in 0..=bytes.len() {
            let recovery_point = if cut % 64 == 0 { 0 } else { base };
            let image = if recovery_point == 0 { &image } else { &near };
            let (log, report) = open(image, (name, &bytes[..cut]), false, recovery_point);
            let whole = ends.partition_point(|end| *end <= cut);
            let context = format!("{name} cut at {cut}: {:?}", report.cut);
            let is_cut = whole < ends.len();
            let expected = if is_cut { batches_before + whole } else { batches_in(image) };
            let skipped = if recovery_point == 0 { 0 } else { batches_before };
            assert_eq!(check_from(&log, &written, skipped, &context), expected, "{context}");
            // The end of the log cannot be missed where a batch ends.
            let is_whole = cut == 0 || ends.contains(&cut);
            let shows = if is_last { !is_whole } else { cut < bytes.len() };
            assert_eq!(report.cut.is_some(), shows, "{context}");
        }
        batches_before += ends.len();
    }
    assert_eq!(batches_before, written.len());
}

#[test]
fn any_other_file_cut_at_any_byte_loses_no_batch() {
    for closed in [false, true] {
        let (image, written) = image(closed);
        let producers = open(&image, ("", &[]), closed, 0).0.producers();
        for name in image.keys().filter(|name| !name.ends_with(".log")) {
            for cut in 0..image[name].len() {
                let (log, report) = open(&image, (name, &image[name][..cut]), closed, 0);
                let context = format!("{name} cut at {cut}, closed: {closed}: {report:?}");
                assert_eq!(check(&log, &written, &context), written.len(), "{context}");
                assert_eq!(log.producers(), producers, "{context}");
                for batch in written.iter().step_by(17) {
                    assert_eq!(log.epoch_at(batch.base), Some(batch.epoch), "{context}");
                }
            }
        }
    }
}

/// reliability.md C11.
#[test]
fn a_changed_byte_of_a_segment_is_never_read_as_data() {
    let (image, written) = image(false);
    for name in image.keys().filter(|name| name.ends_with(".log")) {
        for at in (0..image[name].len()).step_by(3) {
            let mut rotten = image[name].clone();
            rotten[at] ^= 1 << (at % 8);
            let (log, report) = open(&image, (name, &rotten), false, 0);
            let found = read_all(&log).expect("nothing fails");
            // Base offset and leader epoch are outside of the checksum: a change there shows only where it breaks the order.
            let whole = found.iter().zip(&written).take_while(|(found, written)| found == written).count();
            let odd = found[whole..].iter().filter(|batch| !written.contains(batch)).count();
            assert!(odd <= 1, "{name} changed at {at}: {report:?}");
            assert!(found.windows(2).all(|pair| pair[0].last < pair[1].base), "{name} changed at {at}: {report:?}");
        }
    }
}

#[test]
fn a_changed_byte_of_an_index_or_snapshot_loses_no_batch_after_a_clean_stop() {
    let (image, written) = image(true);
    let intact = open(&image, ("", &[]), true, 0).0;
    let last = written.last().expect("a batch").last;
    for name in image.keys().filter(|name| !name.ends_with(".log") && !name.ends_with("checkpoint")) {
        for at in 0..image[name].len() {
            let mut rotten = image[name].clone();
            rotten[at] ^= 1 << (at % 8);
            let (log, report) = open(&image, (name, &rotten), true, 0);
            let context = format!("{name} changed at {at}: {report:?}");
            assert_eq!(check(&log, &written, &context), written.len(), "{context}");
            assert_eq!(log.producers(), intact.producers(), "{context}");
            for from in (0..last).step_by(23) {
                let read = log.read(from, last + 1, 1, true).expect(&context);
                let holder = written.iter().find(|batch| batch.last >= from).expect("a batch");
                assert_eq!(read.base_offset, holder.base, "{context}");
            }
        }
    }
}
