//! Random clients on few slots: whatever happens, a client that believes what it is told knows the truth.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::machine::Tick;

const CLIENTS: usize = 3;
const SLOTS: usize = 2;

/// What happens before a client fetches.
#[derive(Debug, Clone)]
struct Turn {
    client: usize,
    add: Option<PartitionIndex>,
    forget: Option<PartitionIndex>,
    grows: PartitionIndex,
    fails: Option<PartitionIndex>,
    wait_ms: Tick,
    throttled: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let index = || 0..6i32;
    let maybe = || proptest::option::of(index());
    let wait_ms = prop_oneof![4 => 0..1000u64, 1 => 100_000..200_000u64];
    (0..CLIENTS, maybe(), maybe(), index(), maybe(), wait_ms, proptest::bool::weighted(0.1)).prop_map(
        |(client, add, forget, grows, fails, wait_ms, throttled)| Turn {
            client,
            add,
            forget: forget.filter(|index| add != Some(*index)),
            grows,
            fails,
            wait_ms,
            throttled,
        },
    )
}

/// A client: its session, and what it was told last of each partition that it wants. `None`: an error, or nothing yet.
#[derive(Debug, Default)]
struct Client {
    session: i32,
    epoch: i32,
    told: BTreeMap<PartitionIndex, Option<Offset>>,
}

fn key(index: PartitionIndex) -> PartitionKey {
    PartitionKey { topic: TopicKey::Id(Uuid([7; 16])), index }
}

fn entry(index: PartitionIndex) -> (PartitionKey, Wanted) {
    let wanted = Wanted {
        fetch_offset: 0,
        max_bytes: 1,
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
        log_start_offset: -1,
        high_watermark: Offset::MAX,
    };
    (key(index), wanted)
}

impl Client {
    fn request(&mut self, turn: &Turn, privileged: bool) -> Request {
        if let Some(index) = turn.add {
            self.told.entry(index).or_default();
        }
        if let Some(index) = turn.forget {
            self.told.remove(&index);
        }
        let full = self.epoch == OPEN_EPOCH;
        let wanted = if full {
            self.told.keys().copied().map(entry).collect()
        } else {
            turn.add.map(entry).into_iter().collect()
        };
        Request {
            session_id: self.session,
            session_epoch: self.epoch,
            by_id: true,
            privileged,
            wanted,
            forgotten: turn.forget.filter(|_| !full).map(key).into_iter().collect(),
        }
    }

    fn start_over(&mut self) {
        (self.session, self.epoch) = (NO_SESSION, OPEN_EPOCH);
    }

    fn answered(&mut self, session: i32) {
        self.session = session;
        self.epoch = if session == NO_SESSION { OPEN_EPOCH } else { self.epoch + 1 };
    }
}

proptest! {
    #[test]
    fn a_client_that_believes_what_it_is_told_knows_the_truth(turns in proptest::collection::vec(turn(), 1..80)) {
        let mut sessions = FetchSessions::new(SLOTS);
        let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::default()).collect();
        let mut high_watermarks = [0i64; 6];
        let mut now = 0;
        for (at, turn) in turns.iter().enumerate() {
            now += turn.wait_ms;
            high_watermarks[turn.grows as usize] += 1;
            let client = &mut clients[turn.client];
            let request = client.request(turn, turn.client == 0);
            let fetch = match sessions.begin(now, request) {
                Ok(fetch) => fetch,
                Err(SessionError::UnknownId(_)) => {
                    client.start_over();
                    continue;
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            sessions.check();
            let read: Vec<_> = fetch.wanted().iter().map(|(key, _)| key.index).collect();
            let mut sorted = read.clone();
            sorted.sort_unstable();
            prop_assert_eq!(&sorted, &client.told.keys().copied().collect::<Vec<_>>(), "what is read is what is wanted");
            if turn.throttled {
                let session = sessions.finish_throttled(&fetch).expect("nobody overtakes");
                client.answered(session);
                continue;
            }
            let facts_of = |index: PartitionIndex| Facts {
                high_watermark: if turn.fails == Some(index) { -1 } else { high_watermarks[index as usize] },
                log_start_offset: 0,
                has_records: index == turn.grows,
                is_error: turn.fails == Some(index),
                must_be_sent: false,
            };
            let rows = read.iter().map(|&index| (key(index), facts_of(index))).collect();
            // No id is ever used twice: a client whose session is gone must not meet another's.
            let random = 1 + at as u32;
            let finished = sessions.finish(now, fetch, rows, |facts| *facts, random).expect("nobody overtakes");
            sessions.check();
            for (key, facts) in &finished.rows {
                client.told.insert(key.index, (!facts.is_error).then_some(facts.high_watermark));
            }
            client.answered(finished.session_id);
            for (&index, told) in &client.told {
                let truth = (turn.fails != Some(index)).then_some(high_watermarks[index as usize]);
                prop_assert_eq!(*told, truth, "partition {} at turn {}", index, at);
            }
        }
    }
}
