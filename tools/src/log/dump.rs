//! `ballast log dump`: prints what is in a file, in the order in which it lies there.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ballast_wire::batch::{BatchView, Record, TimestampType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::batches::{BatchFile, Step};
use super::files::{Kind, base_offset, belongs, entries, kind};
use super::indexes;
use crate::error::Failure;
use crate::output::time;

/// A batch that decompresses to more than this is not opened.
const OPENED_BYTES_MAX: usize = 1 << 30;

pub(super) fn run(path: &Path, records: bool, as_json: bool) -> Result<(), Failure> {
    let files = if path.is_dir() {
        entries(path)?.into_iter().filter(|path| path.is_file() && belongs(path)).collect()
    } else {
        vec![path.to_owned()]
    };
    if files.is_empty() {
        return Err(Failure::at(path, "holds no file of a log: give a partition's folder or one file"));
    }
    let mut dump = Dump { out: BufWriter::new(io::stdout().lock()), records, as_json, first: true };
    let result = dump.files(&files);
    dump.out.flush()?;
    result
}

struct Dump<W> {
    out: W,
    records: bool,
    as_json: bool,
    /// No row of the present list was printed yet.
    first: bool,
}

impl<W: Write> Dump<W> {
    fn files(&mut self, files: &[std::path::PathBuf]) -> Result<(), Failure> {
        if self.as_json {
            self.out.write_all(b"{\"files\":[")?;
        }
        for (at, file) in files.iter().enumerate() {
            if self.as_json {
                let comma = if at == 0 { "" } else { "," };
                let name = Value::from(file.display().to_string());
                write!(self.out, "{comma}{{\"file\":{name},\"entries\":[")?;
            } else {
                writeln!(self.out, "{}", file.display())?;
            }
            self.first = true;
            let result = self.file(file);
            if self.as_json {
                self.out.write_all(b"]}")?;
            }
            if result.is_err() && self.as_json {
                self.out.write_all(b"]}\n")?;
            }
            result?;
        }
        if self.as_json {
            self.out.write_all(b"]}\n")?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(kind) = kind(path) else {
            return Err(Failure::at(path, "its name is not that of a segment, index, snapshot or checkpoint"));
        };
        let rows = match kind {
            Kind::Batches => return self.batches(path),
            Kind::OffsetIndex | Kind::TimeIndex => index_rows(kind, path)?,
            Kind::TxnIndex => {
                let entries = indexes::txn_entries(&indexes::read(path)?);
                entries.iter().map(|entry| (txn_text(entry), json!(entry))).collect()
            }
            Kind::ProducerSnapshot => {
                let producers = indexes::producers(&indexes::read(path)?).map_err(|e| Failure::at(path, e))?;
                producers.iter().map(|entry| (producer_text(entry), json!(entry))).collect()
            }
            Kind::Text => {
                let text = String::from_utf8_lossy(&indexes::read(path)?).into_owned();
                text.lines().map(|line| (format!("  {line}"), json!(line))).collect()
            }
        };
        for (text, object) in rows {
            self.row(|| text, || object)?;
        }
        Ok(())
    }

    fn row(&mut self, text: impl FnOnce() -> String, object: impl FnOnce() -> Value) -> Result<(), Failure> {
        if self.as_json {
            let comma = if std::mem::take(&mut self.first) { "" } else { "," };
            write!(self.out, "{comma}{}", object())?;
        } else {
            writeln!(self.out, "{}", text())?;
        }
        Ok(())
    }

    fn batches(&mut self, path: &Path) -> Result<(), Failure> {
        let mut file = BatchFile::open(path)?;
        loop {
            match file.step().map_err(|e| Failure::at(path, e))? {
                Step::End => return Ok(()),
                Step::Zeros { bytes } => {
                    let position = file.position;
                    return self.row(
                        || format!("  position {position}  {bytes} zero bytes to the end"),
                        || json!({ "position": position, "zero_bytes": bytes }),
                    );
                }
                Step::Bad(error) => {
                    return Err(Failure::at(path, format!("no batch at byte {}: {error}", file.position)));
                }
                Step::Batch => {}
            }
            let bytes = std::mem::take(&mut file.bytes);
            let batch = BatchView::parse(&bytes).map_err(|e| Failure::at(path, e))?;
            let (position, valid) = (file.position, batch.verify_checksum().is_ok());
            if self.records {
                self.batch_with_records(path, position, valid, &batch)?;
            } else {
                self.row(|| batch_text(position, valid, &batch), || batch_json(position, valid, &batch))?;
            }
            file.bytes = bytes;
        }
    }

    fn batch_with_records(
        &mut self,
        path: &Path,
        position: u64,
        valid: bool,
        batch: &BatchView<'_>,
    ) -> Result<(), Failure> {
        let fail = |e| Failure::at(path, format!("the batch at byte {position} does not open: {e}"));
        let body = batch.open(OPENED_BYTES_MAX).map_err(fail)?;
        let records: Vec<Record<'_>> = batch.records_in(&body).collect::<Result<_, _>>().map_err(fail)?;
        self.row(
            || {
                let lines: Vec<String> = records.iter().map(|record| record_text(batch, record)).collect();
                [batch_text(position, valid, batch), lines.join("\n")].join("\n").trim_end().to_owned()
            },
            || {
                let mut object = batch_json(position, valid, batch);
                object["records"] = records.iter().map(|record| record_json(batch, record)).collect();
                object
            },
        )
    }
}

/// Entries of an offset or time index, as text and as JSON.
fn index_rows(kind: Kind, path: &Path) -> Result<Vec<(String, Value)>, Failure> {
    let base = base_offset(path).unwrap_or(0);
    let bytes = indexes::read(path)?;
    let offset = |relative: i32| base.saturating_add(i64::from(relative));
    if kind == Kind::OffsetIndex {
        let row = |entry: indexes::OffsetEntry| {
            let (offset, position) = (offset(entry.relative_offset), entry.position);
            (format!("  offset {offset}  position {position}"), json!({ "offset": offset, "position": position }))
        };
        return Ok(indexes::offset_entries(&bytes).into_iter().map(row).collect());
    }
    let row = |entry: indexes::TimeEntry| {
        let (offset, ms) = (offset(entry.relative_offset), entry.timestamp);
        let text = format!("  timestamp {ms} ({})  offset {offset}", time(ms));
        (text, json!({ "timestamp": ms, "offset": offset }))
    };
    Ok(indexes::time_entries(&bytes).into_iter().map(row).collect())
}

fn txn_text(entry: &indexes::TxnEntry) -> String {
    let indexes::TxnEntry { producer_id, first_offset, last_offset, last_stable_offset, .. } = entry;
    format!("  producer {producer_id}  aborted {first_offset} to {last_offset}  last stable {last_stable_offset}")
}

fn producer_text(entry: &indexes::ProducerEntry) -> String {
    let transaction = match entry.current_txn_first_offset {
        -1 => "none".to_owned(),
        first => format!("since {first}"),
    };
    format!(
        "  producer {}  epoch {}  last sequence {}  last offset {} ({} records)  at {}  open transaction {transaction}",
        entry.producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        entry.last_offset,
        entry.offset_delta + 1,
        time(entry.timestamp),
    )
}

fn batch_text(position: u64, valid: bool, batch: &BatchView<'_>) -> String {
    let attributes = batch.attributes();
    let codec = attributes.compression().map_or_else(|e| e.to_string(), |codec| format!("{codec:?}").to_lowercase());
    let mut text = format!(
        "  offsets {} to {}  position {position}  {} bytes  {} records  {codec}  epoch {}  max time {}",
        batch.base_offset(),
        batch.last_offset(),
        batch.len(),
        batch.records_count(),
        batch.leader_epoch(),
        time(batch.max_timestamp()),
    );
    if batch.producer_id() >= 0 {
        let (id, epoch, sequence) = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        text.push_str(&format!("  producer {id} epoch {epoch} sequence {sequence}"));
    }
    for (is, word) in [
        (attributes.timestamp_type() == TimestampType::LogAppendTime, "  log append time"),
        (attributes.is_transactional(), "  transactional"),
        (attributes.is_control(), "  control"),
        (attributes.has_delete_horizon(), "  delete horizon"),
        (!valid, "  CHECKSUM WRONG"),
    ] {
        if is {
            text.push_str(word);
        }
    }
    text
}

fn batch_json(position: u64, valid: bool, batch: &BatchView<'_>) -> Value {
    let attributes = batch.attributes();
    json!({
        "base_offset": batch.base_offset(),
        "last_offset": batch.last_offset(),
        "position": position,
        "bytes": batch.len(),
        "records_count": batch.records_count(),
        "compression": attributes.compression().map(|codec| format!("{codec:?}").to_lowercase()).ok(),
        "leader_epoch": batch.leader_epoch(),
        "base_timestamp": batch.base_timestamp(),
        "max_timestamp": batch.max_timestamp(),
        "log_append_time": attributes.timestamp_type() == TimestampType::LogAppendTime,
        "producer_id": batch.producer_id(),
        "producer_epoch": batch.producer_epoch(),
        "base_sequence": batch.base_sequence(),
        "transactional": attributes.is_transactional(),
        "control": attributes.is_control(),
        "checksum": batch.checksum(),
        "valid": valid,
    })
}

fn record_text(batch: &BatchView<'_>, record: &Record<'_>) -> String {
    let show = |bytes: Option<&[u8]>| bytes.map_or_else(|| "null".to_owned(), |b| b.escape_ascii().to_string());
    let mut text = format!(
        "    offset {}  time {}  key {}  value {}",
        record.offset(batch),
        time(record.timestamp(batch)),
        show(record.key),
        show(record.value),
    );
    for header in record.headers() {
        text.push_str(&format!("  header {}={}", header.key, show(header.value)));
    }
    text
}

fn record_json(batch: &BatchView<'_>, record: &Record<'_>) -> Value {
    let encode = |bytes: Option<&[u8]>| bytes.map(|bytes| STANDARD.encode(bytes));
    let headers: Vec<Value> =
        record.headers().map(|header| json!({ "key": header.key, "value_base64": encode(header.value) })).collect();
    json!({
        "offset": record.offset(batch),
        "timestamp": record.timestamp(batch),
        "key_base64": encode(record.key),
        "value_base64": encode(record.value),
        "headers": headers,
    })
}
