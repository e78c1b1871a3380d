//! Big-endian primitives of the metadata format: a writer that appends and a reader that never trusts a length.

use ballast_wire::Uuid;

use super::DecodeError;

pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).expect("a string in metadata is shorter than 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn put_nullable(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_string(out, text);
    }
}

pub(super) fn put_list<T>(out: &mut Vec<u8>, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    let count = u32::try_from(items.len()).expect("a list in metadata has fewer than 2^32 elements");
    out.extend_from_slice(&count.to_be_bytes());
    for item in items {
        put(out, item);
    }
}

/// Reads from the front of a slice. Every read is checked against what is left.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) =
            self.0.split_at_checked(len).ok_or(DecodeError::Short { wanted: len, left: self.0.len() })?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take returns as many bytes as were asked for"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::BadValue { what: "a boolean", value: i64::from(other) }),
        }
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(super) fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        Ok(Uuid(self.array()?))
    }

    pub(super) fn string(&mut self) -> Result<String, DecodeError> {
        let len = self.u32()?;
        let bytes = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError::NotUtf8)
    }

    pub(super) fn nullable(&mut self) -> Result<Option<String>, DecodeError> {
        if self.bool()? { self.string().map(Some) } else { Ok(None) }
    }

    /// Reads a counted list. The count only bounds the loop: memory grows with the bytes that are really there.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    pub(super) fn finish(self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Trailing { left: self.0.len() }) }
    }
}
