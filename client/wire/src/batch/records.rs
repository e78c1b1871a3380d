//! The records of a batch, read where they lie.
//!
//! ```text
//! length varint | attributes i8 | timestamp_delta varlong | offset_delta varint
//!   | key length varint, key | value length varint, value | header count varint
//!   | { key length varint, key | value length varint, value }*
//! ```
//! Varints are zig-zag; -1 as a length means null.
//!
//! Holds: framing is checked strictly. Every length stays inside its record, every record fills its length exactly, and
//! the records fill the body exactly. Offset deltas and timestamps are the sender's and are not judged here.

use std::borrow::Cow;
use std::ops::Deref;

use bytes::Bytes;

use super::compress::decompress;
use super::view::{BatchError, BatchView, Compression, TimestampType};
use crate::Offset;

/// Smallest header of a record: two lengths, one byte each.
const HEADER_BYTES_MIN: usize = 2;

/// One record, borrowed from the body of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Offset minus the batch's base offset.
    pub offset_delta: i32,
    /// Timestamp minus the batch's base timestamp, in ms. Use [`Record::timestamp`].
    pub timestamp_delta: i64,
    /// What the record is about.
    pub key: Option<&'a [u8]>,
    /// What it says; null deletes the key on a compacted topic.
    pub value: Option<&'a [u8]>,
    bytes: &'a [u8],
    header_count: usize,
    headers: &'a [u8],
}

impl<'a> Record<'a> {
    /// The whole record as it lies in the body, length included.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Offset of the record.
    #[must_use]
    pub fn offset(&self, batch: &BatchView<'_>) -> Offset {
        batch.base_offset().saturating_add(i64::from(self.offset_delta))
    }

    /// Timestamp in ms since 1970: the batch's own if the broker set it.
    #[must_use]
    pub fn timestamp(&self, batch: &BatchView<'_>) -> i64 {
        match batch.attributes().timestamp_type() {
            TimestampType::CreateTime => batch.base_timestamp().wrapping_add(self.timestamp_delta),
            TimestampType::LogAppendTime => batch.max_timestamp(),
        }
    }

    /// Number of headers.
    #[must_use]
    pub fn header_count(&self) -> usize {
        self.header_count
    }

    /// The headers, in the order sent; a key may come twice.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers { cursor: Cursor(self.headers), left: self.header_count }
    }

    /// The headers as they lie in the record, without their count.
    pub(crate) fn header_bytes(&self) -> &'a [u8] {
        self.headers
    }
}

/// A header of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name.
    pub key: Cow<'a, str>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

/// Iterator over the headers of a record.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (key, value) = self.cursor.header().expect("headers were walked when the record was read");
        Some(Header { key: String::from_utf8_lossy(key), value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// Iterator over the records of an uncompressed body.
///
/// Gives an error once, with the index of the record that is malformed, and then nothing more. Bytes left after the last
/// record are an error at the index after it.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    index: usize,
    count: i64,
}

impl<'a> Records<'a> {
    /// The `count` records that fill `body`. The count is the header's and need not be true.
    #[must_use]
    pub fn new(body: &'a [u8], count: i32) -> Records<'a> {
        Records { cursor: Cursor(body), index: 0, count: i64::from(count) }
    }

    fn fail(&mut self) -> Option<Result<Record<'a>, BatchError>> {
        let index = self.index;
        *self = Records::new(&[], 0);
        Some(Err(BatchError::BadRecord(index)))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index as i64 == self.count {
            return if self.cursor.0.is_empty() { None } else { self.fail() };
        }
        if self.count < 0 {
            return self.fail();
        }
        match self.cursor.record() {
            Some(record) => {
                self.index += 1;
                Some(Ok(record))
            }
            None => self.fail(),
        }
    }
}

/// The body of a batch, opened.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// It was not compressed.
    Borrowed(&'a [u8]),
    /// It was.
    Opened(Bytes),
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Body::Borrowed(bytes) => bytes,
            Body::Opened(bytes) => bytes,
        }
    }
}

impl<'a> BatchView<'a> {
    /// Opens the body: borrowed if it is not compressed, decompressed into at most `limit_bytes` otherwise.
    ///
    /// # Errors
    /// `UnknownCodec`, `BadBody`, or `TooLarge`.
    pub fn open(&self, limit_bytes: usize) -> Result<Body<'a>, BatchError> {
        match self.attributes().compression()? {
            Compression::None => Ok(Body::Borrowed(self.body())),
            codec => decompress(codec, self.body(), limit_bytes).map(Body::Opened),
        }
    }

    /// The records of a body that [`BatchView::open`] gave.
    #[must_use]
    pub fn records_in<'b>(&self, body: &'b [u8]) -> Records<'b> {
        Records::new(body, self.records_count())
    }

    /// The records of an uncompressed batch.
    ///
    /// # Errors
    /// `UnknownCodec`, or `Compressed` with any codec at all.
    pub fn records(&self) -> Result<Records<'a>, BatchError> {
        match self.attributes().compression()? {
            Compression::None => Ok(Records::new(self.body(), self.records_count())),
            codec => Err(BatchError::Compressed(codec)),
        }
    }
}

