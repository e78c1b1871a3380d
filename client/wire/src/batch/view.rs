//! The header of a record batch, read where it lies.
//!
//! ```text
//!  0 base_offset i64      | 8 batch_length i32: bytes after this field   } not covered by the checksum:
//! 12 partition_leader_epoch i32 | 16 magic i8 = 2 | 17 crc u32           } a leader stamps these in place
//! 21 attributes i16       | 23 last_offset_delta i32    | 27 base_timestamp i64 | 35 max_timestamp i64
//! 43 producer_id i64      | 51 producer_epoch i16       | 53 base_sequence i32  | 57 records_count i32 | 61 records
//! ```
//! All integers are big endian. The CRC-32C covers bytes 21 to the end.
//!
//! Holds: a `BatchView` is as long as its header says and at least 61 bytes, and its magic is 2. Nothing else is promised
//! before [`BatchView::verify_checksum`] has passed.

use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// Bytes of the header, up to the first record.
pub const HEADER_BYTES: usize = 61;
/// Bytes up to and including `batch_length`, which that field does not count.
pub const LOG_OVERHEAD_BYTES: usize = 12;

pub(super) const BATCH_LENGTH_AT: usize = 8;
pub(super) const LEADER_EPOCH_AT: usize = 12;
pub(super) const MAGIC_AT: usize = 16;
pub(super) const CRC_AT: usize = 17;
pub(super) const ATTRIBUTES_AT: usize = 21;
pub(super) const LAST_OFFSET_DELTA_AT: usize = 23;
pub(super) const BASE_TIMESTAMP_AT: usize = 27;
pub(super) const MAX_TIMESTAMP_AT: usize = 35;
pub(super) const PRODUCER_ID_AT: usize = 43;
pub(super) const PRODUCER_EPOCH_AT: usize = 51;
pub(super) const BASE_SEQUENCE_AT: usize = 53;
pub(super) const RECORDS_COUNT_AT: usize = 57;

/// Why bytes are not a record batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Fewer bytes than the header needs, or than `batch_length` announces.
    #[error("a batch of {need} bytes is cut off after {have}")]
    Truncated {
        /// Bytes that the batch needs.
        need: usize,
        /// Bytes that are there.
        have: usize,
    },
    /// `batch_length` cannot hold the rest of the header.
    #[error("batch length {0} is below the {min} that a header needs", min = HEADER_BYTES - LOG_OVERHEAD_BYTES)]
    BadLength(i32),
    /// A format other than v2.
    #[error("record format {0} is not supported (only 2 is)")]
    BadMagic(i8),
    /// The bytes do not match their checksum.
    #[error("checksum {computed:#010x} differs from the stored {stored:#010x}")]
    Checksum {
        /// What the batch says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// Bits 0 to 2 of the attributes name no codec.
    #[error("compression codec {0} is unknown")]
    UnknownCodec(u8),
    /// The body is compressed and was to be read as it is.
    #[error("the body is compressed with {0:?} and has to be opened first")]
    Compressed(Compression),
    /// The compressed body does not open.
    #[error("the {0:?} body does not decompress")]
    BadBody(Compression),
    /// The body would grow beyond what the caller allows.
    #[error("the body decompresses to more than {0} bytes")]
    TooLarge(usize),
    /// A record's framing contradicts itself, at this index within the batch.
    #[error("record {0} is malformed")]
    BadRecord(usize),
}

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Compression {
    /// Not at all.
    None = 0,
    /// gzip.
    Gzip = 1,
    /// snappy, in xerial's frames (Java) or raw (librdkafka).
    Snappy = 2,
    /// The lz4 frame format.
    Lz4 = 3,
    /// zstd.
    Zstd = 4,
}

impl Compression {
    /// The codec with this number, if there is one.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Compression> {
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
            .get(usize::from(id))
            .copied()
    }
}

/// What the timestamps of a batch mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// Set by the producer, one for each record.
    CreateTime,
    /// Set by the broker: every record has the batch's `max_timestamp`.
    LogAppendTime,
}

