//! `ballast log verify`: checks every batch, and that the indexes beside it agree with it.
//!
//! A batch is good if it is whole, its checksum is right, its records fill it exactly, it starts above the last offset
//! before it, and its leader epoch is not below the one before. Within a folder that holds from segment to segment; gaps
//! between offsets are normal (compaction, followers). The first bad batch of each folder is told, and nothing behind it.

use std::path::{Path, PathBuf};

use ballast_wire::batch::BatchView;
use serde::Serialize;

use super::batches::{BatchFile, Step};
use super::files::{Kind, base_offset, entries, kind};
use super::indexes;
use crate::error::Failure;
use crate::output::{Column, bytes, count, print, print_json, table};

/// A batch that decompresses to more than this is called bad.
const OPENED_BYTES_MAX: usize = 1 << 30;
/// Where segments end: the name has these digits and this extension.
const SEGMENT: &str = "log";

/// What was found in one segment.
#[derive(Debug, Default, Serialize)]
struct Segment {
    file: String,
    bytes: u64,
    batches: u64,
    records: i64,
    first_offset: Option<i64>,
    last_offset: Option<i64>,
    /// Space at the end that was reserved and not written.
    zero_bytes: u64,
    /// The first thing that is wrong.
    problem: Option<String>,
}

/// What a segment must follow on.
#[derive(Debug, Clone, Copy)]
struct Before {
    offset: i64,
    epoch: i32,
}

/// A batch as the indexes see it.
struct Place {
    position: u64,
    base_offset: i64,
    last_offset: i64,
}

pub(super) fn run(path: &Path, json: bool) -> Result<(), Failure> {
    let mut segments = Vec::new();
    if path.is_dir() {
        folder(path, &mut segments)?;
    } else {
        if kind(path) != Some(Kind::Batches) {
            return Err(Failure::at(path, "is no segment: give a .log file, a partition's folder, or a log directory"));
        }
        let mut before = Before { offset: i64::MIN, epoch: -1 };
        segments.push(segment(path, &mut before)?);
    }
    if segments.is_empty() {
        return Err(Failure::at(path, "holds no segment: give a partition's folder or a log directory"));
    }
    let first_problem = segments.iter().find_map(|s| Some(format!("{}: {}", s.file, s.problem.as_ref()?)));
    let problems = segments.iter().filter(|segment| segment.problem.is_some()).count();
    if json {
        print_json(&serde_json::json!({ "valid": problems == 0, "segments": segments }))?;
    } else {
        print(&text(&segments))?;
    }
    match first_problem {
        None => Ok(()),
        Some(problem) if problems == 1 => Err(Failure::new(problem)),
        Some(problem) => Err(Failure::new(format!("{problem} (and {} more segments with problems)", problems - 1))),
    }
}

/// A partition's folder, or a folder of such folders.
fn folder(path: &Path, segments: &mut Vec<Segment>) -> Result<(), Failure> {
    let entries = entries(path)?;
    let mut before = Before { offset: i64::MIN, epoch: -1 };
    let is_segment = |file: &&PathBuf| {
        file.is_file() && file.extension().is_some_and(|e| e == SEGMENT) && base_offset(file).is_some()
    };
    for file in entries.iter().filter(is_segment) {
        let found = segment(file, &mut before)?;
        let stop = found.problem.is_some();
        segments.push(found);
        if stop {
            return Ok(());
        }
    }
    for inner in entries.iter().filter(|entry| entry.is_dir()) {
        folder(inner, segments)?;
    }
    Ok(())
}

fn segment(path: &Path, before: &mut Before) -> Result<Segment, Failure> {
    let mut found = Segment { file: path.display().to_string(), ..Segment::default() };
    let mut file = BatchFile::open(path)?;
    let mut places = Vec::new();
    loop {
        match file.step().map_err(|e| Failure::at(path, e))? {
            Step::End => break,
            Step::Zeros { bytes } => {
                found.zero_bytes = bytes;
                break;
            }
            Step::Bad(error) => {
                found.problem = Some(bad(&file, before, &error.to_string()));
                break;
            }
            Step::Batch => {
                if let Err(reason) = batch(&file, before, &mut found, &mut places) {
                    found.problem = Some(bad(&file, before, &reason));
                    break;
                }
            }
        }
    }
    found.bytes = file.position;
    if found.problem.is_none() {
        found.problem = check_indexes(path, &places)?;
    }
    Ok(found)
}