/// What is left to read. Every method gives `None` at the first thing that cannot be.
#[derive(Debug, Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn bits(&mut self, bytes_max: usize) -> Option<u64> {
        // Nearly every varint of a record is one byte.
        if let [byte @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Some(u64::from(*byte));
        }
        let mut value = 0u64;
        for (index, &byte) in self.0.iter().take(bytes_max).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                return None;
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                self.0 = &self.0[index + 1..];
                return Some(value);
            }
        }
        None
    }

    fn varint(&mut self) -> Option<i32> {
        let raw = u32::try_from(self.bits(5)?).ok()?;
        Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    fn varlong(&mut self) -> Option<i64> {
        let raw = self.bits(10)?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        match self.varint()? {
            -1 => Some(None),
            len => self.take(usize::try_from(len).ok()?).map(Some),
        }
    }

    fn header(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let key = self.nullable()??;
        Some((key, self.nullable()?))
    }

    fn record(&mut self) -> Option<Record<'a>> {
        let start = self.0;
        let len = usize::try_from(self.varint()?).ok()?;
        let mut inside = Cursor(self.take(len)?);
        let bytes = &start[..start.len() - self.0.len()];

        let _attributes = inside.take(1)?;
        let timestamp_delta = inside.varlong()?;
        let offset_delta = inside.varint()?;
        let key = inside.nullable()?;
        let value = inside.nullable()?;
        let header_count = usize::try_from(inside.varint()?).ok()?;
        if header_count > inside.0.len() / HEADER_BYTES_MIN {
            return None;
        }
        let headers = inside.0;
        for _ in 0..header_count {
            inside.header()?;
        }
        if !inside.0.is_empty() {
            return None;
        }
        Some(Record { offset_delta, timestamp_delta, key, value, bytes, header_count, headers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Key "k3" deleted (value null), then two headers: "h1" = "x", "h2" null. As Apache Kafka 4.4 wrote them.
    const TOMBSTONE: &[u8] = &[0x10, 0, 0, 0x06, 0x04, b'k', b'3', 0x01, 0];
    const TWO_HEADERS: &[u8] =
        &[0x24, 0, 0, 0, 0x01, 0x02, b'v', 0x04, 0x04, b'h', b'1', 0x02, b'x', 0x04, b'h', b'2', 0x01];

    fn all(body: &[u8], count: i32) -> Vec<Result<Record<'_>, BatchError>> {
        Records::new(body, count).collect()
    }

    #[test]
    fn records_read_as_apache_kafka_wrote_them() {
        let records = all(TOMBSTONE, 1);
        let record = records[0].unwrap();
        assert_eq!((record.offset_delta, record.key, record.value), (3, Some(&b"k3"[..]), None));
        assert_eq!(record.bytes(), TOMBSTONE);

        let mut with_headers = TWO_HEADERS.to_vec();
        with_headers[0] = (TWO_HEADERS.len() as u8 - 1) * 2;
        let records = all(&with_headers, 1);
        let record = records[0].unwrap();
        let headers: Vec<_> = record.headers().collect();
        assert_eq!(headers.len(), 2);
        assert_eq!((&*headers[0].key, headers[0].value), ("h1", Some(&b"x"[..])));
        assert_eq!((&*headers[1].key, headers[1].value), ("h2", None));
    }

    #[test]
    fn a_body_that_its_records_do_not_fill_is_refused_at_the_first_index_that_is_wrong() {
        let two = [TOMBSTONE, TOMBSTONE].concat();
        assert!(all(&two, 2).iter().all(Result::is_ok));
        assert_eq!(all(&two, 1)[1], Err(BatchError::BadRecord(1)), "bytes are left over");
        assert_eq!(all(&two, 3)[2], Err(BatchError::BadRecord(2)), "a record is missing");
        assert_eq!(all(&two, -1), [Err(BatchError::BadRecord(0))]);
        assert_eq!(all(&two, i32::MAX).len(), 3);
        assert_eq!(all(&[], 0), []);
    }

    #[test]
    fn a_compressed_body_is_not_read_as_it_is() {
        let mut builder = super::super::BatchBuilder::new(Compression::Zstd);
        builder.push(0, None, Some(b"value"), &[]);
        let batch = builder.finish();
        let view = BatchView::parse(&batch).unwrap();
        assert_eq!(view.records().map(Iterator::count), Err(BatchError::Compressed(Compression::Zstd)));
    }

    #[test]
    fn every_truncation_is_refused() {
        for cut in 0..TOMBSTONE.len() {
            assert_eq!(all(&TOMBSTONE[..cut], 1), [Err(BatchError::BadRecord(0))], "cut at {cut}");
        }
    }

    #[test]
    fn lengths_that_leave_the_record_are_refused() {
        for (at, byte) in [(0, 0x0e), (0, 0x12), (0, 0x01), (4, 0x7e), (4, 0x03), (7, 0x02), (8, 0x02), (8, 0x01)] {
            let mut body = TOMBSTONE.to_vec();
            body[at] = byte;
            assert_eq!(all(&body, 1)[0], Err(BatchError::BadRecord(0)), "byte {at} = {byte:#x}");
        }
    }

    #[test]
    fn a_header_without_a_key_is_refused() {
        let body = [0x12, 0, 0, 0, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00];
        assert_eq!(all(&body, 1), [Err(BatchError::BadRecord(0))]);
    }
}
