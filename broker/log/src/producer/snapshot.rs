//! `<offset>.snapshot`: the state of every producer before that offset, so that opening a log replays only what follows.
//!
//! ```text
//! 0 version i16 = 1 | 2 crc u32: CRC-32C of the rest | 6 count i32 | 10 entries of 46 bytes:
//!   producer_id i64, epoch i16, last_sequence i32, last_offset i64, offset_delta i32, timestamp i64,
//!   coordinator_epoch i32, txn_start i64 (-1 none)
//! ```
//! Holds: a file that does not match its checksum is no snapshot; the one before it is taken and more is replayed. Only the
//! newest batch of a producer is kept, so resends are recognised one deep after a restart.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ballast_wire::ProducerId;

use super::state::{BatchMeta, Producer, Producers};
use crate::disk::{Disk, DiskFile, FileKind, OpenMode, read_small};
use crate::error::{DiskContext, DiskError};

const VERSION: i16 = 1;
const HEADER_BYTES: usize = 10;
const CHECKED_FROM: usize = 6;
const ENTRY_BYTES: usize = 46;
/// Larger files are no snapshots: ten million producers.
const BYTES_MAX: u64 = 460_000_010;

/// The file's bytes.
pub(crate) fn encode(entries: &[(ProducerId, &Producer)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + entries.len() * ENTRY_BYTES);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(entries.len() as i32).to_be_bytes());
    for (id, producer) in entries {
        let nothing = BatchMeta { last_sequence: -1, last_offset: -1, offset_delta: 0, timestamp: -1 };
        let last = producer.last().unwrap_or(nothing);
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&producer.epoch.to_be_bytes());
        out.extend_from_slice(&last.last_sequence.to_be_bytes());
        out.extend_from_slice(&last.last_offset.to_be_bytes());
        out.extend_from_slice(&last.offset_delta.to_be_bytes());
        out.extend_from_slice(&producer.last_timestamp.to_be_bytes());
        out.extend_from_slice(&producer.coordinator_epoch.to_be_bytes());
        out.extend_from_slice(&producer.txn_start.unwrap_or(-1).to_be_bytes());
    }
    let crc = crc_fast::crc32_iscsi(&out[CHECKED_FROM..]);
    out[2..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
    out
}

/// Reads the file's bytes; the reason why they are no snapshot otherwise.
pub(crate) fn decode(bytes: &[u8]) -> Result<Producers, &'static str> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Err("shorter than a header") };
    let version = i16::from_be_bytes([header[0], header[1]]);
    let crc = u32::from_be_bytes([header[2], header[3], header[4], header[5]]);
    let count = i32::from_be_bytes([header[6], header[7], header[8], header[9]]);
    if version != VERSION {
        return Err("unknown version");
    }
    if crc != crc_fast::crc32_iscsi(&bytes[CHECKED_FROM..]) {
        return Err("wrong checksum");
    }
    let entries = &bytes[HEADER_BYTES..];
    if usize::try_from(count).ok().and_then(|count| count.checked_mul(ENTRY_BYTES)) != Some(entries.len()) {
        return Err("wrong length");
    }
    let mut producers = Producers::default();
    for entry in entries.chunks_exact(ENTRY_BYTES) {
        let (id, producer) = decode_entry(entry);
        producers.restore(id, producer);
    }
    Ok(producers)
}

fn decode_entry(entry: &[u8]) -> (ProducerId, Producer) {
    let i64_at = |at: usize| i64::from_be_bytes(entry[at..at + 8].try_into().expect("8 of 46 bytes"));
    let i32_at = |at: usize| i32::from_be_bytes(entry[at..at + 4].try_into().expect("4 of 46 bytes"));
    let mut producer = Producer::new();
    producer.epoch = i16::from_be_bytes([entry[8], entry[9]]);
    producer.last_timestamp = i64_at(26);
    producer.coordinator_epoch = i32_at(34);
    producer.txn_start = Some(i64_at(38)).filter(|first| *first >= 0);
    let (last_sequence, last_offset, offset_delta) = (i32_at(10), i64_at(14), i32_at(22));
    if last_offset >= 0 && offset_delta >= 0 && i64::from(offset_delta) <= last_offset {
        producer.remember(BatchMeta { last_sequence, last_offset, offset_delta, timestamp: producer.last_timestamp });
    }
    (i64_at(0), producer)
}

/// Reads a snapshot. `Ok(Err(reason))` for a file that is none.
pub(crate) fn load(disk: &dyn Disk, path: &Path) -> Result<Result<Producers, &'static str>, DiskError> {
    match read_small(disk, path, BYTES_MAX) {
        Ok(bytes) => Ok(decode(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(Err("too large")),
        Err(error) => Err(error).doing("cannot read", path),
    }
}

/// Writes a snapshot under its final name, as Kafka does: the checksum tells a torn one. The caller syncs the file.
pub(crate) fn store(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<Arc<dyn DiskFile>, DiskError> {
    let file = disk.open(path, OpenMode::Create, FileKind::Small).doing("cannot make", path)?;
    file.set_len(0).doing("cannot empty", path)?;
    file.write_at(0, &[IoSlice::new(bytes)]).doing("cannot write", path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn an_empty_snapshot_has_the_bytes_that_apache_kafka_writes() {
        assert_eq!(encode(&[]), hex("0001 48674bc7 00000000"));
        assert!(decode(&hex("0001 48674bc7 00000000")).unwrap().entries().is_empty());
    }

    #[test]
    fn entries_have_the_bytes_that_apache_kafka_writes() {
        let entries = [
            "0000000000000003 0000 00000009 000000000000000c 00000000 000001a2292145a6 00000000 ffffffffffffffff",
            "0000000000000004 0001 ffffffff ffffffffffffffff 00000000 000001a229223c02 00000000 ffffffffffffffff",
            "0000000000000008 0000 00000001 0000000000000028 00000000 000001a229248a4b 00000000 0000000000000028",
        ];
        let mut bytes = hex("0001 00000000 00000003");
        for entry in entries {
            bytes.extend(hex(entry));
        }
        let crc = crc_fast::crc32_iscsi(&bytes[6..]).to_be_bytes();
        bytes[2..6].copy_from_slice(&crc);

        let producers = decode(&bytes).unwrap();
        assert_eq!(encode(&producers.entries()), bytes);
        let infos = producers.infos();
        assert_eq!(infos[0].last_sequence, 9);
        assert_eq!((infos[1].producer_epoch, infos[1].last_sequence), (1, -1));
        assert_eq!(infos[2].current_txn_start, 0x28);
        producers.check();
    }

    #[test]
    fn a_file_with_any_byte_changed_or_missing_is_no_snapshot() {
        let mut producer = Producer::new();
        producer.remember(BatchMeta { last_sequence: 4, last_offset: 9, offset_delta: 4, timestamp: 77 });
        let bytes = encode(&[(5, &producer)]);
        assert!(decode(&bytes).is_ok());
        for at in 0..bytes.len() {
            let mut rotten = bytes.clone();
            rotten[at] ^= 0x10;
            assert!(decode(&rotten).is_err(), "byte {at} changed");
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
