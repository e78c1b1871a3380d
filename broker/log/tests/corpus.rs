//! Replays the corpus of the fuzz targets (fuzz/corpus/<target>/), so that what a fuzzer once found stays found.

#[path = "../fuzz/check.rs"]
mod check;

use std::fs;
use std::path::Path;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut replayed = 0;
    for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be listed").path();
        println!("{}", path.display());
        check(&fs::read(&path).expect("the input can be read"));
        replayed += 1;
    }
    assert!(replayed >= 4, "only {replayed} inputs in {}", folder.display());
}

#[test]
fn the_segment_corpus_breaks_nothing() {
    replay("segment", check::segment);
}

#[test]
fn the_index_corpus_breaks_nothing() {
    replay("index", check::index);
}

#[test]
fn the_snapshot_corpus_breaks_nothing() {
    replay("snapshot", check::snapshot);
}

#[test]
fn the_append_corpus_breaks_nothing() {
    replay("append", check::append_records);
}
