//! A message of which some bytes stay where they are: records on their way from a log or a producer to a socket.
//!
//! Everything else is written into one buffer; when the message is finished, that buffer is cut at the places where the
//! foreign bytes belong. Nothing is copied, and a message without foreign bytes is one chunk.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use super::{ApiKey, Form, RequestHeader, Writer, encode_response_header};
use crate::Chunk;

/// A message under construction. Write as into a [`Writer`], and [`Pieces::insert`] the rest.
#[derive(Debug)]
pub struct Pieces {
    writer: Writer,
    /// What belongs in front of the written byte at each position.
    inserted: Vec<(usize, Chunk)>,
    inserted_bytes: usize,
}

impl Pieces {
    /// A body alone, of this API in this version.
    #[must_use]
    pub fn body(key: ApiKey, version: i16) -> Pieces {
        Pieces::after(Writer::new(Form::of(key.is_flexible(version))))
    }

    /// A whole request frame, begun with its header. End it with [`Pieces::finish_frame`].
    #[must_use]
    pub fn request_frame(header: &RequestHeader<'_>) -> Pieces {
        let mut writer = Writer::frame();
        header.encode(&mut writer);
        Pieces::after(writer)
    }

    /// A whole response frame, begun with its header. End it with [`Pieces::finish_frame`].
    #[must_use]
    pub fn response_frame(key: ApiKey, version: i16, correlation_id: i32) -> Pieces {
        let mut writer = Writer::frame();
        encode_response_header(&mut writer, key, version, correlation_id);
        Pieces::after(writer)
    }

    /// Goes on after what `writer` has written.
    #[must_use]
    pub fn after(writer: Writer) -> Pieces {
        Pieces { writer, inserted: Vec::new(), inserted_bytes: 0 }
    }

    /// Puts `chunk` behind what is written so far.
    pub fn insert(&mut self, chunk: Chunk) {
        if !chunk.is_empty() {
            self.inserted_bytes += chunk.len();
            self.inserted.push((self.writer.len(), chunk));
        }
    }

    /// The message, in the order in which it goes out.
    #[must_use]
    pub fn finish(self) -> VecDeque<Chunk> {
        cut(self.writer.finish(), self.inserted)
    }

    /// The frame, in the order in which it goes out, with its size in front.
    ///
    /// # Panics
    /// If the frame is larger than its size field can say (2 GiB).
    #[must_use]
    pub fn finish_frame(self) -> VecDeque<Chunk> {
        cut(self.writer.finish_frame(self.inserted_bytes), self.inserted)
    }
}

fn cut(mut written: bytes::Bytes, inserted: Vec<(usize, Chunk)>) -> VecDeque<Chunk> {
    let mut chunks = VecDeque::with_capacity(2 * inserted.len() + 1);
    let mut done = 0;
    for (position, chunk) in inserted {
        if position > done {
            chunks.push_back(Chunk::Owned(written.split_to(position - done)));
            done = position;
        }
        chunks.push_back(chunk);
    }
    if !written.is_empty() {
        chunks.push_back(Chunk::Owned(written));
    }
    chunks
}

impl Deref for Pieces {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Pieces {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(chunks: &VecDeque<Chunk>) -> Vec<u8> {
        chunks.iter().flat_map(|chunk| chunk.bytes().unwrap()).collect()
    }

    #[test]
    fn inserted_bytes_stand_where_they_were_inserted_and_are_counted() {
        let mut pieces = Pieces::response_frame(ApiKey::FETCH, 4, 1);
        pieces.insert(Chunk::from(vec![0xaa, 0xbb]));
        pieces.insert(Chunk::from(vec![0xcc]));
        pieces.i16(5);
        pieces.insert(Chunk::from(Vec::new()));
        pieces.insert(Chunk::from(vec![0xdd]));
        let chunks = pieces.finish_frame();
        assert_eq!(joined(&chunks), [0, 0, 0, 10, 0, 0, 0, 1, 0xaa, 0xbb, 0xcc, 0, 5, 0xdd]);
        assert_eq!(chunks.len(), 5);
    }

    #[test]
    fn a_message_without_insertions_is_one_chunk() {
        let mut pieces = Pieces::body(ApiKey::FETCH, 12);
        assert!(Pieces::body(ApiKey::FETCH, 12).finish().is_empty());
        pieces.string("x");
        assert_eq!(joined(&pieces.finish()), [2, b'x']);
    }
}
