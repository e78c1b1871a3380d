//! Both halves of a fetch: what to read, and what of it to send.

use std::collections::BTreeMap;

use super::session::{Session, next_epoch};
use super::slots::Slots;
use super::{CLOSE_EPOCH, Facts, NO_SESSION, OPEN_EPOCH, PARTITIONS_MAX, PartitionKey, SessionError, Wanted};
use crate::machine::Tick;

/// A fetch request, as far as sessions care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Session, 0 for none.
    pub session_id: i32,
    /// Number within the session, 0 to open one, -1 to close it.
    pub session_epoch: i32,
    /// Does it name topics by id?
    pub by_id: bool,
    /// Does it come from a replica?
    pub privileged: bool,
    /// What it wants; in a session, what is new or changed. Of a partition named twice the later entry counts.
    pub wanted: Vec<(PartitionKey, Wanted)>,
    /// What a session shall forget.
    pub forgotten: Vec<PartitionKey>,
}

/// A fetch between its halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    kind: Kind,
    wanted: Vec<(PartitionKey, Wanted)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sessionless,
    Open { privileged: bool, by_id: bool },
    Incremental { id: i32, expected_epoch: i32 },
}

impl Fetch {
    /// What to read, in this order.
    #[must_use]
    pub fn wanted(&self) -> &[(PartitionKey, Wanted)] {
        &self.wanted
    }

    /// Does it want a new session? Only then is a random number needed, to name it.
    #[must_use]
    pub fn wants_session(&self) -> bool {
        matches!(self.kind, Kind::Open { .. })
    }
}

/// What to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished<Row> {
    /// The session that the client has now, 0 for none.
    pub session_id: i32,
    /// The rows with news, in the order read.
    pub rows: Vec<(PartitionKey, Row)>,
}

/// All sessions of a broker.
#[derive(Debug, Clone)]
pub struct FetchSessions {
    slots: Slots,
}

impl FetchSessions {
    /// No sessions yet, and at most `slots` at a time (`max.incremental.fetch.session.cache.slots`).
    #[must_use]
    pub fn new(slots: usize) -> FetchSessions {
        FetchSessions { slots: Slots::new(slots) }
    }

