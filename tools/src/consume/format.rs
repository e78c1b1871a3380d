//! How one record is printed.

use std::io::{self, Write};

use ballast_client::consumer::Record;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer as _};

/// The form of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// One JSON object a line.
    Json,
    /// Pieces one after the other.
    Pattern(Vec<Piece>),
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Key,
    Value,
    Headers,
    Topic,
    Partition,
    Offset,
    Timestamp,
}

impl Format {
    /// Reads `--format`.
    pub(super) fn parse(text: &str) -> Result<Format, String> {
        let newline = || Piece::Text(b"\n".to_vec());
        match text {
            "json" => return Ok(Format::Json),
            "value" => return Ok(Format::Pattern(vec![Piece::Value, newline()])),
            "key-value" => {
                return Ok(Format::Pattern(vec![Piece::Key, Piece::Text(b"\t".to_vec()), Piece::Value, newline()]));
            }
            _ if !text.contains(['%', '\\']) => {
                return Err("expected value, key-value, json, or a pattern with %v and the like".to_owned());
            }
            _ => {}
        }
        let mut pieces = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let piece = match c {
                '%' => match chars.next() {
                    Some('k') => Piece::Key,
                    Some('v') => Piece::Value,
                    Some('h') => Piece::Headers,
                    Some('t') => Piece::Topic,
                    Some('p') => Piece::Partition,
                    Some('o') => Piece::Offset,
                    Some('T') => Piece::Timestamp,
                    Some('%') => Piece::Text(b"%".to_vec()),
                    other => return Err(format!("%{} means nothing", other.map_or(String::new(), String::from))),
                },
                '\\' => match chars.next() {
                    Some('n') => newline(),
                    Some('t') => Piece::Text(b"\t".to_vec()),
                    Some('0') => Piece::Text(b"\0".to_vec()),
                    Some(other) => Piece::Text(other.to_string().into_bytes()),
                    None => Piece::Text(b"\\".to_vec()),
                },
                other => Piece::Text(other.to_string().into_bytes()),
            };
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(more)) => before.extend(more),
                (_, piece) => pieces.push(piece),
            }
        }
        Ok(Format::Pattern(pieces))
    }

    /// Writes one record.
    pub(super) fn write(&self, out: &mut impl Write, topic: &str, partition: i32, record: &Record) -> io::Result<()> {
        match self {
            Format::Json => write_json(out, topic, partition, record),
            Format::Pattern(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => out.write_all(text)?,
                        Piece::Key => out.write_all(record.key.as_deref().unwrap_or_default())?,
                        Piece::Value => out.write_all(record.value.as_deref().unwrap_or_default())?,
                        Piece::Headers => write_headers(out, record)?,
                        Piece::Topic => out.write_all(topic.as_bytes())?,
                        Piece::Partition => write!(out, "{partition}")?,
                        Piece::Offset => write!(out, "{}", record.offset)?,
                        Piece::Timestamp => write!(out, "{}", record.timestamp)?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// `a=1,b=2`, as kcat prints them; a header without a value is its name alone.
fn write_headers(out: &mut impl Write, record: &Record) -> io::Result<()> {
    for (at, (name, value)) in record.headers.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        out.write_all(name.as_bytes())?;
        if let Some(value) = value {
            out.write_all(b"=")?;
            out.write_all(value)?;
        }
    }
    Ok(())
}

fn write_json(out: &mut impl Write, topic: &str, partition: i32, record: &Record) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *out);
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry("topic", topic)?;
    object.serialize_entry("partition", &partition)?;
    object.serialize_entry("offset", &record.offset)?;
    object.serialize_entry("timestamp", &record.timestamp)?;
    entry(&mut object, "key", record.key.as_deref())?;
    entry(&mut object, "value", record.value.as_deref())?;
    object.serialize_entry("headers", &Headers(record))?;
    serde::ser::SerializeMap::end(object)?;
    out.write_all(b"\n")
}

/// Text as it is, anything else as base64 under `<name>_base64`.
fn entry<M: serde::ser::SerializeMap>(object: &mut M, name: &str, value: Option<&[u8]>) -> Result<(), M::Error> {
    match value.map(std::str::from_utf8) {
        None => object.serialize_entry(name, &None::<&str>),
        Some(Ok(text)) => object.serialize_entry(name, text),
        Some(Err(_)) => object.serialize_entry(&format!("{name}_base64"), &STANDARD.encode(value.unwrap_or_default())),
    }
}

struct Headers<'a>(&'a Record);

impl serde::Serialize for Headers<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.headers.len()))?;
        for (name, value) in &self.0.headers {
            list.serialize_element(&HeaderEntry(name, value.as_deref()))?;
        }
        list.end()
    }
}

struct HeaderEntry<'a>(&'a str, Option<&'a [u8]>);

impl serde::Serialize for HeaderEntry<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("key", self.0)?;
        entry(&mut object, "value", self.1)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use ballast_wire::batch::TimestampType;
    use bytes::Bytes;

    use super::*;

    fn record() -> Record {
        Record {
            offset: 7,
            timestamp: 1_000,
            timestamp_type: TimestampType::CreateTime,
            key: Some(Bytes::from_static(b"k")),
            value: Some(Bytes::from_static(b"v\xff")),
            headers: vec![("a".into(), Some(Bytes::from_static(b"1"))), ("b".into(), None)],
            leader_epoch: 0,
        }
    }

    fn printed(format: &str, record: &Record) -> Vec<u8> {
        let mut out = Vec::new();
        Format::parse(format).unwrap().write(&mut out, "t", 3, record).unwrap();
        out
    }

    #[test]
    fn patterns_put_the_parts_of_a_record_where_they_say() {
        assert_eq!(printed("%t-%p@%o %T [%k] %h 100%%\\n", &record()), b"t-3@7 1000 [k] a=1,b 100%\n");
        assert_eq!(printed("value", &record()), b"v\xff\n");
        assert_eq!(printed("key-value", &record()), b"k\tv\xff\n");
        let mut tombstone = record();
        (tombstone.key, tombstone.value) = (None, None);
        assert_eq!(printed("key-value", &tombstone), b"\t\n");
    }

    #[test]
    fn json_keeps_text_readable_and_bytes_exact() {
        let line = printed("json", &record());
        let object: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(object["key"], "k");
        assert_eq!(object["value_base64"], "dv8=");
        assert_eq!(object["offset"], 7);
        assert_eq!(object["headers"][1]["value"], serde_json::Value::Null);
        assert_eq!(line.last(), Some(&b'\n'));
    }

    #[test]
    fn a_pattern_that_means_nothing_is_refused() {
        for bad in ["", "values", "%q", "%"] {
            assert!(Format::parse(bad).is_err(), "{bad:?}");
        }
    }
}
