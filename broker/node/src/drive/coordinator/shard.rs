//! One coordinator: a shard behind a lock, and the task that loads it, steps its deadlines and tells it what is committed.
//!
//! ```text
//! ask: lock { step; queue appends; hand out answers } -> write (no lock) -> settle: lock { what is committed? }
//! run: load -> serve { a deadline, the oldest append, news } -> an append failed -> load again
//! ```
//! Holds:
//!   1. Appends are queued under the shard's lock, so that they lie in the log in the order of their tickets. They are
//!      written outside of it.
//!   2. Every request that has not been answered has its sender in `waiting`; ending the shard refuses all of them.
//!   3. `in_flight` is what is queued and not known to be committed, oldest first. Only its front is awaited.
//!
//! Read next: `state` (what it is at a moment), `ballast_core::group` (what a shard decides).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Poll;
use std::time::Duration;

use ballast_core::group::{Effect, Event, GroupConfig, Input, Loading, Request, Shard, Ticket};
use ballast_core::machine::Machine as _;
use ballast_log::AppendError;
use ballast_wire::Offset;
use ballast_wire::batch::Compression;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use super::state::{Active, Answer, InFlight, State, Unavailable, unavailable};
use super::{Surroundings, append, load};
use crate::drive::partition::Partition;
use crate::drive::waiters::Kept;

/// Pause before a partition that failed is loaded again: what failed a moment ago fails again at once. It doubles with each
/// failure, up to the longest; a shard that has served for as long as that begins with the shortest.
const RELOAD_PAUSE: Duration = Duration::from_millis(100);
const RELOAD_PAUSE_MAX: Duration = Duration::from_secs(5);
const NOTHING_QUEUED: Offset = -1;

/// One partition's coordinator.
pub(crate) struct Coordinator {
    around: Arc<Surroundings>,
    partition: Arc<Partition>,
    config: Mutex<GroupConfig>,
    state: Mutex<State>,
    /// Last offset that is queued and that nobody has set out to write; `NOTHING_QUEUED` otherwise.
    queued: AtomicI64,
    /// The task has something new to look at.
    news: Notify,
}

impl Coordinator {
    /// One that is still to be loaded.
    pub(super) fn new(around: Arc<Surroundings>, partition: Arc<Partition>, config: GroupConfig) -> Coordinator {
        let state = Mutex::new(State::Loading(Vec::new()));
        let (config, queued) = (Mutex::new(config), AtomicI64::new(NOTHING_QUEUED));
        Coordinator { around, partition, config, state, queued, news: Notify::new() }
    }

    /// The partition that it leads.
    pub(super) fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// Asks, and waits for the answer. Join and Sync wait for other members.
    ///
    /// # Errors
    /// Why nobody answers. What was asked may still have been done, if appending it failed late.
    pub(crate) async fn ask(&self, request: Request) -> Answer {
        let must_write = !matches!(request, Request::Heartbeat(_));
        if must_write && self.partition.is_under_min_isr() {
            return Err(Unavailable::NotAvailable);
        }
        let answer = {
            let mut state = self.state.lock();
            let State::Active(active) = &mut *state else { return Err(state.why_not()) };
            let (sender, answer) = oneshot::channel();
            let id = active.next_id;
            active.next_id += 1;
            active.waiting.insert(id, sender);
            self.step(&mut state, Event::Request { id, request });
            answer
        };
        self.settle();
        // A sender that is gone went with its shard.
        answer.await.unwrap_or(Err(Unavailable::NotCoordinator))
    }

