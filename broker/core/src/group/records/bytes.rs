//! Primitives of Kafka's record schemas: big-endian integers, strings with an i16 length, compact strings and tags.
//!
//! Holds: a reader checks every read against what is left; a count only bounds a loop.

use std::sync::Arc;

use ::bytes::Bytes;

use ballast_wire::Uuid;

use super::RecordError;

/// Longest string that a record can hold, in bytes.
pub const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// Appends an i16 length and the bytes.
pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    let length = i16::try_from(text.len()).expect("whoever makes a record has checked its strings");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string, or length -1 for null.
pub(super) fn put_nullable(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => put_string(out, text),
        None => out.extend_from_slice(&(-1i16).to_be_bytes()),
    }
}

/// Appends an i32 length and the bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = i32::try_from(bytes.len()).expect("a record is shorter than 2 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a compact string: unsigned varint of length + 1, then the bytes.
pub(super) fn put_compact_string(out: &mut Vec<u8>, text: &str) {
    put_varint(out, u32::try_from(text.len()).expect("whoever makes a record has checked its strings") + 1);
    out.extend_from_slice(text.as_bytes());
}

/// Appends an unsigned varint.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads from the front of a slice.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], RecordError> {
        let (head, tail) =
            self.0.split_at_checked(len).ok_or(RecordError::Short { wanted: len, left: self.0.len() })?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take returns as many bytes as were asked for"))
    }

    pub(super) fn i16(&mut self) -> Result<i16, RecordError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, RecordError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64, RecordError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(super) fn uuid(&mut self) -> Result<Uuid, RecordError> {
        Ok(Uuid(self.array()?))
    }

    /// An unsigned varint of at most 32 bits.
    pub(super) fn varint(&mut self) -> Result<u32, RecordError> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array::<1>()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| RecordError::BadLength);
            }
        }
        Err(RecordError::BadLength)
    }

    pub(super) fn string(&mut self) -> Result<&'a str, RecordError> {
        self.nullable()?.ok_or(RecordError::BadLength)
    }

    pub(super) fn nullable(&mut self) -> Result<Option<&'a str>, RecordError> {
        match self.i16()? {
            -1 => Ok(None),
            len => self.text(usize::try_from(len).map_err(|_| RecordError::BadLength)?).map(Some),
        }
    }

    pub(super) fn compact_string(&mut self) -> Result<&'a str, RecordError> {
        self.compact_nullable()?.ok_or(RecordError::BadLength)
    }

    pub(super) fn compact_nullable(&mut self) -> Result<Option<&'a str>, RecordError> {
        match self.varint()? {
            0 => Ok(None),
            len => self.text(len as usize - 1).map(Some),
        }
    }

    fn text(&mut self, len: usize) -> Result<&'a str, RecordError> {
        std::str::from_utf8(self.take(len)?).map_err(|_| RecordError::NotUtf8)
    }

    /// Bytes with an i32 length. A copy: what is kept must not hold on to the batch that it came in.
    pub(super) fn bytes(&mut self) -> Result<Bytes, RecordError> {
        let len = usize::try_from(self.i32()?).map_err(|_| RecordError::BadLength)?;
        Ok(Bytes::copy_from_slice(self.take(len)?))
    }

    pub(super) fn compact_bytes(&mut self) -> Result<Bytes, RecordError> {
        let len = self.varint()?.checked_sub(1).ok_or(RecordError::BadLength)?;
        Ok(Bytes::copy_from_slice(self.take(len as usize)?))
    }

    /// Tagged fields; `read` is given each tag with its bytes.
    pub(super) fn tags(
        &mut self,
        mut read: impl FnMut(u32, Reader<'a>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        for _ in 0..self.varint()? {
            let (tag, size) = (self.varint()?, self.varint()?);
            read(tag, Reader(self.take(size as usize)?))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), RecordError> {
        if self.0.is_empty() { Ok(()) } else { Err(RecordError::Trailing { left: self.0.len() }) }
    }
}

/// Shares a string that is optional.
pub(super) fn shared(text: Option<&str>) -> Option<Arc<str>> {
    text.map(Arc::from)
}
