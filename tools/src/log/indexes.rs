//! Entries of indexes and producer snapshots, in Kafka's bytes (all integers big endian).
//!
//! ```text
//! .index      relative offset i32 | position i32
//! .timeindex  timestamp i64 | relative offset i32
//! .txnindex   version i16 | producer id i64 | first offset i64 | last offset i64 | last stable offset i64
//! .snapshot   version i16 | crc-32c u32 of the rest | count i32 | entries of 46 bytes
//! ```
//! An active segment's indexes are longer than what is written: zeros follow the last entry.

use std::path::Path;

use crate::error::Failure;

/// No index is larger than this, in bytes (`segment.index.bytes` allows no more).
const INDEX_BYTES_MAX: u64 = i32::MAX as u64;
const SNAPSHOT_HEAD_BYTES: usize = 10;
const PRODUCER_BYTES: usize = 46;
/// Where the checksum of a snapshot begins to count.
const SNAPSHOT_CHECKED_FROM: usize = 6;

/// `.index`: the last offset of a batch, relative to the segment's base, and where the batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetEntry {
    pub(super) relative_offset: i32,
    pub(super) position: i32,
}

/// `.timeindex`: the largest timestamp so far, and the offset up to which that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeEntry {
    pub(super) timestamp: i64,
    pub(super) relative_offset: i32,
}

/// `.txnindex`: an aborted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) struct TxnEntry {
    pub(super) version: i16,
    pub(super) producer_id: i64,
    pub(super) first_offset: i64,
    pub(super) last_offset: i64,
    pub(super) last_stable_offset: i64,
}

/// `.snapshot`: what a log knows of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) struct ProducerEntry {
    pub(super) producer_id: i64,
    pub(super) producer_epoch: i16,
    pub(super) last_sequence: i32,
    pub(super) last_offset: i64,
    pub(super) offset_delta: i32,
    pub(super) timestamp: i64,
    pub(super) coordinator_epoch: i32,
    /// First offset of its open transaction, -1 if it has none.
    pub(super) current_txn_first_offset: i64,
}

/// Reads a file that is not larger than an index can be.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let size = std::fs::metadata(path).map_err(|e| Failure::at(path, e))?.len();
    if size > INDEX_BYTES_MAX {
        return Err(Failure::at(path, format!("{size} bytes are more than an index can have")));
    }
    std::fs::read(path).map_err(|e| Failure::at(path, e))
}

/// Entries up to the zeros that follow the last one; the first entry may be all zeros itself.
fn written<const N: usize, T>(bytes: &[u8], entry: impl Fn(&[u8; N]) -> T) -> Vec<T> {
    let rows = bytes.as_chunks::<N>().0;
    let end = rows.iter().rposition(|row| row.iter().any(|byte| *byte != 0)).map_or(0, |last| last + 1);
    rows[..end].iter().map(entry).collect()
}

pub(super) fn offset_entries(bytes: &[u8]) -> Vec<OffsetEntry> {
    written(bytes, |row: &[u8; 8]| OffsetEntry { relative_offset: i32_at(row, 0), position: i32_at(row, 4) })
}

pub(super) fn time_entries(bytes: &[u8]) -> Vec<TimeEntry> {
    written(bytes, |row: &[u8; 12]| TimeEntry { timestamp: i64_at(row, 0), relative_offset: i32_at(row, 8) })
}

pub(super) fn txn_entries(bytes: &[u8]) -> Vec<TxnEntry> {
    written(bytes, |row: &[u8; 34]| TxnEntry {
        version: i16_at(row, 0),
        producer_id: i64_at(row, 2),
        first_offset: i64_at(row, 10),
        last_offset: i64_at(row, 18),
        last_stable_offset: i64_at(row, 26),
    })
}

/// The producers of a snapshot.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn producers(bytes: &[u8]) -> Result<Vec<ProducerEntry>, String> {
    if bytes.len() < SNAPSHOT_HEAD_BYTES {
        return Err(format!("{} bytes are too few for a snapshot", bytes.len()));
    }
    let (version, stored, count) = (i16_at(bytes, 0), i32_at(bytes, 2) as u32, i32_at(bytes, 6));
    if version != 1 {
        return Err(format!("version {version} is not known"));
    }
    let computed = crc_fast::crc32_iscsi(&bytes[SNAPSHOT_CHECKED_FROM..]);
    if stored != computed {
        return Err(format!("checksum {computed:#010x} differs from the stored {stored:#010x}"));
    }
    let (rows, rest) = bytes[SNAPSHOT_HEAD_BYTES..].as_chunks::<PRODUCER_BYTES>();
    if rows.len() as i64 != i64::from(count) || !rest.is_empty() {
        return Err(format!("{count} entries are announced, {} and {} bytes are there", rows.len(), rest.len()));
    }
    Ok(rows
        .iter()
        .map(|row| ProducerEntry {
            producer_id: i64_at(row, 0),
            producer_epoch: i16_at(row, 8),
            last_sequence: i32_at(row, 10),
            last_offset: i64_at(row, 14),
            offset_delta: i32_at(row, 22),
            timestamp: i64_at(row, 26),
            coordinator_epoch: i32_at(row, 34),
            current_txn_first_offset: i64_at(row, 38),
        })
        .collect())
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

fn i16_at(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes(take(bytes, at))
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(take(bytes, at))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(take(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_where_the_reserved_zeros_begin() {
        let mut index = vec![0; 8 * 100];
        index[8..16].copy_from_slice(&[0, 0, 0, 15, 0, 0, 0x3b, 0x98]);
        let entries = offset_entries(&index);
        assert_eq!(entries.len(), 2, "the first entry may be zero itself");
        assert_eq!(entries[1], OffsetEntry { relative_offset: 15, position: 15_256 });
        assert!(time_entries(&[0; 24]).is_empty());
    }

    #[test]
    fn an_empty_snapshot_reads_as_apache_kafka_wrote_it() {
        let bytes = [0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0];
        assert_eq!(producers(&bytes), Ok(Vec::new()));
        let mut rotten = bytes;
        rotten[9] = 1;
        assert!(producers(&rotten).unwrap_err().contains("checksum"));
        assert!(producers(&bytes[..9]).is_err());
    }
}
