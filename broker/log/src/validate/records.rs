//! The records of a batch, one by one: keys, times, framing.

use ballast_wire::batch::{BatchBuilder, BatchError, BatchView, Compression, Record, TimestampType};
use bytes::Bytes;

use super::invalid;
use crate::config::LogConfig;
use crate::error::{AppendError, RecordError};

/// Faults of records that are told; a client does not read more.
const RECORD_ERRORS_MAX: usize = 1000;

/// What came of judging records.
pub(super) struct Judged {
    /// The true maximum of their timestamps, or the header's for a batch that stays shut.
    pub(super) max_timestamp: i64,
    /// The batch in another codec.
    pub(super) rebuilt: Option<Bytes>,
}

/// Why a record is refused.
enum Fault {
    Time(String),
    Key,
}

/// A compressed batch that is not opened: its largest timestamp is believed, and judged.
pub(super) fn judge_shut(batch: &BatchView<'_>, config: &LogConfig, now_ms: i64) -> Result<Judged, AppendError> {
    let max_timestamp = batch.max_timestamp();
    if let Some(message) = time_fault(batch, max_timestamp, config, now_ms) {
        let records = vec![RecordError { index: 0, message: message.clone() }];
        return Err(AppendError::InvalidTimestamp { message, records });
    }
    Ok(Judged { max_timestamp, rebuilt: None })
}

/// Opens the batch if need be, walks its records, and builds it anew in another codec if that is wanted.
pub(super) fn judge_records(
    batch: &BatchView<'_>,
    wanted: Option<(Compression, Option<i32>)>,
    config: &LogConfig,
    now_ms: i64,
) -> Result<Judged, AppendError> {
    let is_compressed = batch.attributes().codec_id() != 0;
    let body = batch.open(config.opened_bytes_max(batch.len())).map_err(|error| match error {
        BatchError::TooLarge(max) => AppendError::MessageTooLarge { bytes: max as u64 + 1, max: max as u64 },
        other => invalid(other.to_string()),
    })?;
    let mut faults = Vec::new();
    let mut has_time_fault = false;
    let mut max_timestamp = -1;
    let mut deltas_rise_by_one = true;
    for (index, record) in batch.records_in(&body).enumerate() {
        let record = record.map_err(|error| {
            let message = error.to_string();
            let records = vec![RecordError { index: index as i32, message: message.clone() }];
            AppendError::InvalidRecord { message, records }
        })?;
        let timestamp = record.timestamp(batch);
        max_timestamp = max_timestamp.max(timestamp);
        deltas_rise_by_one &= record.offset_delta == index as i32;
        if let Some(fault) = record_fault(batch, &record, timestamp, config, now_ms)
            && faults.len() < RECORD_ERRORS_MAX
        {
            has_time_fault |= matches!(fault, Fault::Time(_));
            faults.push(RecordError { index: index as i32, message: fault.message() });
        }
    }
    if let Some(first) = faults.first() {
        let message = format!("record {} of the batch: {}", first.index, first.message);
        return Err(if has_time_fault {
            AppendError::InvalidTimestamp { message, records: faults }
        } else {
            AppendError::InvalidRecord { message, records: faults }
        });
    }
    // An uncompressed batch is stored as sent, as Kafka does; one that is built anew gets the deltas that it should have.
    if is_compressed && wanted.is_none() && !deltas_rise_by_one {
        return Err(invalid("offset deltas of the records do not rise by one".to_owned()));
    }
    let rebuilt = wanted.map(|(codec, level)| rebuild(batch, &body, codec, level, deltas_rise_by_one));
    Ok(Judged { max_timestamp, rebuilt: rebuilt.transpose().map_err(|error| invalid(error.to_string()))? })
}

impl Fault {
    fn message(self) -> String {
        match self {
            Fault::Time(message) => message,
            Fault::Key => "Compacted topic cannot accept message without key.".to_owned(),
        }
    }
}

fn record_fault(
    batch: &BatchView<'_>,
    record: &Record<'_>,
    timestamp: i64,
    config: &LogConfig,
    now_ms: i64,
) -> Option<Fault> {
    if config.cleanup.compact && record.key.is_none() && !batch.attributes().is_control() {
        return Some(Fault::Key);
    }
    time_fault(batch, timestamp, config, now_ms).map(Fault::Time)
}

fn time_fault(batch: &BatchView<'_>, timestamp: i64, config: &LogConfig, now_ms: i64) -> Option<String> {
    if config.timestamp_type == TimestampType::CreateTime && timestamp != -1 {
        let (before, after) = (config.timestamp_before_max_ms, config.timestamp_after_max_ms);
        let is_early = now_ms.saturating_sub(timestamp) > before;
        let is_late = timestamp.saturating_sub(now_ms) > after;
        let earliest = now_ms.saturating_sub(before);
        let latest = now_ms.saturating_add(after);
        return (is_early || is_late)
            .then(|| format!("Timestamp {timestamp} of message is out of range: {earliest} to {latest} are allowed."));
    }
    (batch.attributes().timestamp_type() == TimestampType::LogAppendTime).then(|| {
        "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.".to_owned()
    })
}

/// The batch in another codec, records as they were.
fn rebuild(
    batch: &BatchView<'_>,
    body: &[u8],
    codec: Compression,
    level: Option<i32>,
    keep_deltas: bool,
) -> Result<Bytes, BatchError> {
    let mut builder = BatchBuilder::in_place_of(batch, codec).level(level);
    for (index, record) in batch.records_in(body).enumerate() {
        let mut record = record?;
        if !keep_deltas {
            record.offset_delta = index as i32;
        }
        builder.push_copy(&record, record.timestamp(batch));
    }
    Ok(builder.finish())
}
