//! One connection, as one task: frames come in, answers go out in the order of their requests.
//!
//! ```text
//! reader -> FrameReader -> Service::start -> slots (front = oldest) -> out -> SendHalf
//! ```
//! A request takes effect when it is started, and starts only after all before it have. It may start while earlier ones
//! still wait, if those said that they only wait (`overlaps`: a produce for its replicas, a fetch for its bytes);
//! everything else is finished first. Answers leave in order whatever finishes first.
//!
//! Some only queue what they bring when they start, and write it when they are polled first (`gathers`: a produce). Those
//! that have come in together are all started before any is polled: one write then takes what all of them have queued, and
//! whoever waits for records is woken once. What is started is polled before `poll` returns, so nothing stays queued.
//!
//! Nothing more is read while answers wait for the peer to take them, or while `IN_FLIGHT_MAX` requests are unanswered:
//! a full pipe stops reading, it never grows.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ballast_net::{BoxFuture, Connection, SendHalf};
use ballast_wire::Chunk;
use tokio::io::AsyncRead;
use tokio::time::{Instant, Sleep};

use super::frame::{Frame, FrameError, FrameReader};
use super::limits::Budget;

/// Unanswered requests of one connection. Clients keep 5 produces in flight by default.
const IN_FLIGHT_MAX: usize = 64;
/// Pieces of finished answers that may wait for the next one.
const HELD_PIECES_MAX: usize = 16;

/// What goes back for a request.
pub(crate) enum Answer {
    /// A whole frame, length included.
    Send(VecDeque<Chunk>),
    /// Nothing: a produce that asked for no acknowledgement.
    Silent,
    /// Nothing, and the connection ends: the request cannot be answered.
    Close(String),
    /// The same through no fault of who asks: this broker cannot answer anybody now.
    Away(&'static str),
}

/// A request under way.
pub(crate) struct Started {
    pub(crate) answer: BoxFuture<'static, Answer>,
    /// May the next request start before this one is answered?
    pub(crate) overlaps: bool,
}

/// What a connection does with its frames.
pub(crate) trait Service: Send + Sync {
    /// Starts a request. An error ends the connection; its text is logged.
    fn start(&self, frame: Frame) -> Result<Started, String>;

    /// Is it the same to this request whether those before it have been polled yet?
    fn gathers(&self, frame: &[u8]) -> bool;
}

/// Limits of one connection.
#[derive(Clone)]
pub(crate) struct ConnLimits {
    pub(crate) frame_bytes_max: usize,
    pub(crate) idle_max: Duration,
    pub(crate) budget: Arc<Budget>,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CloseReason {
    #[error("the peer closed it")]
    Peer,
    #[error("it was idle for {0:?}")]
    Idle(Duration),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Away(&'static str),
    #[error("sending failed: {0}")]
    Send(io::Error),
    #[error("the broker stops")]
    Stopping,
}

impl CloseReason {
    /// Is it worth a line in the log at warn, or is it everyday life?
    pub(crate) fn is_notable(&self) -> bool {
        matches!(self, CloseReason::Refused(_) | CloseReason::Frame(FrameError::Length { .. } | FrameError::Evicted))
    }
}

enum Slot {
    Waiting(Started),
    Done(Answer),
}

struct Conn<S> {
    service: S,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn SendHalf>,
    frames: FrameReader,
    slots: VecDeque<Slot>,
    out: VecDeque<Chunk>,
    /// Set when nothing more is read: what is started is still answered, then the connection ends with this reason.
    ending: Option<CloseReason>,
    idle_max: Duration,
    last_activity: Instant,
    idle: Pin<Box<Sleep>>,
}

/// Serves a connection until it ends, and says why it did. `stop` ends it between requests.
pub(crate) async fn serve(
    connection: Connection,
    service: impl Service,
    limits: ConnLimits,
    stop: impl Future<Output = ()> + Send,
) -> CloseReason {
    let now = Instant::now();
    let mut conn = Conn {
        service,
        reader: connection.reader,
        writer: connection.writer,
        frames: FrameReader::new(limits.frame_bytes_max, &limits.budget),
        slots: VecDeque::new(),
        out: VecDeque::new(),
        ending: None,
        idle_max: limits.idle_max,
        last_activity: now,
        idle: Box::pin(tokio::time::sleep_until(now + limits.idle_max)),
    };
    let mut stop = std::pin::pin!(stop);
    let mut stopping = false;
    poll_fn(move |cx| {
        if !stopping && stop.as_mut().poll(cx).is_ready() {
            stopping = true;
            conn.end(CloseReason::Stopping);
        }
        conn.poll(cx)
    })
    .await
}

impl<S: Service> Conn<S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        loop {
            if self.may_gather() && self.poll_start(cx) {
                continue;
            }
            self.poll_slots(cx);
            self.collect_answers();
            if self.may_hold_answers() && self.poll_start(cx) {
                continue;
            }
            let sent = match self.poll_send(cx) {
                Err(error) => return Poll::Ready(CloseReason::Send(error)),
                Ok(sent) => sent,
            };
            if self.slots.is_empty()
                && self.out.is_empty()
                && let Some(reason) = self.ending.take()
            {
                return Poll::Ready(reason);
            }
            if !sent || !self.may_start() || !self.poll_start(cx) {
                break;
            }
        }
        self.poll_idle(cx)
    }

