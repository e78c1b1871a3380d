//! What may be appended: judging and rewriting a batch before any lock is taken (kafka.md §2.2, §2.3).
//!
//! ```text
//! one batch? ── size, checksum ── header ── records (walked where they lie, or opened) ── rewritten
//! ```
//! Compressed batches stay shut: they are judged by header and checksum, and opened only on a compacted topic (null keys),
//! for another codec, or if the topic asks for it. Uncompressed ones are walked record by record.
//!
//! Holds: Kafka's order of tests decides which cause is named. One bad record refuses the whole batch, and no state was
//! touched, so the client may send again under the same sequence. The received bytes are kept; what changes in a header is
//! a header of its own.
//!
//! Read next: `records`.

mod records;

use ballast_wire::batch::rewrite::{HeaderBytes, with_create_time, with_log_append_time};
use ballast_wire::batch::{Attributes, BatchError, BatchView, Compression, ControlRecord, TimestampType};
use bytes::Bytes;

use self::records::{Judged, judge_records, judge_shut};
use crate::config::{LogConfig, TopicCompression};
use crate::error::AppendError;
use crate::header::Header;

/// The first Produce version whose clients know zstd.
const ZSTD_PRODUCE_VERSION: i16 = 7;
/// Fewer bytes after a batch are dropped without a word: they hold no header.
const STRAY_BYTES_MAX: usize = 16;

/// Who made a batch, which decides what it may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A producer.
    Client {
        /// Version of its Produce request: zstd needs 7.
        produce_version: i16,
        /// Does it use transactions v2? Then a transactional producer that is not known must begin at sequence 0.
        transactions_v2: bool,
    },
    /// The broker itself: coordinators and transaction markers. Control batches and any sequence are allowed.
    Broker,
}

/// One batch that may be appended: whole, of format 2, its checksum right, its records judged, rewritten if the topic asks
/// for it. Offsets and epoch are not yet assigned.
#[derive(Debug, Clone)]
pub struct ValidBatch {
    pub(crate) bytes: Bytes,
    /// Takes the place of the first 61 bytes.
    pub(crate) rewritten: Option<Box<HeaderBytes>>,
    pub(crate) header: Header,
    pub(crate) marker: Option<Marker>,
    /// A producer that is not known must begin at sequence 0.
    pub(crate) from_zero: bool,
    pub(crate) log_append_time_ms: i64,
}

impl ValidBatch {
    /// Length in bytes as it will be stored.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.header.size
    }

    /// Number of records.
    #[must_use]
    pub fn records_count(&self) -> i32 {
        self.header.records_count
    }

    /// Whose, in which of its lives, and from which sequence on; `None` without a producer id.
    #[must_use]
    pub fn producer(&self) -> Option<(i64, i16, i32)> {
        let header = &self.header;
        header.has_producer().then_some((header.producer_id, header.producer_epoch, header.base_sequence))
    }

    /// Is it part of a transaction?
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.header.attributes.is_transactional()
    }
}

/// Judges the records of one partition in a Produce request. Needs no lock.
///
/// # Errors
/// Why it may not be appended; Kafka's order of tests decides which cause is named when there are several.
pub fn validate(records: &Bytes, config: &LogConfig, origin: Origin, now_ms: i64) -> Result<ValidBatch, AppendError> {
    let batch = the_one_batch(records)?;
    if let Origin::Client { produce_version, .. } = origin
        && batch.attributes().codec_id() == Compression::Zstd as u8
        && produce_version < ZSTD_PRODUCE_VERSION
    {
        return Err(AppendError::UnsupportedCompression);
    }
    if batch.base_offset() != 0 {
        return Err(invalid(format!("the base offset is {}, a producer's must be 0", batch.base_offset())));
    }
    check_size(batch.len() as u64, config)?;
    batch.verify_checksum().map_err(AppendError::Corrupt)?;
    if batch.len() as u64 > config.segment_bytes {
        return Err(AppendError::RecordListTooLarge { bytes: batch.len() as u64, max: config.segment_bytes });
    }
    let codec = check_header(&batch, origin)?;
    let marker = marker_of(&batch).map_err(|_| invalid("a control record is malformed".to_owned()))?;
    let from_zero =
        matches!(origin, Origin::Client { transactions_v2: true, .. } if batch.attributes().is_transactional());

    let judged = judge(&batch, codec, config, now_ms)?;
    let bytes = match judged.rebuilt {
        Some(rebuilt) => rebuilt,
        None => records.slice(..batch.len()),
    };
    let rewritten = rewritten_header(&bytes, judged.max_timestamp, config, now_ms);
    let header = match &rewritten {
        Some(header) => Header::parse(header),
        None => Header::parse(&bytes),
    };
    let header = header.expect("it was a batch before it was rewritten");
    check_size(header.size, config)?;
    let log_append_time_ms = if config.timestamp_type == TimestampType::LogAppendTime { now_ms } else { -1 };
    Ok(ValidBatch { bytes, rewritten: rewritten.map(Box::new), header, marker, from_zero, log_append_time_ms })
}

