//! The records that are sent: 1 KiB each, in batches of a given size, encoded once.

use ballast_wire::batch::{BatchBuilder, Compression};
use bytes::Bytes;

/// Size of a record, framing included, in bytes.
pub const RECORD_BYTES: usize = 1024;
/// Bytes of framing around a value of this size: length (2), attributes, timestamp delta, offset delta (up to 2), no key,
/// value length (2), no headers.
const FRAMING_BYTES: usize = 10;

/// One batch, ready to be sent any number of times: without a producer id, its checksum made.
#[derive(Debug, Clone)]
pub struct Batch {
    /// As it goes over the wire.
    pub bytes: Bytes,
    /// Records in it.
    pub records: usize,
}

/// A batch of as many 1 KiB records as fit into `bytes_max`, at least one.
#[must_use]
pub fn batch(bytes_max: usize, timestamp_ms: i64) -> Batch {
    let mut builder = BatchBuilder::new(Compression::None);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut records = 0;
    while records == 0 || builder.bytes() + RECORD_BYTES <= bytes_max {
        let value: [u8; RECORD_BYTES - FRAMING_BYTES] = std::array::from_fn(|_| noise(&mut state));
        builder.push(timestamp_ms, None, Some(&value), &[]);
        records += 1;
    }
    Batch { bytes: builder.finish(), records }
}

/// A batch of one record of `value_bytes`.
#[must_use]
pub fn single(value_bytes: usize, timestamp_ms: i64) -> Batch {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(timestamp_ms, None, Some(&vec![b'x'; value_bytes]), &[]);
    Batch { bytes: builder.finish(), records: 1 }
}

/// Milliseconds since 1970: brokers refuse records from the far future, and delete those from the far past.
#[must_use]
pub fn wall_ms() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// The next byte of a xorshift generator: bytes that no codec and no file system can shrink, the same in every run.
fn noise(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u8
}

#[cfg(test)]
mod tests {
    use ballast_wire::batch::{BatchView, HEADER_BYTES};

    use super::*;

    #[test]
    fn a_batch_holds_records_of_one_kib_and_fills_what_it_may() {
        for bytes_max in [16 << 10, 64 << 10, 1_000_000] {
            let batch = batch(bytes_max, 7);
            let (bytes, records) = (batch.bytes.len(), batch.records);
            let view = BatchView::parse(&batch.bytes).unwrap();
            view.verify_checksum().unwrap();
            assert_eq!(view.records_count(), records as i32);
            assert!((bytes_max - 2 * RECORD_BYTES..=bytes_max).contains(&bytes), "{bytes} of {bytes_max} bytes");
            let each = (batch.bytes.len() - HEADER_BYTES).div_ceil(records);
            assert!((RECORD_BYTES - 2..=RECORD_BYTES).contains(&each), "{each} bytes a record");
        }
        assert_eq!(batch(0, 7).records, 1, "a batch is never empty");
    }
}