    fn poll_slots(&mut self, cx: &mut Context<'_>) {
        for slot in &mut self.slots {
            if let Slot::Waiting(started) = slot
                && let Poll::Ready(answer) = started.answer.as_mut().poll(cx)
            {
                *slot = Slot::Done(answer);
            }
        }
    }

    /// Moves the finished answers at the front to the output.
    fn collect_answers(&mut self) {
        while let Some(Slot::Done(_)) = self.slots.front() {
            match self.slots.pop_front() {
                Some(Slot::Done(Answer::Send(pieces))) => self.out.extend(pieces),
                Some(Slot::Done(Answer::Close(why))) => {
                    self.slots.clear();
                    self.end(CloseReason::Refused(why));
                }
                Some(Slot::Done(Answer::Away(why))) => {
                    self.slots.clear();
                    self.end(CloseReason::Away(why));
                }
                _ => {}
            }
        }
    }

    /// Has everything gone out?
    fn poll_send(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.out.is_empty() {
            return Ok(true);
        }
        match self.writer.poll_send(cx, &mut self.out) {
            Poll::Ready(outcome) => {
                self.last_activity = Instant::now();
                outcome.map(|()| true)
            }
            Poll::Pending => Ok(false),
        }
    }

    fn may_start(&self) -> bool {
        let only_overlapping = || self.slots.iter().all(|slot| !matches!(slot, Slot::Waiting(s) if !s.overlaps));
        self.ending.is_none() && self.slots.len() < IN_FLIGHT_MAX && only_overlapping()
    }

    /// Shall a request that is here already start before those that have started are polled?
    fn may_gather(&self) -> bool {
        self.may_start() && self.frames.peek().is_some_and(|frame| self.service.gathers(frame))
    }

    /// May answers wait while a request that is here already takes effect? They then go out together: a client that keeps
    /// five produces in flight is woken, and we enter the kernel, once instead of five times.
    fn may_hold_answers(&self) -> bool {
        self.out.len() < HELD_PIECES_MAX && self.may_start() && self.frames.peek().is_some()
    }

    /// Starts the next request, if one has come in. False when there is nothing to do until woken.
    fn poll_start(&mut self, cx: &mut Context<'_>) -> bool {
        let Poll::Ready(frame) = self.frames.poll_frame(cx, &mut *self.reader) else { return false };
        self.last_activity = Instant::now();
        match frame {
            Ok(Some(frame)) => match self.service.start(frame) {
                Ok(started) => self.slots.push_back(Slot::Waiting(started)),
                Err(why) => self.end(CloseReason::Refused(why)),
            },
            // A peer that closes its sending half still gets its answers.
            Ok(None) => self.end(CloseReason::Peer),
            Err(error) => self.end(CloseReason::Frame(error)),
        }
        true
    }

    fn end(&mut self, reason: CloseReason) {
        self.ending.get_or_insert(reason);
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        while self.idle.as_mut().poll(cx).is_ready() {
            let due = self.last_activity + self.idle_max;
            if due <= Instant::now() {
                return Poll::Ready(CloseReason::Idle(self.idle_max));
            }
            self.idle.as_mut().reset(due);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
