//! Builds messages: the counterpart of `Reader`.
//!
//! Holds: whatever it writes, a `Reader` of the same form reads back. Strings longer than Kafka allows are clipped at a
//! character: names that long exist only as nonsense that came in and is echoed.

use bytes::Bytes;

use super::Form;
use crate::Uuid;

/// Bytes of a frame's size field.
const SIZE_BYTES: usize = 4;

/// Builds one message, or one whole frame.
#[derive(Debug, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
    form: Form,
}

impl Writer {
    /// An empty message in `form`.
    #[must_use]
    pub fn new(form: Form) -> Writer {
        Writer { bytes: Vec::new(), form }
    }

    /// An empty frame: room for the size, which [`Writer::finish_frame`] fills in.
    #[must_use]
    pub fn frame() -> Writer {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend([0; SIZE_BYTES]);
        Writer { bytes, form: Form::Plain }
    }

    /// Changes the form for what follows.
    pub fn set_form(&mut self, form: Form) {
        self.form = form;
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Is nothing written yet?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is written.
    #[must_use]
    pub fn finish(self) -> Bytes {
        self.bytes.into()
    }

    /// What is written by a writer that began as [`Writer::frame`], with its size in front. `more` bytes of the frame
    /// follow from elsewhere (records that are sent from their files).
    ///
    /// # Panics
    /// If the frame is larger than its size field can say.
    #[must_use]
    pub fn finish_frame(mut self, more: usize) -> Bytes {
        let size = self.bytes.len() - SIZE_BYTES + more;
        let size = i32::try_from(size).unwrap_or_else(|_| panic!("a frame of {size} bytes has no size field"));
        self.bytes[..SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
        self.bytes.into()
    }

    /// One signed byte.
    pub fn i8(&mut self, value: i8) {
        self.bytes.push(value as u8);
    }

    /// 1 or 0.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    /// Two bytes, big endian.
    pub fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }

    /// Four bytes, big endian.
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// Eight bytes, big endian.
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// A double, big endian.
    pub fn f64(&mut self, value: f64) {
        self.raw(&value.to_be_bytes());
    }

    /// An id.
    pub fn uuid(&mut self, value: Uuid) {
        self.raw(&value.0);
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An unsigned varint.
    pub fn uvarint(&mut self, value: u32) {
        put_varint(&mut self.bytes, u64::from(value));
    }

    /// A zig-zag varint.
    pub fn varint(&mut self, value: i32) {
        put_varlong(&mut self.bytes, i64::from(value));
    }

    /// A zig-zag varint of 64 bits.
    pub fn varlong(&mut self, value: i64) {
        put_varlong(&mut self.bytes, value);
    }

    fn length(&mut self, len: Option<usize>, short: bool) {
        assert!(len.unwrap_or(0) <= i32::MAX as usize, "a field of {len:?} bytes or elements has no length field");
        match self.form {
            Form::Flexible => self.uvarint(len.map_or(0, |len| len as u32 + 1)),
            Form::Plain if short => self.i16(len.map_or(-1, |len| len as i16)),
            Form::Plain => self.i32(len.map_or(-1, |len| len as i32)),
        }
    }

    /// A string.
    pub fn string(&mut self, value: &str) {
        self.nullable_string(Some(value));
    }

    /// A string, or null.
    pub fn nullable_string(&mut self, value: Option<&str>) {
        let value = value.map(clipped);
        self.length(value.map(str::len), true);
        self.raw(value.unwrap_or_default().as_bytes());
    }

    /// Bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        self.nullable_bytes(Some(value));
    }

    /// Bytes, or null.
    pub fn nullable_bytes(&mut self, value: Option<&[u8]>) {
        self.bytes_length(value.map(<[u8]>::len));
        self.raw(value.unwrap_or_default());
    }

    /// The length of bytes that follow from elsewhere.
    pub fn bytes_length(&mut self, len: Option<usize>) {
        self.length(len, false);
    }

    /// The count of an array whose elements are written next, `None` for a null array.
    pub fn count(&mut self, count: Option<usize>) {
        self.length(count, false);
    }

    /// An array.
    pub fn array<T>(&mut self, elements: &[T], mut element: impl FnMut(&mut Writer, &T)) {
        self.count(Some(elements.len()));
        for value in elements {
            element(self, value);
        }
    }

    /// The end of a struct without tagged fields.
    pub fn no_tags(&mut self) {
        self.tag_count(0);
    }

    /// How many tagged fields follow; nothing in the plain form, where none may.
    pub fn tag_count(&mut self, count: usize) {
        if self.form == Form::Flexible {
            self.uvarint(count as u32);
        }
    }

    /// One tagged field. Tags of a struct must rise.
    pub fn tag(&mut self, tag: u32, field: impl FnOnce(&mut Writer)) {
        debug_assert_eq!(self.form, Form::Flexible, "tag {tag} in a form without tags");
        let mut inner = Writer::new(self.form);
        field(&mut inner);
        self.uvarint(tag);
        self.uvarint(inner.len() as u32);
        self.raw(&inner.bytes);
    }
}

/// As much of `text` as a string may have.
fn clipped(text: &str) -> &str {
    let mut end = text.len().min(i16::MAX as usize);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Appends an unsigned varint.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a zig-zag varint.
pub(crate) fn put_varlong(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_string_beyond_the_limit_is_clipped_at_a_character() {
        let text = "é".repeat(20_000);
        for form in [Form::Plain, Form::Flexible] {
            let mut writer = Writer::new(form);
            writer.string(&text);
            let bytes = writer.finish();
            assert_eq!(Reader::new(&bytes, form).string().unwrap().len(), 32_766);
        }
    }

    #[test]
    fn a_frame_counts_what_follows_its_size() {
        let mut writer = Writer::frame();
        writer.i16(7);
        assert_eq!(writer.finish_frame(3)[..], [0, 0, 0, 5, 0, 7]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            flexible: bool, small: i32, large: i64, unsigned: u32, text in proptest::option::of(".{0,40}"),
            blob in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200)),
            numbers in proptest::collection::vec(any::<i32>(), 0..20),
        ) {
            let form = Form::of(flexible);
            let mut writer = Writer::new(form);
            writer.varint(small);
            writer.varlong(large);
            writer.uvarint(unsigned);
            writer.nullable_string(text.as_deref());
            writer.nullable_bytes(blob.as_deref());
            writer.array(&numbers, |writer, &number| writer.i32(number));
            writer.no_tags();
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes, form);
            prop_assert_eq!(reader.varint(), Ok(small));
            prop_assert_eq!(reader.varlong(), Ok(large));
            prop_assert_eq!(reader.uvarint(), Ok(unsigned));
            let read = reader.nullable_string().unwrap();
            prop_assert_eq!(read.as_deref(), text.as_deref());
            prop_assert_eq!(reader.nullable_bytes().unwrap(), blob.as_deref());
            prop_assert_eq!(reader.array(4, Reader::i32), Ok(numbers));
            prop_assert_eq!(reader.skip_tags(), Ok(()));
            prop_assert_eq!(reader.remaining(), 0);
        }
    }
}
