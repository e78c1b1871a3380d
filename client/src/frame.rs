//! Frames as they come in: a size, then that many bytes.
//!
//! Holds: a frame's announced size never sizes memory. The buffer grows with what has really arrived, and with what the
//! frame before it needed.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The least that a buffer grows by, in bytes.
const GROWTH_BYTES: usize = 64 << 10;
const SIZE_BYTES: usize = 4;

/// Reads frames one after the other.
pub(crate) struct FrameReader<R> {
    reader: R,
    buffer: BytesMut,
    bytes_max: usize,
    /// Size of the frame before, which the peer has proved that it sends.
    seen: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> FrameReader<R> {
        FrameReader { reader, buffer: BytesMut::new(), bytes_max, seen: 0 }
    }

    /// The next frame without its size; `None` if the peer closed between two frames.
    ///
    /// # Errors
    /// `InvalidData` for a size that is negative or above the limit, `UnexpectedEof` within a frame, and what reading gives.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if !self.fill(SIZE_BYTES).await? {
            return Ok(None);
        }
        let size = self.buffer.get_i32();
        let size = usize::try_from(size).ok().filter(|size| *size <= self.bytes_max).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {size} bytes (limit {})", self.bytes_max))
        })?;
        if size > 0 && !self.fill(size).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.seen = size;
        Ok(Some(self.buffer.split_to(size).freeze()))
    }

    /// Reads until `need` bytes are there. False if the peer closed before the first of them.
    async fn fill(&mut self, need: usize) -> io::Result<bool> {
        while self.buffer.len() < need {
            let proved = self.buffer.len().max(self.seen).max(GROWTH_BYTES);
            self.buffer.reserve((need - self.buffer.len()).min(proved));
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.is_empty() { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_found_however_the_bytes_are_split() {
        let stream: Vec<u8> = [&b"\0\0\0\x03abc"[..], b"\0\0\0\0", b"\0\0\0\x01z"].concat();
        let (mut ours, theirs) = tokio::io::duplex(1);
        let writer = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut ours, &stream).await.unwrap();
        });
        let mut frames = FrameReader::new(theirs, 100);
        assert_eq!(frames.next().await.unwrap().unwrap(), "abc");
        assert_eq!(frames.next().await.unwrap().unwrap(), "");
        assert_eq!(frames.next().await.unwrap().unwrap(), "z");
        assert_eq!(frames.next().await.unwrap(), None);
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn a_size_out_of_range_or_a_cut_frame_is_an_error_and_never_sizes_memory() {
        for (bytes, kind) in [
            (&b"\xff\xff\xff\xff"[..], io::ErrorKind::InvalidData),
            (b"\x7f\xff\xff\xff", io::ErrorKind::InvalidData),
            (b"\0\0\0\x05ab", io::ErrorKind::UnexpectedEof),
            (b"\0\0", io::ErrorKind::UnexpectedEof),
        ] {
            let error = FrameReader::new(bytes, 1 << 20).next().await.unwrap_err();
            assert_eq!(error.kind(), kind, "{bytes:?}");
        }
        let mut frames = FrameReader::new(&b"\x3f\xff\xff\xffabc"[..], usize::MAX);
        frames.next().await.unwrap_err();
        assert!(frames.buffer.capacity() < 4 * GROWTH_BYTES, "{} bytes", frames.buffer.capacity());
    }
}
