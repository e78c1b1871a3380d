//! One fetcher: rounds of looking after its partitions and asking their leader.
//!
//! ```text
//!   told, timers ──► look: next of each ──► cut, sync (off the runtime), ends ──► look again
//!                              │ nothing more to do
//!                              ▼
//!                    one fetch for all open questions ──► rows to their partitions ──► look
//! ```
//! Holds: a partition that is not asked about has no row in the session; a question that was answered is asked again or
//! dropped before the next request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_core::machine::Tick;
use ballast_core::replica::follower::Ticket;
use ballast_wire::LeaderEpoch;
use ballast_wire::fetch::FetchResponse;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

use super::line::{Line, Unanswered};
use super::session::{Key, Session};
use super::{Inbox, Place, Shared, Told, ask};
use crate::drive::partition::{Change, Fetched, Next, Partition};
use crate::drive::store::on_disk;

/// After a request that got no answer, before anything else is tried.
const PAUSE: Duration = Duration::from_millis(20);

/// How much is written before other tasks may run. A task that lets others run wakes another thread, which costs more than
/// writing a few batches.
const TURN_BYTES: usize = 1 << 20;

/// A partition that this fetcher asks for.
struct Held {
    partition: Arc<Partition>,
    /// The open question about it.
    ticket: Option<Ticket>,
    /// When to look at it again.
    due: Option<Tick>,
}

/// What a look found that takes longer.
#[derive(Default)]
struct Found {
    cuts: Vec<Arc<Partition>>,
    syncs: Vec<Arc<Partition>>,
    ends: Vec<(Arc<Partition>, Ticket, LeaderEpoch)>,
}

/// The task.
pub(super) struct Task {
    shared: Arc<Shared>,
    place: Place,
    inbox: Arc<Inbox>,
    session: Session,
    held: BTreeMap<Key, Held>,
    due: BTreeSet<(Tick, Key)>,
    line: Line,
    ended: bool,
}