fn bad(file: &BatchFile, before: &Before, reason: &str) -> String {
    let after = if before.offset == i64::MIN { String::new() } else { format!(", after offset {}", before.offset) };
    format!("bad batch at byte {}{after}: {reason}", file.position)
}

fn batch(file: &BatchFile, before: &mut Before, found: &mut Segment, places: &mut Vec<Place>) -> Result<(), String> {
    let batch = BatchView::parse(&file.bytes).map_err(|e| e.to_string())?;
    batch.verify_checksum().map_err(|e| e.to_string())?;
    if batch.base_offset() <= before.offset {
        return Err(format!("its base offset {} is not above that", batch.base_offset()));
    }
    if batch.leader_epoch() < before.epoch {
        return Err(format!("its leader epoch {} is below the {} before it", batch.leader_epoch(), before.epoch));
    }
    let body = batch.open(OPENED_BYTES_MAX).map_err(|e| e.to_string())?;
    for record in batch.records_in(&body) {
        let record = record.map_err(|e| e.to_string())?;
        if record.offset_delta < 0 || record.offset_delta > batch.last_offset_delta() {
            let (delta, last) = (record.offset_delta, batch.last_offset_delta());
            return Err(format!("a record has offset delta {delta}, outside of 0 to {last}"));
        }
    }
    *before = Before { offset: batch.last_offset(), epoch: batch.leader_epoch() };
    found.batches += 1;
    found.records += i64::from(batch.records_count());
    found.first_offset.get_or_insert(batch.base_offset());
    found.last_offset = Some(batch.last_offset());
    places.push(Place { position: file.position, base_offset: batch.base_offset(), last_offset: batch.last_offset() });
    Ok(())
}

/// Looks at the indexes beside a segment, those that are there.
fn check_indexes(segment: &Path, places: &[Place]) -> Result<Option<String>, Failure> {
    let Some(base) = base_offset(segment) else { return Ok(None) };
    let beside = |extension: &str| Some(segment.with_extension(extension)).filter(|path| path.is_file());
    if let Some(path) = beside("index") {
        let entries = indexes::offset_entries(&indexes::read(&path)?);
        if let Err(reason) = check_offset_index(base, &entries, places) {
            return Ok(Some(format!("its .index is wrong: {reason}")));
        }
    }
    if let Some(path) = beside("timeindex") {
        let entries = indexes::time_entries(&indexes::read(&path)?);
        let rising = entries.is_sorted_by(|a, b| a.timestamp <= b.timestamp && a.relative_offset <= b.relative_offset);
        if !rising {
            return Ok(Some("its .timeindex is wrong: its entries do not rise".to_owned()));
        }
    }
    if let Some(path) = beside("snapshot")
        && let Err(reason) = indexes::producers(&indexes::read(&path)?)
    {
        return Ok(Some(format!("its .snapshot is wrong: {reason}")));
    }
    Ok(None)
}

fn check_offset_index(base: i64, entries: &[indexes::OffsetEntry], places: &[Place]) -> Result<(), String> {
    for (at, entry) in entries.iter().enumerate() {
        let (offset, position) = (base + i64::from(entry.relative_offset), entry.position as u64);
        if at > 0
            && (entry.relative_offset <= entries[at - 1].relative_offset || entry.position <= entries[at - 1].position)
        {
            return Err(format!("entry {at} (offset {offset}, position {position}) is not above the one before"));
        }
        let place = places.binary_search_by_key(&position, |place| place.position).map(|found| &places[found]);
        match place {
            Ok(place) if (place.base_offset..=place.last_offset).contains(&offset) => {}
            Ok(place) => {
                let (first, last) = (place.base_offset, place.last_offset);
                return Err(format!("entry {at} says {offset} for the batch {first} to {last} at byte {position}"));
            }
            // A segment without records may keep one entry of zeros, which cannot be told from none.
            Err(_) if entry.relative_offset == 0 && entry.position == 0 => {}
            Err(_) => {
                return Err(format!("entry {at} (offset {offset}) points to byte {position}, where no batch begins"));
            }
        }
    }
    Ok(())
}

