//! Bytes of record batches, as producers send them, and with single fields falsified.

use std::time::{SystemTime, UNIX_EPOCH};

use ballast_wire::batch::view::checksum_of;
use ballast_wire::batch::{BatchBuilder, Compression};
use bytes::Bytes;

/// Positions of the fields of a batch that tests falsify, in bytes from its start.
pub mod at {
    /// Base offset, 8 bytes. Outside the checksum.
    pub const BASE_OFFSET: usize = 0;
    /// Bytes that follow the length, 4 bytes. Outside the checksum.
    pub const BATCH_LENGTH: usize = 8;
    /// Format of the batch, 1 byte. Outside the checksum.
    pub const MAGIC: usize = 16;
    /// CRC-32C of all that follows it, 4 bytes.
    pub const CRC: usize = 17;
    /// Codec, timestamp type and other bits, 2 bytes.
    pub const ATTRIBUTES: usize = 21;
    /// Offset of the last record less the base offset, 4 bytes.
    pub const LAST_OFFSET_DELTA: usize = 23;
    /// 8 bytes.
    pub const MAX_TIMESTAMP: usize = 35;
    /// 8 bytes.
    pub const PRODUCER_ID: usize = 43;
    /// 2 bytes.
    pub const PRODUCER_EPOCH: usize = 51;
    /// 4 bytes.
    pub const BASE_SEQUENCE: usize = 53;
    /// 4 bytes.
    pub const RECORDS_COUNT: usize = 57;
    /// The first record.
    pub const RECORDS: usize = 61;
}

/// Every codec that a batch may name.
pub const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// Now, in ms since 1970.
///
/// # Panics
/// If the clock stands before 1970.
#[must_use]
pub fn now_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the broker under test reads the real clock too")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).expect("the clock stands after 1970").as_millis() as i64
}

/// A batch of values without keys, created now.
#[must_use]
pub fn batch(values: &[&str]) -> Bytes {
    let now = now_ms();
    let records: Vec<(i64, &str)> = values.iter().map(|value| (now, *value)).collect();
    timed(Compression::None, &records)
}

/// A batch of values without keys, each with the time of its creation.
#[must_use]
pub fn timed(codec: Compression, records: &[(i64, &str)]) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    for (timestamp, value) in records {
        builder.push(*timestamp, None, Some(value.as_bytes()), &[]);
    }
    builder.finish()
}

/// A batch of an idempotent producer: these values from this sequence number on.
#[must_use]
pub fn idempotent(producer: (i64, i16), base_sequence: i32, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None).producer(producer.0, producer.1, base_sequence);
    for value in values {
        builder.push(now_ms(), None, Some(value.as_bytes()), &[]);
    }
    builder.finish()
}

/// The batch with `bytes` at a position, and a checksum that fits again.
#[must_use]
pub fn patched(batch: &[u8], position: usize, bytes: &[u8]) -> Bytes {
    let mut patched = batch.to_vec();
    patched[position..position + bytes.len()].copy_from_slice(bytes);
    let crc = checksum_of(&patched);
    patched[at::CRC..at::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    patched.into()
}

/// One uncompressed batch of exactly `len` bytes with one record, whose value does not compress.
///
/// # Panics
/// If no record makes a batch of that size (sizes at which a length needs one more byte, and very small ones).
#[must_use]
pub fn batch_of_bytes(len: usize) -> Bytes {
    let empty = batch(&[""]).len();
    let text = incompressible(len);
    // Two lengths inside the record grow with the value.
    (0..10)
        .map(|growth| batch(&[&text[..len - empty - growth]]))
        .find(|batch| batch.len() == len)
        .unwrap_or_else(|| panic!("no record makes a batch of {len} bytes"))
}

/// Text without patterns, the same each time.
#[must_use]
pub fn incompressible(len: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + ((state >> 33) % 94) as u8)
        })
        .collect()
}