/// The attribute bits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(pub i16);

impl Attributes {
    const CODEC_MASK: i16 = 0b111;
    /// Bit 3: timestamps are the broker's.
    pub const LOG_APPEND_TIME: i16 = 1 << 3;
    /// Bit 4: part of a transaction.
    pub const TRANSACTIONAL: i16 = 1 << 4;
    /// Bit 5: a control batch, written by brokers alone.
    pub const CONTROL: i16 = 1 << 5;
    /// Bit 6: `base_timestamp` holds the delete horizon.
    pub const DELETE_HORIZON: i16 = 1 << 6;

    /// The codec's number, known or not.
    #[must_use]
    pub fn codec_id(self) -> u8 {
        (self.0 & Attributes::CODEC_MASK) as u8
    }

    /// The codec.
    ///
    /// # Errors
    /// Numbers 5 to 7 name none.
    pub fn compression(self) -> Result<Compression, BatchError> {
        Compression::from_id(self.codec_id()).ok_or(BatchError::UnknownCodec(self.codec_id()))
    }

    /// Whose clock set the timestamps.
    #[must_use]
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & Attributes::LOG_APPEND_TIME == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Is the batch part of a transaction?
    #[must_use]
    pub fn is_transactional(self) -> bool {
        self.0 & Attributes::TRANSACTIONAL != 0
    }

    /// Is it a control batch?
    #[must_use]
    pub fn is_control(self) -> bool {
        self.0 & Attributes::CONTROL != 0
    }

    /// Does `base_timestamp` hold the delete horizon?
    #[must_use]
    pub fn has_delete_horizon(self) -> bool {
        self.0 & Attributes::DELETE_HORIZON != 0
    }
}

/// One whole record batch, borrowed.
#[derive(Clone, Copy)]
pub struct BatchView<'a> {
    bytes: &'a [u8],
}

impl<'a> BatchView<'a> {
    /// Reads the batch at the start of `bytes`; what follows it is left alone.
    ///
    /// # Errors
    /// `Truncated`, `BadLength` or `BadMagic`. The checksum is not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<BatchView<'a>, BatchError> {
        let total = Self::total_bytes(bytes)?;
        if bytes.len() < total {
            return Err(BatchError::Truncated { need: total, have: bytes.len() });
        }
        Ok(BatchView { bytes: &bytes[..total] })
    }

    /// Length in bytes of the batch whose header starts `bytes`, which need not hold all of it (17 bytes suffice).
    ///
    /// # Errors
    /// As [`BatchView::parse`].
    pub fn total_bytes(bytes: &[u8]) -> Result<usize, BatchError> {
        if bytes.len() <= MAGIC_AT {
            return Err(BatchError::Truncated { need: HEADER_BYTES, have: bytes.len() });
        }
        let magic = bytes[MAGIC_AT] as i8;
        let length = i32::from_be_bytes(take(bytes, BATCH_LENGTH_AT));
        if length < (HEADER_BYTES - LOG_OVERHEAD_BYTES) as i32 {
            return Err(BatchError::BadLength(length));
        }
        if magic != 2 {
            return Err(BatchError::BadMagic(magic));
        }
        Ok(length as usize + LOG_OVERHEAD_BYTES)
    }

    /// Every byte of the batch.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Length in bytes, header included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a batch has at least its header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The records as they are, compressed or not.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Offset of the first record, had it survived compaction.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        i64::from_be_bytes(take(self.bytes, 0))
    }

    /// Offset of the last record. Saturates: a header may lie.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset().saturating_add(i64::from(self.last_offset_delta()))
    }

    /// Epoch of the leader that appended it.
    #[must_use]
    pub fn leader_epoch(&self) -> LeaderEpoch {
        i32::from_be_bytes(take(self.bytes, LEADER_EPOCH_AT))
    }

    /// The stored CRC-32C.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        u32::from_be_bytes(take(self.bytes, CRC_AT))
    }

    /// The attribute bits.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        Attributes(i16::from_be_bytes(take(self.bytes, ATTRIBUTES_AT)))
    }

    /// Last offset minus base offset.
    #[must_use]
    pub fn last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(take(self.bytes, LAST_OFFSET_DELTA_AT))
    }

    /// What the records' timestamp deltas count from, in ms since 1970; the delete horizon if that bit is set.
    #[must_use]
    pub fn base_timestamp(&self) -> i64 {
        i64::from_be_bytes(take(self.bytes, BASE_TIMESTAMP_AT))
    }

    /// Largest timestamp of the batch, in ms since 1970.
    #[must_use]
    pub fn max_timestamp(&self) -> i64 {
        i64::from_be_bytes(take(self.bytes, MAX_TIMESTAMP_AT))
    }

    /// Who produced it.
    #[must_use]
    pub fn producer_id(&self) -> ProducerId {
        i64::from_be_bytes(take(self.bytes, PRODUCER_ID_AT))
    }

    /// In which of the producer's lives.
    #[must_use]
    pub fn producer_epoch(&self) -> ProducerEpoch {
        i16::from_be_bytes(take(self.bytes, PRODUCER_EPOCH_AT))
    }

    /// Sequence number of the first record, -1 without a producer id.
    #[must_use]
    pub fn base_sequence(&self) -> i32 {
        i32::from_be_bytes(take(self.bytes, BASE_SEQUENCE_AT))
    }

    /// How many records the header claims. 0 in a batch that compaction emptied.
    #[must_use]
    pub fn records_count(&self) -> i32 {
        i32::from_be_bytes(take(self.bytes, RECORDS_COUNT_AT))
    }

    /// Compares the checksum with the bytes.
    ///
    /// # Errors
    /// `Checksum` with both values.
    pub fn verify_checksum(&self) -> Result<(), BatchError> {
        let stored = self.checksum();
        let computed = checksum_of(self.bytes);
        if stored == computed { Ok(()) } else { Err(BatchError::Checksum { stored, computed }) }
    }
}

