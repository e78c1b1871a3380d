//! A cursor over received bytes, with every primitive that Kafka's messages are made of.
//!
//! Holds: it never reads past its bytes and never allocates by a number that it read. Strings of bad UTF-8 are read with
//! replacement characters, as Kafka reads them; negative lengths are null, whatever the number.

use std::borrow::Cow;

use super::{Form, WireError};
use crate::Uuid;

/// Most array elements that one body may announce, over all its arrays: several times the partitions of the largest
/// brokers. Keeps a decoded request near a hundred megabytes, whatever the size of its frame.
pub const ROWS_MAX: usize = 1 << 20;

/// Elements that an array may have room for before the first of them has been read.
const RESERVED_MAX: usize = 64;

/// Most bytes of a string, in either form (Kafka's own limit).
const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// Smallest tagged field: tag and size, one byte each.
const TAG_BYTES_MIN: usize = 2;

/// A cursor over received bytes.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    form: Form,
    rows_left: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first of `bytes`, which are in `form`.
    #[must_use]
    pub fn new(bytes: &'a [u8], form: Form) -> Reader<'a> {
        Reader { bytes, at: 0, form, rows_left: ROWS_MAX }
    }

    /// Changes the form for what follows.
    pub fn set_form(&mut self, form: Form) {
        self.form = form;
    }

    /// Bytes read so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `len` bytes as they are.
    ///
    /// # Errors
    /// `Truncated`, as for everything below.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        if len > self.remaining() {
            return Err(WireError::Truncated { at: self.at, need: len, have: self.remaining() });
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        Ok(self.take(N)?.try_into().expect("take(N) gives N bytes"))
    }

    /// One byte.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.fixed::<1>()?[0])
    }

    /// One signed byte.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn i8(&mut self) -> Result<i8, WireError> {
        Ok(self.u8()? as i8)
    }

    /// A byte that is 0 or not.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn bool(&mut self) -> Result<bool, WireError> {
        Ok(self.u8()? != 0)
    }

    /// Two bytes, big endian.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn i16(&mut self) -> Result<i16, WireError> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }

    /// Four bytes, big endian.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }

    /// Four bytes, big endian, unsigned.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.fixed()?))
    }

    /// Eight bytes, big endian.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn i64(&mut self) -> Result<i64, WireError> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }

    /// A double, big endian.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn f64(&mut self) -> Result<f64, WireError> {
        Ok(f64::from_be_bytes(self.fixed()?))
    }

    /// Sixteen bytes of an id.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn uuid(&mut self) -> Result<Uuid, WireError> {
        Ok(Uuid(self.fixed()?))
    }

    /// An unsigned varint of at most 32 bits.
    ///
    /// # Errors
    /// `Truncated` or `Varint`.
    pub fn uvarint(&mut self) -> Result<u32, WireError> {
        let at = self.at;
        u32::try_from(self.varint_bits(5)?).map_err(|_| WireError::Varint { at })
    }

    /// A zig-zag varint of at most 32 bits.
    ///
    /// # Errors
    /// `Truncated` or `Varint`.
    pub fn varint(&mut self) -> Result<i32, WireError> {
        let raw = self.uvarint()?;
        Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    /// A zig-zag varint of at most 64 bits.
    ///
    /// # Errors
    /// `Truncated` or `Varint`.
    pub fn varlong(&mut self) -> Result<i64, WireError> {
        let raw = self.varint_bits(10)?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    fn varint_bits(&mut self, bytes_max: u32) -> Result<u64, WireError> {
        let at = self.at;
        let mut value = 0u64;
        for index in 0..bytes_max {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if index == 9 && bits > 1 {
                return Err(WireError::Varint { at });
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Varint { at })
    }

    /// The length of a string (`short`) or of anything else, `None` for null.
    fn length(&mut self, short: bool) -> Result<Option<usize>, WireError> {
        let signed = match self.form {
            Form::Plain if short => i64::from(self.i16()?),
            Form::Plain => i64::from(self.i32()?),
            Form::Flexible => i64::from(self.uvarint()?) - 1,
        };
        Ok(usize::try_from(signed).ok())
    }

    /// A string, or null.
    ///
    /// # Errors
    /// `Truncated`, `Varint` or `LongString`.
    pub fn nullable_string(&mut self) -> Result<Option<Cow<'a, str>>, WireError> {
        let at = self.at;
        let Some(len) = self.length(true)? else {
            return Ok(None);
        };
        if len > STRING_BYTES_MAX {
            return Err(WireError::LongString { at, len });
        }
        Ok(Some(String::from_utf8_lossy(self.take(len)?)))
    }

    /// A string.
    ///
    /// # Errors
    /// As [`Reader::nullable_string`], and `Null`.
    pub fn string(&mut self) -> Result<Cow<'a, str>, WireError> {
        let at = self.at;
        self.nullable_string()?.ok_or(WireError::Null { at })
    }

    /// Bytes, or null.
    ///
    /// # Errors
    /// `Truncated` or `Varint`.
    pub fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        match self.length(false)? {
            None => Ok(None),
            Some(len) => self.take(len).map(Some),
        }
    }

    /// Bytes.
    ///
    /// # Errors
    /// As [`Reader::nullable_bytes`], and `Null`.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let at = self.at;
        self.nullable_bytes()?.ok_or(WireError::Null { at })
    }

    /// The count of an array whose elements take at least `element_bytes_min`, `None` for null.
    ///
    /// # Errors
    /// `TooMany` when that many cannot follow; `Truncated` or `Varint`.
    ///
    /// # Panics
    /// If `element_bytes_min` is 0: every element of a Kafka message takes a byte.
    pub fn nullable_count(&mut self, element_bytes_min: usize) -> Result<Option<usize>, WireError> {
        let at = self.at;
        let Some(count) = self.length(false)? else {
            return Ok(None);
        };
        let max = (self.remaining() / element_bytes_min).min(self.rows_left);
        if count > max {
            return Err(WireError::TooMany { at, count: count as u64, max });
        }
        self.rows_left -= count;
        Ok(Some(count))
    }

    /// An array, or null. See [`Reader::nullable_count`] for what bounds it.
    ///
    /// # Errors
    /// As [`Reader::nullable_count`], and whatever an element gives.
    pub fn nullable_array<T>(
        &mut self,
        element_bytes_min: usize,
        mut element: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Result<Option<Vec<T>>, WireError> {
        let Some(count) = self.nullable_count(element_bytes_min)? else {
            return Ok(None);
        };
        let mut elements = Vec::with_capacity(count.min(RESERVED_MAX));
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(Some(elements))
    }

    /// An array.
    ///
    /// # Errors
    /// As [`Reader::nullable_array`], and `Null`.
    pub fn array<T>(
        &mut self,
        element_bytes_min: usize,
        element: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let at = self.at;
        self.nullable_array(element_bytes_min, element)?.ok_or(WireError::Null { at })
    }

    /// The tagged fields at the end of a struct; none in the plain form. `field` sees each tag with a reader over its
    /// bytes, in the order sent (Kafka accepts any), and ignores those that it does not know.
    ///
    /// # Errors
    /// `TooMany`, `Truncated`, `Varint`, and whatever `field` gives.
    pub fn tags(
        &mut self,
        mut field: impl FnMut(u32, &mut Reader<'a>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        if self.form == Form::Plain {
            return Ok(());
        }
        let at = self.at;
        let count = self.uvarint()?;
        let max = self.remaining() / TAG_BYTES_MIN;
        if count as usize > max {
            return Err(WireError::TooMany { at, count: u64::from(count), max });
        }
        for _ in 0..count {
            let tag = self.uvarint()?;
            let len = self.uvarint()? as usize;
            let mut inner = Reader { rows_left: self.rows_left, ..Reader::new(self.take(len)?, self.form) };
            field(tag, &mut inner)?;
        }
        Ok(())
    }

    /// Passes over the tagged fields at the end of a struct, if the form has them.
    ///
    /// # Errors
    /// As [`Reader::tags`].
    pub fn skip_tags(&mut self) -> Result<(), WireError> {
        self.tags(|_, _| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> Reader<'_> {
        Reader::new(bytes, Form::Plain)
    }

    fn flexible(bytes: &[u8]) -> Reader<'_> {
        Reader::new(bytes, Form::Flexible)
    }

    #[test]
    fn every_negative_length_reads_as_null() {
        assert_eq!(plain(&[0xff, 0xff]).nullable_string(), Ok(None));
        assert_eq!(plain(&[0xff, 0xfe]).nullable_string(), Ok(None));
        assert_eq!(plain(&[0x80, 0, 0, 0]).nullable_bytes(), Ok(None));
        assert_eq!(flexible(&[0]).nullable_string(), Ok(None));
        assert_eq!(plain(&[0xff, 0xff]).string(), Err(WireError::Null { at: 0 }));
    }

    #[test]
    fn bad_utf8_is_replaced_not_refused() {
        assert_eq!(flexible(&[3, b'a', 0xff]).string().unwrap(), "a\u{fffd}");
    }

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_refused() {
        let mut bytes = i32::MAX.to_be_bytes().to_vec();
        bytes.extend([0; 8]);
        let error = plain(&bytes).array(4, Reader::i32).unwrap_err();
        assert_eq!(error, WireError::TooMany { at: 0, count: i32::MAX as u64, max: 2 });
        assert_eq!(plain(&[0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 8]).array(4, Reader::i32), Ok(vec![7, 8]));
    }

    #[test]
    fn one_body_holds_no_more_than_rows_max_elements() {
        let mut bytes = (ROWS_MAX as i32 + 1).to_be_bytes().to_vec();
        bytes.resize(4 + ROWS_MAX + 1, 0);
        let error = plain(&bytes).array(1, Reader::u8).unwrap_err();
        assert_eq!(error, WireError::TooMany { at: 0, count: ROWS_MAX as u64 + 1, max: ROWS_MAX });
        // Two arrays share the limit.
        let mut reader = plain(&[0, 0, 0, 1, 9]);
        reader.rows_left = 0;
        assert!(matches!(reader.array(1, Reader::u8), Err(WireError::TooMany { max: 0, .. })));
    }

    #[test]
    fn unknown_tags_are_passed_over_in_any_order_and_twice() {
        let bytes = [3, 9, 1, 0xaa, 2, 2, 0xbb, 0xbb, 9, 0, 0x7f];
        let mut seen = Vec::new();
        let mut reader = flexible(&bytes);
        reader
            .tags(|tag, field| {
                seen.push((tag, field.remaining()));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [(9, 1), (2, 2), (9, 0)]);
        assert_eq!(reader.u8(), Ok(0x7f));
    }

    #[test]
    fn varints_span_their_type_and_no_more() {
        assert_eq!(flexible(&[0xff, 0xff, 0xff, 0xff, 0x0f]).uvarint(), Ok(u32::MAX));
        assert_eq!(flexible(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint(), Ok(i32::MIN));
        assert_eq!(flexible(&[0xff, 0xff, 0xff, 0xff, 0x1f]).uvarint(), Err(WireError::Varint { at: 0 }));
        assert_eq!(flexible(&[0x80; 5]).uvarint(), Err(WireError::Varint { at: 0 }));
        let longest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(flexible(&longest).varlong(), Ok(i64::MIN));
        assert_eq!(flexible(&[0xff; 10]).varlong(), Err(WireError::Varint { at: 0 }));
    }
}