fn key_of(partition: &Partition) -> Key {
    (partition.topic_id, partition.index)
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, place: Place, inbox: Arc<Inbox>) -> Task {
        let (session, held, due) = (Session::default(), BTreeMap::new(), BTreeSet::new());
        Task { shared, place, inbox, session, held, due, line: Line::default(), ended: false }
    }

    /// Runs until it is told that nothing is left, or that the broker stops.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            // A sender that is gone means the same.
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.rounds() => {}
        }
    }

    async fn rounds(&mut self) {
        let mut touched = BTreeSet::new();
        loop {
            self.take_told(&mut touched);
            self.take_due(&mut touched);
            self.look(std::mem::take(&mut touched)).await;
            if self.ended {
                return;
            }
            if self.session.is_idle() {
                self.wait().await;
            } else {
                self.fetch(&mut touched).await;
            }
        }
    }

    fn take_told(&mut self, touched: &mut BTreeSet<Key>) {
        for told in self.inbox.take() {
            match told {
                Told::Look(partition) => {
                    let key = key_of(&partition);
                    let held = self.held.entry(key).or_insert_with(|| Held {
                        partition: Arc::clone(&partition),
                        ticket: None,
                        due: None,
                    });
                    // A topic's folder may have failed and been opened anew.
                    held.partition = partition;
                    touched.insert(key);
                }
                Told::Release(key) => {
                    touched.remove(&key);
                    self.release(key);
                }
                Told::End => self.ended = true,
            }
        }
    }

    fn take_due(&mut self, touched: &mut BTreeSet<Key>) {
        let now = self.shared.now();
        while let Some((at, key)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, key));
            touched.insert(key);
        }
    }

    /// Lets go of a partition; whoever has it now is told.
    fn release(&mut self, key: Key) {
        let Some(held) = self.held.remove(&key) else { return };
        if let Some(at) = held.due {
            self.due.remove(&(at, key));
        }
        if let Some(ticket) = held.ticket {
            held.partition.fetched(ticket, Fetched::Nothing, self.shared.now());
        }
        self.session.drop_question(key);
        self.shared.hand_on(&held.partition, &self.inbox);
    }

    /// Brings these partitions to where they ask or wait.
    async fn look(&mut self, mut keys: BTreeSet<Key>) {
        let mut written = 0;
        while !keys.is_empty() {
            let mut found = Found::default();
            for key in std::mem::take(&mut keys) {
                written += self.look_at(key, &mut found);
                if written >= TURN_BYTES {
                    // What was written took its time; others may run now.
                    tokio::task::yield_now().await;
                    written = 0;
                }
            }
            let again = found.cuts.iter().chain(&found.syncs).chain(found.ends.iter().map(|(partition, ..)| partition));
            keys = again.map(|partition| key_of(partition)).collect();
            self.change(found.cuts, found.syncs).await;
            self.ask_ends(found.ends).await;
        }
    }

    /// Returns how many bytes were appended.
    fn look_at(&mut self, key: Key, found: &mut Found) -> usize {
        let mut bytes = 0;
        loop {
            let Some(held) = self.held.get_mut(&key) else { return bytes };
            let (now, partition) = (self.shared.now(), Arc::clone(&held.partition));
            if let Some(at) = held.due.take() {
                self.due.remove(&(at, key));
            }
            match partition.next(self.place.0, now) {
                Next::Fetch(question) => {
                    held.ticket = Some(question.ticket);
                    let settings = &self.shared.around.settings.now().replication;
                    self.session.ask(key, ask::row(&partition, &question, settings));
                    return bytes;
                }
                Next::Change(Change::Append) => {
                    let appended = partition.append_fetched(self.shared.around.clock.now_ms(), now);
                    self.shared.bytes_in.fetch_add(appended as u64, Ordering::Relaxed);
                    self.session.gave(key);
                    bytes += appended;
                    continue;
                }
                Next::Change(Change::Cut) => found.cuts.push(partition),
                Next::Change(Change::Sync) => found.syncs.push(partition),
                Next::AskEnds { ticket, leader_epoch } => found.ends.push((partition, ticket, leader_epoch)),
                Next::Wait(until) => {
                    held.due = until;
                    if let Some(at) = until {
                        self.due.insert((at, key));
                    }
                }
                Next::Gone => {
                    self.release(key);
                    return bytes;
                }
            }
            // An open question stands; without one the leader need not look for it.
            if held.ticket.is_none() {
                self.session.drop_question(key);
            }
            return bytes;
        }
    }

    /// Cuts, then syncs, on the disk's threads.
    async fn change(&mut self, cuts: Vec<Arc<Partition>>, syncs: Vec<Arc<Partition>>) {
        if cuts.is_empty() && syncs.is_empty() {
            return;
        }
        let store = Arc::clone(&self.shared.around.store);
        on_disk(&store.disk(), move || {
            store.cut_followers(&cuts);
            store.sync_followers(&syncs);
        })
        .await;
    }

    /// Asks where the leader's logs begin and end.
    async fn ask_ends(&mut self, asked: Vec<(Arc<Partition>, Ticket, LeaderEpoch)>) {
        if asked.is_empty() {
            return;
        }
        let starts = self.offsets(&asked, ask::EARLIEST).await;
        let ends = self.offsets(&asked, ask::LATEST).await;
        let now = self.shared.now();
        for (partition, ticket, _) in asked {
            let name = (partition.topic.to_string(), partition.index);
            let both = starts.get(&name).copied().zip(ends.get(&name).copied());
            partition.leader_ends(ticket, both, now);
        }
    }

    async fn offsets(
        &mut self,
        asked: &[(Arc<Partition>, Ticket, LeaderEpoch)],
        timestamp: i64,
    ) -> BTreeMap<(String, i32), i64> {
        let rows = asked.iter().map(|(partition, _, epoch)| (&*partition.topic, partition.index, *epoch));
        let Some(body) = ask::list_offsets(self.shared.around.me, timestamp, rows) else { return BTreeMap::new() };
        let answer = self.exchange(ApiKey::LIST_OFFSETS, ask::LIST_OFFSETS_VERSION, body).await;
        answer.map(ask::listed).unwrap_or_default()
    }

    /// Nothing is asked: until something happens, or a partition is due.
    async fn wait(&mut self) {
        let due = self.due.first().map(|(at, _)| self.shared.around.ticks.instant(*at));
        let timer = async {
            match due {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.inbox.notify.notified() => {}
            () = timer => {}
        }
    }

    /// One request about everything that is open, and what comes of it.
    async fn fetch(&mut self, touched: &mut BTreeSet<Key>) {
        let settings = self.shared.around.settings.now();
        self.dial();
        let asking = self.session.request();
        let body = ask::fetch(asking, self.shared.around.me, self.shared.epoch(), &settings.replication);
        let answer = self.exchange(ApiKey::FETCH, ask::FETCH_VERSION, body).await;
        let Some(body) = answer else {
            self.session.lost();
            self.fail_all(touched);
            return sleep(PAUSE).await;
        };
        match FetchResponse::decode(ask::FETCH_VERSION, &body) {
            Ok(response) if response.error_code == 0 => self.take_rows(response, touched),
            Ok(response) => {
                if self.session.refused(response.error_code) {
                    tracing::debug!(leader = self.place.0, code = response.error_code, "a fetch session begins anew");
                } else {
                    tracing::warn!(leader = self.place.0, code = response.error_code, "a leader refuses a fetch");
                    self.fail_all(touched);
                }
                sleep(PAUSE).await;
            }
            Err(error) => {
                tracing::warn!(leader = self.place.0, %error, "a leader's fetch answer does not decode");
                self.line.drop_connection();
                self.session.lost();
                self.fail_all(touched);
                sleep(PAUSE).await;
            }
        }
    }

    fn take_rows(&mut self, response: FetchResponse<'_, Bytes>, touched: &mut BTreeSet<Key>) {
        self.session.taken(response.session_id);
        let now = self.shared.now();
        for topic in response.topics {
            for row in topic.partitions {
                let key = (topic.id, row.index);
                let Some(held) = self.held.get_mut(&key) else { continue };
                let Some(ticket) = held.ticket.take() else { continue };
                if row.error_code != 0 {
                    let (partition, code) = (&held.partition, row.error_code);
                    tracing::debug!(topic = %partition.topic, partition = row.index, leader = self.place.0, code, "a leader refuses a follower");
                }
                held.partition.fetched(ticket, Fetched::Row(row), now);
                touched.insert(key);
            }
        }
    }

    /// There is no answer to any open question.
    fn fail_all(&mut self, touched: &mut BTreeSet<Key>) {
        let now = self.shared.now();
        for key in self.session.open() {
            let Some(held) = self.held.get_mut(&key) else { continue };
            if let Some(ticket) = held.ticket.take() {
                held.partition.fetched(ticket, Fetched::Nothing, now);
            }
            touched.insert(key);
        }
    }

    /// Sees to it that the connection leads to where the leader is now.
    fn dial(&mut self) {
        let at = self.shared.address(self.place.0);
        if self.line.lead_to(at, &self.shared.around.transport) {
            self.session.restart();
        }
    }

    /// Asks the leader; `None` if there is no answer in time.
    async fn exchange(&mut self, key: ApiKey, version: i16, body: Bytes) -> Option<Bytes> {
        let settings = &self.shared.around.settings.now().replication;
        self.dial();
        let at = self.line.at().cloned();
        let (shared, inbox, leader) = (&self.shared, &self.inbox, self.place.0);
        let moved = async {
            while !inbox.ends() && shared.address(leader) == at {
                inbox.notify.notified().await;
            }
        };
        match self.line.ask((key, version, body), settings, moved).await {
            Ok(answer) => Some(answer),
            Err(error @ Unanswered::Silent(_)) => {
                tracing::warn!(leader, %key, %error, "a leader does not answer");
                None
            }
            Err(error) => {
                tracing::debug!(leader, %key, %error, "a leader does not answer");
                None
            }
        }
    }
}