fn text(segments: &[Segment]) -> String {
    let columns = [
        Column::Left("segment"),
        Column::Right("batches"),
        Column::Right("records"),
        Column::Right("first"),
        Column::Right("last"),
        Column::Right("size"),
        Column::Left("state"),
    ];
    let offset = |offset: Option<i64>| offset.map_or_else(|| "-".to_owned(), count);
    let rows = segments.iter().map(|segment| {
        let state = match (&segment.problem, segment.zero_bytes) {
            (Some(_), _) => "BAD".to_owned(),
            (None, 0) => "good".to_owned(),
            (None, zeros) => format!("good, then {} of zeros", bytes(zeros)),
        };
        vec![
            segment.file.clone(),
            count(segment.batches as i64),
            count(segment.records),
            offset(segment.first_offset),
            offset(segment.last_offset),
            bytes(segment.bytes),
            state,
        ]
    });
    table(&columns, rows)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ballast_wire::batch::{BatchBuilder, Compression};

    use super::*;

    fn batch(base: i64, epoch: i32, codec: Compression) -> Vec<u8> {
        let mut builder = BatchBuilder::new(codec).base_offset(base).leader_epoch(epoch);
        builder.push(1_000, None, Some(b"first"), &[]);
        builder.push(1_001, None, Some(b"second"), &[]);
        builder.finish().to_vec()
    }

    fn folder_of(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn verified(files: &[(&str, Vec<u8>)]) -> Vec<Segment> {
        let mut segments = Vec::new();
        folder(folder_of(files).path(), &mut segments).unwrap();
        segments
    }

    fn problem(files: &[(&str, Vec<u8>)]) -> String {
        let segments = verified(files);
        segments.last().unwrap().problem.clone().unwrap_or_else(|| "nothing is wrong".to_owned())
    }

    const FIRST: &str = "00000000000000000000.log";
    const SECOND: &str = "00000000000000000010.log";

    #[test]
    fn good_segments_are_counted_and_gaps_between_them_are_normal() {
        let first = [batch(0, 1, Compression::None), batch(5, 1, Compression::Zstd)].concat();
        let second = [batch(10, 2, Compression::Gzip), vec![0; 4_096]].concat();
        let segments = verified(&[(FIRST, first), (SECOND, second), ("leader-epoch-checkpoint", b"0\n0\n".to_vec())]);
        let seen: Vec<_> = segments.iter().map(|s| (s.batches, s.records, s.last_offset, s.zero_bytes)).collect();
        assert_eq!(seen, [(2, 4, Some(6), 0), (1, 2, Some(11), 4_096)]);
        assert!(segments.iter().all(|segment| segment.problem.is_none()));
    }

    #[test]
    fn the_first_bad_batch_is_named_by_its_place() {
        let good = batch(0, 1, Compression::None);
        let mut rotten = batch(2, 1, Compression::None);
        *rotten.last_mut().unwrap() ^= 1;
        let place = format!("bad batch at byte {}, after offset 1: checksum", good.len());
        let found = problem(&[(FIRST, [good.clone(), rotten].concat())]);
        assert!(found.starts_with(&place), "{found}");

        let torn = [good.clone(), batch(2, 1, Compression::None)[..40].to_vec()].concat();
        assert!(problem(&[(FIRST, torn)]).contains("cut off"));
        let again = [good.clone(), good.clone()].concat();
        assert!(problem(&[(FIRST, again)]).contains("its base offset 0 is not above that"));
        let back = [batch(0, 2, Compression::None), batch(2, 1, Compression::None)].concat();
        assert!(problem(&[(FIRST, back)]).contains("its leader epoch 1 is below the 2 before it"));
    }

    #[test]
    fn a_segment_must_follow_on_the_one_before() {
        let files = [(FIRST, batch(10, 1, Compression::None)), (SECOND, batch(10, 1, Compression::None))];
        assert!(problem(&files).contains("after offset 11: its base offset 10 is not above that"));
    }

    #[test]
    fn an_index_entry_must_point_to_the_batch_that_holds_its_offset() {
        let first = batch(0, 1, Compression::None);
        let position = first.len() as u32;
        let log = [first, batch(2, 1, Compression::None)].concat();
        let index = |offset: u32, position: u32| [offset.to_be_bytes(), position.to_be_bytes()].concat();
        let with = |index: Vec<u8>| [(FIRST, log.clone()), ("00000000000000000000.index", index)];
        assert_eq!(problem(&with(index(3, position))), "nothing is wrong");
        assert_eq!(problem(&with([index(3, position), vec![0; 800]].concat())), "nothing is wrong");
        assert!(problem(&with(index(1, position))).contains("entry 0 says 1 for the batch 2 to 3"));
        assert!(problem(&with(index(3, position + 1))).contains("where no batch begins"));
    }
}
