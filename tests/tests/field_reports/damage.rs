//! Files that a crash or somebody left in a bad state: the log is cut or its indexes are made anew, and nothing is believed.

use std::fs;
use std::path::PathBuf;

use ballast_tests::process::Serve;
use ballast_tests::raw::batches::incompressible;
use ballast_tests::raw::rows::{FETCH, eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, fetch_row, now_ms, timed};
use ballast_tests::target::shared;
use ballast_wire::batch::Compression;

/// A broker of our own that was killed, with ten records of known times in one partition, `t-0`.
struct Fallen {
    serve: Serve,
    first_time: i64,
}

const RECORDS: i64 = 10;
/// Three batches of this size fill a segment of 1 MiB.
const VALUE_BYTES: usize = 300_000;

fn fallen() -> Option<Fallen> {
    if !shared().is_ballast() {
        return None; // Somebody else's files are not ours to damage.
    }
    let mut serve = Serve::start(&[]);
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("t", 1, &[("segment.bytes", "1048576")]);
    let first_time = now_ms() - 60_000;
    for number in 0..RECORDS {
        connection.append("t", 0, record(number, first_time));
    }
    serve.kill();
    Some(Fallen { serve, first_time })
}

fn record(number: i64, first_time: i64) -> bytes::Bytes {
    timed(Compression::None, &[(first_time + number, &incompressible(VALUE_BYTES))])
}

impl Fallen {
    /// Files of the partition with this ending, in order.
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.serve.data().join("t-0")).expect("the partition has a folder");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(ending));
        files.sort();
        assert!(!files.is_empty(), "no {ending} in {}", self.serve.data().display());
        files
    }

    /// Starts the broker and expects `records` of the ten, each at its offset and time, and room for more.
    fn stands_up_with(mut self, records: i64) {
        self.serve.restart();
        let mut connection = Connection::open(&self.serve.bootstrap);
        eventually("the partition is led", || (connection.offset_at("t", 0, -1).error_code == 0).then_some(()));
        assert_eq!(connection.bounds("t", 0), (0, records));
        // Enough to fill two more segments: an index that counts as full would roll at each append, or fail.
        for number in records..records + 7 {
            assert_eq!(connection.append("t", 0, record(number, self.first_time)), number);
        }
        for number in 0..records + 7 {
            let found = connection.offset_at("t", 0, self.first_time + number);
            assert_eq!((found.offset, found.timestamp), (number, self.first_time + number));
            let fetch = Fetch::of("t", vec![fetch_row(0, number).with_partition_max_bytes(1)]);
            let row = connection.fetched(FETCH, &fetch);
            assert_eq!(records_of(&row).first().map(|(offset, _)| *offset), Some(number));
        }
        let segments = self.files(".log").len() as i64;
        assert!(segments <= (records + 7) / 3 + 2, "{segments} segments for {} batches", records + 7);
    }
}

#[test]
fn an_index_of_zeros_is_not_believed() {
    let Some(fallen) = fallen() else { return };
    // Kafka makes its indexes this large beforehand, and a crash leaves the zeros.
    for ending in [".index", ".timeindex"] {
        for file in fallen.files(ending) {
            fs::write(file, vec![0; 10 << 20]).unwrap();
        }
    }
    fallen.stands_up_with(RECORDS);
}

#[test]
fn indexes_that_are_missing_or_cut_are_made_anew() {
    let Some(fallen) = fallen() else { return };
    for file in fallen.files(".timeindex") {
        fs::remove_file(file).unwrap();
    }
    for file in fallen.files(".index") {
        fs::write(file, b"odd").unwrap();
    }
    fallen.stands_up_with(RECORDS);
}

#[test]
fn what_follows_the_last_whole_batch_is_cut_off() {
    for tail in [&b"no batch at all"[..], &[0; 5000], &[0xff; 100]] {
        let Some(fallen) = fallen() else { return };
        let last = fallen.files(".log").pop().unwrap();
        let mut bytes = fs::read(&last).unwrap();
        bytes.extend(tail);
        fs::write(last, bytes).unwrap();
        fallen.stands_up_with(RECORDS);
    }
}

#[test]
fn a_flipped_bit_in_the_last_batch_costs_that_batch() {
    let Some(fallen) = fallen() else { return };
    let last = fallen.files(".log").pop().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(last, bytes).unwrap();
    fallen.stands_up_with(RECORDS - 1);
}