/// A transaction's end, as its marker tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) commit: bool,
    pub(crate) coordinator_epoch: i32,
}

/// The transaction's end that a batch marks, if it does.
pub(crate) fn marker_of(batch: &BatchView<'_>) -> Result<Option<Marker>, BatchError> {
    if !batch.attributes().is_control() {
        return Ok(None);
    }
    let Some(record) = batch.records()?.next() else { return Ok(None) };
    match ControlRecord::parse(&record?).ok_or(BatchError::BadRecord(0))? {
        ControlRecord::EndTxn { committed, coordinator_epoch } => {
            Ok(Some(Marker { commit: committed, coordinator_epoch }))
        }
        ControlRecord::Other(_) => Ok(None),
    }
}

fn invalid(message: String) -> AppendError {
    AppendError::InvalidRecord { message, records: Vec::new() }
}

fn the_one_batch(records: &[u8]) -> Result<BatchView<'_>, AppendError> {
    let batch = match BatchView::parse(records) {
        Ok(batch) => batch,
        Err(BatchError::Truncated { .. }) => return Err(AppendError::NotOneBatch("the records hold no whole batch")),
        Err(error) => return Err(AppendError::Corrupt(error)),
    };
    let rest = &records[batch.len()..];
    if rest.len() > STRAY_BYTES_MAX {
        match BatchView::parse(rest) {
            Ok(_) => return Err(AppendError::NotOneBatch("the records hold more than one batch")),
            // A second one that is cut off is dropped without a word.
            Err(BatchError::Truncated { .. }) => {}
            Err(error) => return Err(AppendError::Corrupt(error)),
        }
    }
    Ok(batch)
}

fn check_size(bytes: u64, config: &LogConfig) -> Result<(), AppendError> {
    if bytes > config.max_message_bytes {
        return Err(AppendError::MessageTooLarge { bytes, max: config.max_message_bytes });
    }
    Ok(())
}

fn check_header(batch: &BatchView<'_>, origin: Origin) -> Result<Compression, AppendError> {
    let (count, last_delta) = (batch.records_count(), batch.last_offset_delta());
    if count <= 0 || last_delta.checked_add(1) != Some(count) {
        return Err(invalid(format!("{count} records do not match the last offset delta {last_delta}")));
    }
    let codec = batch.attributes().compression().map_err(|error| invalid(error.to_string()))?;
    if matches!(origin, Origin::Client { .. }) {
        if batch.attributes().is_control() {
            return Err(invalid("a client may not write control records".to_owned()));
        }
        if batch.producer_id() >= 0 && batch.base_sequence() < 0 {
            return Err(invalid(format!("producer {} sent sequence {}", batch.producer_id(), batch.base_sequence())));
        }
    }
    Ok(codec)
}

/// Judges the records as far as this topic wants to see them.
fn judge(batch: &BatchView<'_>, codec: Compression, config: &LogConfig, now_ms: i64) -> Result<Judged, AppendError> {
    let wanted = match config.compression {
        TopicCompression::Codec { codec: wanted, level } if wanted != codec && !batch.attributes().is_control() => {
            Some((wanted, level))
        }
        _ => None,
    };
    let is_shut =
        codec != Compression::None && wanted.is_none() && !config.validate_compressed && !config.cleanup.compact;
    if is_shut {
        return judge_shut(batch, config, now_ms);
    }
    judge_records(batch, wanted, config, now_ms)
}

/// A header of its own, if the batch's may not stay as it is.
fn rewritten_header(batch: &[u8], max_timestamp: i64, config: &LogConfig, now_ms: i64) -> Option<HeaderBytes> {
    let batch = BatchView::parse(batch).expect("it was parsed before");
    let is_broker_time = batch.attributes().0 & Attributes::LOG_APPEND_TIME != 0;
    match config.timestamp_type {
        TimestampType::LogAppendTime => Some(with_log_append_time(&batch, now_ms)),
        TimestampType::CreateTime if is_broker_time || batch.max_timestamp() != max_timestamp => {
            Some(with_create_time(&batch, max_timestamp))
        }
        TimestampType::CreateTime => None,
    }
}

#[cfg(test)]
mod tests;