impl std::fmt::Debug for BatchView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchView")
            .field("base_offset", &self.base_offset())
            .field("last_offset", &self.last_offset())
            .field("bytes", &self.len())
            .field("leader_epoch", &self.leader_epoch())
            .field("attributes", &self.attributes().0)
            .field("producer", &(self.producer_id(), self.producer_epoch(), self.base_sequence()))
            .field("records", &self.records_count())
            .finish_non_exhaustive()
    }
}

/// CRC-32C of a batch, from its attributes to its end.
#[must_use]
pub fn checksum_of(batch: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(&batch[ATTRIBUTES_AT..])
}

/// CRC-32C of a batch whose header and body lie apart.
pub(super) fn checksum_of_parts(header: &[u8; HEADER_BYTES], body: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&header[ATTRIBUTES_AT..]);
    digest.update(body);
    digest.finalize() as u32
}

/// Writes what a leader assigns: base offset and leader epoch. The checksum stays valid.
///
/// # Panics
/// If `batch` is shorter than a header.
pub fn stamp(batch: &mut [u8], base_offset: Offset, leader_epoch: LeaderEpoch) {
    batch[..8].copy_from_slice(&base_offset.to_be_bytes());
    batch[LEADER_EPOCH_AT..MAGIC_AT].copy_from_slice(&leader_epoch.to_be_bytes());
}

/// The first 16 bytes of a batch with base offset and leader epoch as the leader assigns them, and the length as it was:
/// written in front of `&batch[16..]`, they spare a copy of the received bytes.
#[must_use]
pub fn stamped_prefix(batch: &BatchView<'_>, base_offset: Offset, leader_epoch: LeaderEpoch) -> [u8; MAGIC_AT] {
    let mut prefix: [u8; MAGIC_AT] = take(batch.bytes, 0);
    prefix[..8].copy_from_slice(&base_offset.to_be_bytes());
    prefix[LEADER_EPOCH_AT..].copy_from_slice(&leader_epoch.to_be_bytes());
    prefix
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}
