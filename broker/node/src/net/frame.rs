//! Frames out of a byte stream: an i32 length, then that many bytes.
//!
//! A buffer starts at 4 KiB and grows with what has arrived, at most eightfold a step, never by what a length announces:
//! growing copies. A connection that sends one large frame after another has shown what it sends: a frame no larger than
//! the last ones gets its room in one step. Frames are cut out of the buffer without a copy.
//!
//! Holds: the buffer never holds more than `limit_bytes` + 4 bytes of one frame; what exceeds the first 4 KiB is charged.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::limits::{Budget, Charge, PartialFrame};

const LENGTH_BYTES: usize = 4;
/// What a connection may hold without a charge.
const IDLE_BYTES: usize = 4 << 10;
/// How much is read at once from a connection that sends much.
const BUSY_READ_BYTES: usize = 64 << 10;
/// A buffer grows by at most this factor over what has arrived in it.
const GROWTH: usize = 8;
/// What earlier frames may vouch for, in bytes: all that a connection gets for a frame that it then does not send.
const SHOWN_BYTES_MAX: usize = 4 << 20;

/// One frame, without its length.
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    /// Its share of the budget, held until it is answered.
    pub(crate) charge: Charge,
}

/// Why a connection's input ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    #[error("a frame of {announced} bytes was announced; 1 to {limit} are allowed{}", hint(*.announced))]
    Length { announced: i32, limit: usize },
    #[error("the peer closed the connection {have} bytes into a frame")]
    CutOff { have: usize },
    #[error("memory for requests in flight is used up, and this frame has stood still longest")]
    Evicted,
}

/// What people send to a Kafka port by mistake, seen as a length.
fn hint(announced: i32) -> &'static str {
    let first = announced.to_be_bytes();
    match &first {
        b"GET " | b"POST" | b"HEAD" | b"PUT " => " (this looks like HTTP)",
        [0x16, 0x03, ..] => " (this looks like TLS; the listener is PLAINTEXT)",
        _ => "",
    }
}

pub(crate) struct FrameReader {
    buffer: BytesMut,
    limit_bytes: usize,
    budget: Arc<Budget>,
    charge: Charge,
    partial: Option<PartialFrame>,
    read_bytes: usize,
    /// Length in bytes of the frames that came whole lately, at most `SHOWN_BYTES_MAX`; halved by each that is smaller.
    shown_bytes: usize,
}

impl FrameReader {
    pub(crate) fn new(limit_bytes: usize, budget: &Arc<Budget>) -> FrameReader {
        FrameReader {
            buffer: BytesMut::new(),
            limit_bytes,
            budget: Arc::clone(budget),
            charge: budget.charge(),
            partial: None,
            read_bytes: IDLE_BYTES,
            shown_bytes: 0,
        }
    }