    /// Reads what is committed.
    ///
    /// # Errors
    /// Why nobody answers.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Shard) -> T) -> Result<T, Unavailable> {
        let state = self.state.lock();
        match &*state {
            State::Active(active) => Ok(read(&active.shard)),
            other => Err(other.why_not()),
        }
    }

    /// Tells the shard what has happened, as soon as there is one.
    pub(super) fn tell(&self, event: Event) {
        {
            let mut state = self.state.lock();
            match &mut *state {
                State::Loading(events) => events.push(event),
                State::Active(_) => self.step(&mut state, event),
                State::Ended(_) => {}
            }
        }
        self.settle();
    }

    /// Tells the shard its settings, if they have changed.
    pub(super) fn configure(&self, config: GroupConfig) {
        let is_new = {
            let mut known = self.config.lock();
            let is_new = *known != config;
            known.clone_from(&config);
            is_new
        };
        if is_new {
            self.tell(Event::Configured(config));
        }
    }

    /// Ends it: who waits is refused, and so is who comes.
    pub(super) fn end(&self, why: Unavailable) {
        let ended = std::mem::replace(&mut *self.state.lock(), State::Ended(why));
        ended.refuse(why);
    }

    /// Begins at once if there is nothing to load: who made the topic to use it does not have to ask again.
    pub(super) fn begin_if_empty(&self) {
        let log = &self.partition.log;
        if log.start() == log.end() {
            let config = self.config.lock().clone();
            self.activate(Loading::new(config));
        }
    }

    /// Loads and serves until it is aborted.
    pub(super) async fn run(self: Arc<Self>) {
        // Begun already, if the log was empty.
        self.serve().await;
        let mut pause = RELOAD_PAUSE;
        loop {
            let began = Instant::now();
            let buffer_bytes = self.around.settings.now().groups.offsets_load_buffer_bytes;
            let config = self.config.lock().clone();
            let (topic, partition) = (&self.partition.topic, self.partition.index);
            match load::load(&self.partition, config, buffer_bytes).await {
                Ok(loaded) => {
                    self.activate(loaded);
                    self.serve().await;
                }
                Err(error) => tracing::error!(%topic, partition, %error, "groups cannot be loaded; trying again"),
            }
            pause = if began.elapsed() > RELOAD_PAUSE_MAX { RELOAD_PAUSE } else { pause };
            sleep(pause).await;
            pause = (pause * 2).min(RELOAD_PAUSE_MAX);
        }
    }

    fn activate(&self, loaded: Loading) {
        let shard = loaded.finish(self.around.ticks.now(), self.around.clock.now_ms());
        {
            let mut state = self.state.lock();
            let events = match &mut *state {
                State::Loading(events) => std::mem::take(events),
                // Aborted a moment ago.
                State::Active(_) | State::Ended(_) => return,
            };
            *state = State::Active(Box::new(Active::new(shard)));
            for event in events {
                self.step(&mut state, event);
            }
        }
        self.settle();
    }

    /// Until the shard is no longer active.
    async fn serve(&self) {
        loop {
            let (wake_at, late_at) = match &mut *self.state.lock() {
                State::Active(active) => {
                    active.armed = active.shard.wake_at();
                    (active.armed, active.late_at())
                }
                State::Loading(_) | State::Ended(_) => return,
            };
            let deadline = async {
                let Some(at) = wake_at else { return std::future::pending().await };
                sleep_until(self.around.ticks.instant(at).max(Instant::now())).await;
                // What it brings about could not be written, and the shard would be loaded again and again.
                while self.partition.is_under_min_isr() {
                    sleep(RELOAD_PAUSE).await;
                }
            };
            let late = async {
                match late_at {
                    Some(at) => sleep_until(self.around.ticks.instant(at).max(Instant::now())).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = deadline => self.tell(Event::Timer),
                () = self.oldest_settles() => self.settle(),
                () = late => self.tell_what_is_late(),
                () = self.news.notified() => {}
            }
        }
    }

    /// Whoever waits for appends that took too long waits no longer.
    fn tell_what_is_late(&self) {
        {
            let mut state = self.state.lock();
            let State::Active(active) = &mut *state else { return };
            if let Some(ticket) = active.newest_late(self.around.ticks.now()) {
                self.step(&mut state, Event::Late { ticket });
            }
        }
        self.settle();
    }

    /// Until the oldest append in flight is committed or has failed, which is then taken in.
    async fn oldest_settles(&self) {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            let State::Active(active) = &mut *state else { return Poll::Ready(()) };
            let Some(oldest) = active.in_flight.front_mut() else { return Poll::Pending };
            match Pin::new(&mut oldest.wait).poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(outcome) => {
                    let ticket = oldest.ticket;
                    active.in_flight.pop_front();
                    self.settled(
                        &mut state,
                        ticket,
                        outcome.map_err(|_| None).and_then(|outcome| outcome.map_err(Some)),
                    );
                    Poll::Ready(())
                }
            }
        })
        .await;
    }

    /// Writes what is queued, and takes in what is committed by then, until neither has anything to do.
    fn settle(&self) {
        loop {
            let through = self.queued.swap(NOTHING_QUEUED, Ordering::AcqRel);
            if through != NOTHING_QUEUED {
                self.partition.write_through(through, self.around.clock.now_ms(), self.around.ticks.now());
            }
            let mut state = self.state.lock();
            while let State::Active(active) = &mut *state
                && let Some(oldest) = active.in_flight.front_mut()
            {
                let outcome = match oldest.wait.try_recv() {
                    Ok(outcome) => outcome.map_err(Some),
                    Err(oneshot::error::TryRecvError::Empty) => break,
                    Err(oneshot::error::TryRecvError::Closed) => Err(None),
                };
                let ticket = oldest.ticket;
                active.in_flight.pop_front();
                self.settled(&mut state, ticket, outcome);
            }
            if self.queued.load(Ordering::Acquire) != NOTHING_QUEUED {
                continue;
            }
            let is_news = match &*state {
                State::Active(active) => !active.in_flight.is_empty() || active.shard.wake_at() != active.armed,
                State::Loading(_) | State::Ended(_) => true,
            };
            if is_news {
                self.news.notify_one();
            }
            return;
        }
    }

    /// An append is committed, or it failed; without a cause if the partition went away.
    fn settled(&self, state: &mut State, ticket: Ticket, outcome: Result<Kept, Option<AppendError>>) {
        match outcome {
            // A record that is committed is so by however few.
            Ok(_) => self.step(state, Event::Committed { ticket }),
            Err(cause) => {
                let cause = cause.map_or_else(|| "the partition is gone".to_owned(), |error| error.to_string());
                self.failed(state, Unavailable::NotCoordinator, &cause);
            }
        }
    }

    /// Steps the shard and carries out what it asks for.
    fn step(&self, state: &mut State, event: Event) {
        let State::Active(active) = state else { return };
        if matches!(event, Event::TopicDeleted { .. }) {
            active.deletions.push(event.clone());
        }
        let (now, wall_ms) = (self.around.ticks.now(), self.around.clock.now_ms());
        let mut effects = Vec::new();
        active.shard.step(now, Input { wall_ms, event }, &mut effects);
        for effect in effects {
            match effect {
                Effect::Answer { id, response } => {
                    if let Some(waiting) = active.waiting.remove(&id) {
                        // Its connection may have gone.
                        let _ = waiting.send(Ok(response));
                    }
                }
                Effect::GiveUp { id } => {
                    if let Some(waiting) = active.waiting.remove(&id) {
                        // Its connection may have gone.
                        let _ = waiting.send(Err(Unavailable::NotAvailable));
                    }
                }
                Effect::Append { ticket, records } => {
                    match append::enqueue(&self.partition, &records, self.codec(), wall_ms) {
                        Ok(produced) => {
                            self.queued.fetch_max(produced.appended.last_offset, Ordering::AcqRel);
                            let late_at =
                                now.saturating_add(self.around.settings.now().groups.offsets_commit_timeout_ms);
                            active.in_flight.push_back(InFlight {
                                ticket,
                                wait: produced.wait,
                                late_at,
                                is_late: false,
                            });
                        }
                        Err(error) => return self.failed(state, unavailable(&error), &error.to_string()),
                    }
                }
            }
        }
        active.settle_deletions();
    }

    /// An append failed: what was applied and not written must not be seen. The shard goes, and is loaded again.
    fn failed(&self, state: &mut State, why: Unavailable, cause: &str) {
        let (topic, partition) = (&self.partition.topic, self.partition.index);
        tracing::warn!(%topic, partition, cause, "a coordinator could not write and loads again");
        let again = match state {
            State::Active(active) => std::mem::take(&mut active.deletions),
            State::Loading(_) | State::Ended(_) => Vec::new(),
        };
        std::mem::replace(state, State::Loading(again)).refuse(why);
    }

    fn codec(&self) -> Compression {
        let id = self.around.settings.now().groups.offsets_topic_compression_codec;
        u8::try_from(id).ok().and_then(Compression::from_id).unwrap_or(Compression::None)
    }
}