    /// Number of sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Is there no session?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// Partitions of all sessions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.slots.partitions()
    }

    /// Sessions that lost their slot to another, since the start.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.slots.evictions()
    }

    /// What a session reads, in no promised order; nothing if there is no such session.
    #[must_use]
    pub fn wanted_in(&self, id: i32) -> Vec<PartitionKey> {
        self.slots.get(id).map(|session| session.wanted().into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
    }

    /// The first half: takes in what the client changed, and says what to read.
    ///
    /// # Errors
    /// When the request does not fit its session; nothing has changed then.
    pub fn begin(&mut self, now: Tick, request: Request) -> Result<Fetch, SessionError> {
        let id = request.session_id;
        let kind = match request.session_epoch {
            CLOSE_EPOCH => Kind::Sessionless,
            OPEN_EPOCH => Kind::Open { privileged: request.privileged, by_id: request.by_id },
            _ => return self.begin_incremental(now, request),
        };
        self.slots.remove(id);
        Ok(Fetch { kind, wanted: without_repeats(request.wanted) })
    }

    fn begin_incremental(&mut self, now: Tick, request: Request) -> Result<Fetch, SessionError> {
        let Request { session_id: id, session_epoch: got, by_id, wanted, forgotten, .. } = request;
        let partitions = self.slots.partitions();
        let session = self.slots.get_mut(id).ok_or(SessionError::UnknownId(id))?;
        if session.epoch != got {
            return Err(SessionError::BadEpoch { id, expected: session.epoch, got });
        }
        if session.by_id != by_id {
            return Err(SessionError::OtherNames(id));
        }
        if partitions + session.count_new(wanted.iter().map(|(key, _)| key)) > PARTITIONS_MAX {
            // The client starts over with a full fetch, which will find no room for a session.
            self.slots.remove(id);
            return Err(SessionError::UnknownId(id));
        }
        for (key, wanted) in &wanted {
            session.want(key.clone(), *wanted);
        }
        for key in &forgotten {
            session.forget(key);
        }
        if session.len() == 0 {
            self.slots.remove(id);
            return Ok(Fetch { kind: Kind::Sessionless, wanted: without_repeats(wanted) });
        }
        session.epoch = next_epoch(session.epoch);
        let kind = Kind::Incremental { id, expected_epoch: session.epoch };
        let wanted = session.wanted();
        self.slots.touch(id, now);
        Ok(Fetch { kind, wanted })
    }

    /// The second half: takes in what was read, in the order of [`Fetch::wanted`], and says what to send. A session is
    /// opened here, under an id made from `random` (any number; taken ids are passed over).
    ///
    /// # Errors
    /// `BadEpoch` when another request has overtaken this one in its session.
    pub fn finish<Row>(
        &mut self,
        now: Tick,
        fetch: Fetch,
        rows: Vec<(PartitionKey, Row)>,
        facts: impl Fn(&Row) -> Facts,
        random: u32,
    ) -> Result<Finished<Row>, SessionError> {
        match fetch.kind {
            Kind::Sessionless => Ok(Finished { session_id: NO_SESSION, rows }),
            Kind::Open { privileged, by_id } => {
                let session_id = self.open(now, Session::new(privileged, by_id, now), &fetch.wanted, random);
                if let Some(session) = self.slots.get_mut(session_id) {
                    for (key, row) in &rows {
                        session.is_news(key, &facts(row));
                    }
                }
                Ok(Finished { session_id, rows })
            }
            Kind::Incremental { id, expected_epoch } => {
                let Some(session) = self.slots.get_mut(id) else {
                    // Evicted while it waited: what it asked for is still right, and its next request will hear of it.
                    return Ok(Finished { session_id: id, rows });
                };
                if session.epoch != expected_epoch {
                    return Err(SessionError::BadEpoch { id, expected: session.epoch, got: expected_epoch });
                }
                let rows = rows.into_iter().filter(|(key, row)| keep(session, key, &facts(row))).collect();
                Ok(Finished { session_id: id, rows })
            }
        }
    }

    /// The second half of a fetch that a quota empties: which session id to send with no rows. What was read counts as
    /// not sent, and no session is opened.
    ///
    /// # Errors
    /// As [`FetchSessions::finish`].
    pub fn finish_throttled(&mut self, fetch: &Fetch) -> Result<i32, SessionError> {
        let Kind::Incremental { id, expected_epoch } = fetch.kind else {
            return Ok(NO_SESSION);
        };
        match self.slots.get(id) {
            Some(session) if session.epoch != expected_epoch => {
                Err(SessionError::BadEpoch { id, expected: session.epoch, got: expected_epoch })
            }
            _ => Ok(id),
        }
    }

    fn open(&mut self, now: Tick, mut session: Session, wanted: &[(PartitionKey, Wanted)], random: u32) -> i32 {
        let fits = self.slots.partitions() + wanted.len() <= PARTITIONS_MAX;
        if !fits || !self.slots.make_room(now, session.privileged, wanted.len()) {
            return NO_SESSION;
        }
        for (key, wanted) in wanted {
            session.want(key.clone(), *wanted);
        }
        let id = self.free_id(random);
        self.slots.insert(id, session, now);
        id
    }

    fn free_id(&self, random: u32) -> i32 {
        let mut id = ((random & 0x7fff_ffff) as i32).max(1);
        while self.slots.get(id).is_some() {
            id = next_epoch(id);
        }
        id
    }

    /// Panics if the state contradicts itself.
    pub fn check(&self) {
        self.slots.check();
        assert!(self.partitions() <= PARTITIONS_MAX, "sessions remember {} partitions", self.partitions());
    }
}

fn keep(session: &mut Session, key: &PartitionKey, facts: &Facts) -> bool {
    let news = session.is_news(key, facts);
    if facts.has_records {
        session.move_to_the_end(key);
    }
    news
}

/// Every partition once, where it stands first, with what is wanted last.
fn without_repeats(wanted: Vec<(PartitionKey, Wanted)>) -> Vec<(PartitionKey, Wanted)> {
    let mut kept: Vec<(PartitionKey, Wanted)> = Vec::with_capacity(wanted.len());
    let mut places: BTreeMap<PartitionKey, usize> = BTreeMap::new();
    for (key, wanted) in wanted {
        if let Some(&place) = places.get(&key) {
            kept[place].1 = wanted;
        } else {
            places.insert(key.clone(), kept.len());
            kept.push((key, wanted));
        }
    }
    kept
}