    /// The next frame; `None` when the peer ends between frames.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Poll<Result<Option<Frame>, FrameError>> {
        loop {
            let need = self.needed()?;
            if self.buffer.len() >= need && need > LENGTH_BYTES {
                return Poll::Ready(Ok(Some(self.cut(need))));
            }
            if self.partial.as_ref().is_some_and(|partial| partial.eviction.is_told()) {
                return Poll::Ready(Err(FrameError::Evicted));
            }
            self.make_room(need)?;
            let count = match self.poll_read(cx, reader) {
                Poll::Ready(count) => count?,
                Poll::Pending => {
                    self.give_back_idle_buffer();
                    return Poll::Pending;
                }
            };
            match (count, self.buffer.len()) {
                (0, 0) => return Poll::Ready(Ok(None)),
                (0, have) => return Poll::Ready(Err(FrameError::CutOff { have })),
                _ => self.note_progress(cx),
            }
        }
    }

    /// The next frame, without its length, if it is here already: taking it waits for nobody.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        let need = self.needed().ok().filter(|need| *need > LENGTH_BYTES)?;
        self.buffer.get(LENGTH_BYTES..need)
    }

    /// Bytes that the buffer needs before a frame, or the length of one, can be taken.
    fn needed(&self) -> Result<usize, FrameError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(LENGTH_BYTES) };
        let announced = i32::from_be_bytes(*length);
        match usize::try_from(announced) {
            Ok(length) if length > 0 && length <= self.limit_bytes => Ok(length + LENGTH_BYTES),
            _ => Err(FrameError::Length { announced, limit: self.limit_bytes }),
        }
    }

    fn make_room(&mut self, need: usize) -> Result<(), FrameError> {
        let have = self.buffer.len();
        let vouched = need.min(self.shown_bytes);
        if self.buffer.capacity() - have >= self.read_bytes.min(IDLE_BYTES) && self.buffer.capacity() >= vouched {
            return Ok(());
        }
        let ahead = need.saturating_sub(have).min((have * GROWTH).max(vouched.saturating_sub(have)));
        let more = self.read_bytes.max(ahead);
        if have + more > IDLE_BYTES && !self.charge.grow_to(have + more) {
            return Err(FrameError::Evicted);
        }
        self.buffer.reserve(more);
        Ok(())
    }

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Poll<io::Result<usize>> {
        let room = self.buffer.capacity() - self.buffer.len();
        // A `read_buf` future has no state of its own: dropping a pending one loses nothing.
        let count = ready!(pin!(reader.read_buf(&mut self.buffer)).poll(cx))?;
        self.read_bytes = if count == room { BUSY_READ_BYTES } else { self.read_bytes };
        Poll::Ready(Ok(count))
    }

    fn cut(&mut self, need: usize) -> Frame {
        self.partial = None;
        self.shown_bytes = need.min(SHOWN_BYTES_MAX).max(self.shown_bytes / 2);
        self.buffer.advance(LENGTH_BYTES);
        let bytes = self.buffer.split_to(need - LENGTH_BYTES).freeze();
        let mut charge = std::mem::replace(&mut self.charge, self.budget.charge());
        charge.shrink_to(bytes.len());
        Frame { bytes, charge }
    }

    fn note_progress(&mut self, cx: &Context<'_>) {
        if self.buffer.len() <= IDLE_BYTES {
            return;
        }
        match &mut self.partial {
            Some(partial) => partial.progressed(cx.waker()),
            None => self.partial = Some(self.budget.enter(cx.waker())),
        }
    }

    /// Between frames a connection holds nothing; the next read begins small again unless the peer keeps sending.
    fn give_back_idle_buffer(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.charge.shrink_to(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn next(
        frames: &mut FrameReader,
        reader: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<Option<Bytes>, String> {
        let frame = poll_fn(|cx| frames.poll_frame(cx, reader)).await;
        frame.map(|frame| frame.map(|frame| frame.bytes)).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn frames_are_cut_wherever_the_stream_is_split() {
        let stream: Vec<u8> = [&[0, 0, 0, 2, 1, 2][..], &[0, 0, 0, 1, 3]].concat();
        for split in 0..=stream.len() {
            let (mut client, mut server) = tokio::io::duplex(64);
            let mut frames = FrameReader::new(100, &Budget::new(1 << 20));
            client.write_all(&stream[..split]).await.unwrap();
            client.write_all(&stream[split..]).await.unwrap();
            drop(client);
            assert_eq!(next(&mut frames, &mut server).await.unwrap().unwrap(), &[1, 2][..], "split at {split}");
            assert_eq!(next(&mut frames, &mut server).await.unwrap().unwrap(), &[3][..], "split at {split}");
            assert_eq!(next(&mut frames, &mut server).await.unwrap(), None, "split at {split}");
        }
    }

    #[tokio::test]
    async fn an_announced_length_out_of_bounds_ends_the_input_and_names_the_likely_mistake() {
        for (first, words) in [
            (*b"GET ", "looks like HTTP"),
            ([0x16, 0x03, 0x01, 0x02], "looks like TLS"),
            ([0, 0, 0, 0], "0 bytes"),
            ([0xff; 4], "-1 bytes"),
            (101_i32.to_be_bytes(), "101 bytes"),
        ] {
            let (mut client, mut server) = tokio::io::duplex(64);
            client.write_all(&first).await.unwrap();
            let error = next(&mut FrameReader::new(100, &Budget::new(1 << 20)), &mut server).await.unwrap_err();
            assert!(error.contains(words), "{first:?}: {error}");
        }
    }

    #[tokio::test]
    async fn a_large_frame_grows_the_buffer_with_what_arrives() {
        let (mut client, mut server) = tokio::io::duplex(1 << 16);
        let budget = Budget::new(64 << 20);
        let mut frames = FrameReader::new(100 << 20, &budget);
        client.write_all(&(100_i32 << 20).to_be_bytes()).await.unwrap();
        client.write_all(&[7; 1000]).await.unwrap();
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), next(&mut frames, &mut server)).await;
        assert!(waiting.is_err(), "the frame is not whole");
        assert!(budget.used_bytes() <= 128 << 10, "{} bytes are charged for 1,004 received", budget.used_bytes());
    }

    #[tokio::test]
    async fn earlier_frames_vouch_for_no_more_than_they_were() {
        let (mut client, mut server) = tokio::io::duplex(1 << 20);
        let budget = Budget::new(64 << 20);
        let mut frames = FrameReader::new(100 << 20, &budget);
        let frame = [&300_000_i32.to_be_bytes()[..], &vec![7; 300_000]].concat();
        client.write_all(&frame).await.unwrap();
        assert_eq!(next(&mut frames, &mut server).await.unwrap().unwrap().len(), 300_000);
        client.write_all(&(100_i32 << 20).to_be_bytes()).await.unwrap();
        client.write_all(&[7; 1000]).await.unwrap();
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), next(&mut frames, &mut server)).await;
        assert!(waiting.is_err(), "the frame is not whole");
        assert!(budget.used_bytes() <= 400_000, "{} bytes are charged after 300,004", budget.used_bytes());
    }

    #[tokio::test]
    async fn a_frame_like_the_last_one_gets_its_room_in_one_step() {
        let (mut client, mut server) = tokio::io::duplex(1 << 20);
        let mut frames = FrameReader::new(100 << 20, &Budget::new(64 << 20));
        let frame = [&900_000_i32.to_be_bytes()[..], &vec![7; 900_000]].concat();
        for _ in 0..2 {
            client.write_all(&frame).await.unwrap();
            assert_eq!(next(&mut frames, &mut server).await.unwrap().unwrap().len(), 900_000);
        }
        client.write_all(&frame[..200_000]).await.unwrap();
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), next(&mut frames, &mut server)).await;
        assert!(waiting.is_err(), "the frame is not whole");
        assert!(frames.buffer.capacity() >= 900_004, "{} bytes", frames.buffer.capacity());
    }

    #[tokio::test]
    async fn a_whole_large_frame_arrives_unchanged() {
        let (mut client, mut server) = tokio::io::duplex(1 << 16);
        let body: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        let mut stream = (body.len() as i32).to_be_bytes().to_vec();
        stream.extend_from_slice(&body);
        let writer = tokio::spawn(async move { client.write_all(&stream).await });
        let budget = Budget::new(64 << 20);
        let mut frames = FrameReader::new(100 << 20, &budget);
        assert_eq!(next(&mut frames, &mut server).await.unwrap().unwrap(), body);
        writer.await.unwrap().unwrap();
    }
}
