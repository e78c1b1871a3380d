//! A hundred members that join, leave, die, stop for a while and come back at random, while the log commits late,
//! sometimes too late, and sometimes fails. Whatever happens:
//!
//! 1. no partition has two owners in one generation;
//! 2. what was committed never goes back, and what was acknowledged is never lost;
//! 3. every request is answered at most once, and all are when the shard ends;
//! 4. the log, replayed as far as it is committed, gives the committed state;
//! 5. left alone, the group settles: everybody is in, and every partition has an owner.
//!
//! A failing run names its seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;

use super::rig::{GROUP, Rig, TOPIC_ID, WALL_MS, prompt};
use crate::group::*;
use crate::machine::{Machine, Tick};

const PARTITIONS: i32 = 120;
/// Turns of disturbance per member: about five minutes.
const TURNS: usize = 600;
/// A group of fewer has as many turns as one of this size.
const TURNS_CLIENTS_MIN: usize = 20;
/// Turns per member that a group has to settle in: about a minute and a half.
const SETTLE_TURNS: usize = 180;
const HEARTBEAT_MS: Tick = 1_000;

/// Xorshift: the same seed, the same run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[derive(Debug, PartialEq)]
enum Phase {
    Out,
    Joining(RequestId),
    Syncing(RequestId),
    In,
}

#[derive(Debug)]
struct Client {
    instance: Option<Arc<str>>,
    member: MemberId,
    generation: Generation,
    phase: Phase,
    /// Says nothing until then; `Tick::MAX` is dead.
    silent_until: Tick,
    heartbeat_at: Tick,
    /// Next offset to commit, per partition owned.
    owned: BTreeMap<i32, i64>,
}

struct World {
    rig: Rig,
    random: Random,
    clients: Vec<Client>,
    owners: BTreeMap<(Generation, i32), Arc<str>>,
    committing: Vec<(RequestId, i32, i64)>,
    acknowledged: BTreeMap<i32, i64>,
    seen: BTreeMap<i32, i64>,
    reloads: usize,
}

impl World {
    fn new(clients: usize, seed: u64) -> World {
        let config = GroupConfig {
            initial_rebalance_delay_ms: 1_000,
            // Nothing expires: a group that is gone would count its generations from 1 again.
            retention_check_interval_ms: u64::MAX / 2,
            ..prompt()
        };
        let mut rig = Rig::new(config);
        rig.commits = false;
        let client = |number: usize| Client {
            instance: number.is_multiple_of(3).then(|| format!("i{number}").into()),
            member: "".into(),
            generation: -1,
            phase: Phase::Out,
            silent_until: 0,
            heartbeat_at: 0,
            owned: BTreeMap::new(),
        };
        World {
            rig,
            random: Random(seed | 1),
            clients: (0..clients).map(client).collect(),
            owners: BTreeMap::new(),
            committing: Vec::new(),
            acknowledged: BTreeMap::new(),
            seen: BTreeMap::new(),
            reloads: 0,
        }
    }

    /// Some time passes, somebody acts, the log commits something.
    fn turn(&mut self, is_calm: bool) {
        // Everybody acts about twice a second.
        let clients = self.clients.len() as u64;
        let ms = self.random.below(1_000 / clients);
        self.rig.pass(ms);
        let who = self.random.below(clients) as usize;
        if !is_calm && self.random.one_in(4 * clients) {
            self.disturb(who);
        }
        if self.clients[who].silent_until <= self.rig.now {
            self.act(who);
        }
        if is_calm || self.random.one_in(3) {
            for _ in 0..self.random.below(5) {
                if self.rig.committed < self.rig.log.len() {
                    self.rig.commit_next();
                }
            }
        }
        if !is_calm && self.random.one_in(3 * clients) {
            self.be_late();
        }
        if !is_calm && self.random.one_in(60 * clients) {
            self.reload();
        }
        self.watch();
    }

    fn disturb(&mut self, who: usize) {
        let now = self.rig.now;
        let pause = self.random.below(20_000);
        let kind = self.random.below(4);
        let client = &mut self.clients[who];
        if client.silent_until == Tick::MAX {
            client.silent_until = now;
            client.forget();
            return;
        }
        match kind {
            // It stops for a while and then goes on as if nothing had happened.
            0 => client.silent_until = now + pause,
            // It dies.
            1 => client.silent_until = Tick::MAX,
            // It dies and comes back as another process.
            2 => {
                client.silent_until = now + pause / 4;
                client.forget();
            }
            _ => {
                let member = client.member.clone();
                client.forget();
                if !member.is_empty() {
                    self.rig.leave(&[(&member, None)]);
                }
            }
        }
    }

    /// Appends take too long: whoever waits for them is told so, and asks again.
    fn be_late(&mut self) {
        self.rig.late();
        let given_up = &self.rig.given_up;
        self.committing.retain(|(id, _, _)| !given_up.contains(id));
        for client in &mut self.clients {
            if let Phase::Joining(id) | Phase::Syncing(id) = client.phase
                && given_up.contains(&id)
            {
                client.phase = Phase::Out;
                client.owned.clear();
            }
        }
    }

    /// An append failed: the shard is loaded again from what is committed, and nobody who waits gets an answer.
    fn reload(&mut self) {
        self.reloads += 1;
        self.rig.log.truncate(self.rig.committed);
        let shard = self.replay();
        assert_eq!(shard.committed(), self.rig.shard.committed(), "the log and the state disagree");
        let waiting = std::mem::replace(&mut self.rig.shard, shard).into_waiting();
        self.rig.log.clear();
        self.rig.committed = 0;
        self.committing.retain(|(id, _, _)| !waiting.contains(id));
        for client in &mut self.clients {
            if let Phase::Joining(id) | Phase::Syncing(id) = client.phase
                && waiting.contains(&id)
            {
                client.phase = Phase::Out;
            }
        }
    }

    fn replay(&mut self) -> Shard {
        let mut loading = Loading::new(self.rig.config.clone());
        let committed = self.rig.log[..self.rig.committed].iter().flat_map(|(_, records)| records);
        for record in committed {
            self.rig.replayed.push((record.encode_key(), record.encode_value()));
        }
        for (key, value) in &self.rig.replayed {
            loading.replay(key, value.as_deref()).unwrap();
        }
        loading.finish(self.rig.now, WALL_MS + self.rig.now as i64)
    }

    fn act(&mut self, who: usize) {
        match self.clients[who].phase {
            Phase::Out => self.join(who),
            Phase::Joining(id) => {
                if let Some(response) = self.rig.join_answer(id) {
                    self.joined(who, response);
                }
            }
            Phase::Syncing(id) => {
                if let Some(result) = self.rig.sync_answer(id) {
                    self.synced(who, result);
                }
            }
            Phase::In => self.stay(who),
        }
    }

    fn join(&mut self, who: usize) {
        let mut request = self.rig.join_request();
        request.member_id = self.clients[who].member.clone();
        request.instance_id = self.clients[who].instance.clone();
        request.rebalance_timeout_ms = 10_000;
        let id = self.rig.ask(Request::Join(Box::new(request)));
        self.clients[who].phase = Phase::Joining(id);
    }

    fn joined(&mut self, who: usize, response: JoinResponse) {
        let client = &mut self.clients[who];
        client.phase = Phase::Out;
        match response.error {
            Some(GroupError::MemberIdRequired) => client.member = response.member_id,
            Some(GroupError::RebalanceInProgress) => {}
            Some(GroupError::UnknownMemberId | GroupError::FencedInstanceId) => client.forget(),
            Some(other) => panic!("a Join was refused: {other}"),
            None => {
                client.member = response.member_id;
                client.generation = response.generation;
                let leads = response.leader == client.member && !response.skip_assignment;
                let ids: Vec<MemberId> = response.members.into_iter().map(|member| member.member_id).collect();
                let assignments = if leads { spread(&ids) } else { Vec::new() };
                self.sync(who, assignments);
            }
        }
    }

    fn sync(&mut self, who: usize, assignments: Vec<(MemberId, Bytes)>) {
        let client = &self.clients[who];
        let request = SyncRequest {
            group: GROUP.into(),
            member_id: client.member.clone(),
            instance_id: client.instance.clone(),
            generation: client.generation,
            protocol_type: None,
            protocol_name: None,
            assignments,
        };
        let id = self.rig.ask(Request::Sync(request));
        self.clients[who].phase = Phase::Syncing(id);
    }

    fn synced(&mut self, who: usize, result: Result<SyncResponse, GroupError>) {
        let client = &mut self.clients[who];
        client.phase = Phase::Out;
        client.owned.clear();
        match result {
            Ok(response) => {
                client.phase = Phase::In;
                client.heartbeat_at = self.rig.now;
                let owner = client.instance.clone().unwrap_or_else(|| client.member.clone());
                for partition in response.assignment.iter().map(|byte| i32::from(*byte)) {
                    let key = (client.generation, partition);
                    let before = self.owners.entry(key).or_insert_with(|| owner.clone());
                    assert_eq!(*before, owner, "partition {partition} has two owners in generation {}", key.0);
                    let view = self.rig.shard.group(GROUP).expect("it has members");
                    let offset = view.offset("t", partition).map_or(0, |value| value.offset);
                    client.owned.insert(partition, offset);
                }
            }
            Err(GroupError::RebalanceInProgress) => {}
            Err(_) => client.forget(),
        }
    }

    fn stay(&mut self, who: usize) {
        let now = self.rig.now;
        let wants_to_commit = self.random.one_in(3);
        let client = &mut self.clients[who];
        if now >= client.heartbeat_at {
            client.heartbeat_at = now + HEARTBEAT_MS;
            let request = HeartbeatRequest {
                group: GROUP.into(),
                member_id: client.member.clone(),
                instance_id: client.instance.clone(),
                generation: client.generation,
            };
            let id = self.rig.ask(Request::Heartbeat(request));
            match self.rig.answer(id) {
                Some(Response::Heartbeat(Ok(()))) => {}
                Some(Response::Heartbeat(Err(GroupError::RebalanceInProgress))) => {
                    self.commit(who);
                    self.clients[who].phase = Phase::Out;
                }
                Some(Response::Heartbeat(Err(_))) => self.clients[who].forget(),
                other => panic!("a heartbeat was answered {other:?}"),
            }
        } else if wants_to_commit {
            self.commit(who);
        }
    }

    fn commit(&mut self, who: usize) {
        let client = &mut self.clients[who];
        let Some((partition, offset)) = client.owned.iter_mut().next() else { return };
        *offset += 1;
        let (partition, offset) = (*partition, *offset);
        let row = CommitPartition { index: partition, offset, leader_epoch: 0, metadata: None };
        let request = OffsetCommitRequest {
            group: GROUP.into(),
            member_id: client.member.clone(),
            instance_id: client.instance.clone(),
            generation: client.generation,
            retention_ms: None,
            knows_group_id_not_found: true,
            topics: vec![CommitTopic { name: "t".into(), id: TOPIC_ID, partitions: vec![row] }],
        };
        let id = self.rig.ask(Request::OffsetCommit(request));
        self.committing.push((id, partition, offset));
    }

    /// Looks at what is committed.
    fn watch(&mut self) {
        let (rig, acknowledged) = (&self.rig, &mut self.acknowledged);
        self.committing.retain(|(id, partition, offset)| {
            let outcome = rig.outcome(*id);
            if outcome == Some(Ok(())) {
                let newest = acknowledged.entry(*partition).or_default();
                *newest = (*newest).max(*offset);
            }
            outcome.is_none()
        });
        let Some(group) = self.rig.shard.group(GROUP) else { return };
        for (_, partition, value) in group.offsets() {
            let before = self.seen.insert(partition, value.offset).unwrap_or(0);
            assert!(value.offset >= before, "partition {partition} went back from {before} to {}", value.offset);
        }
        for (partition, offset) in &self.acknowledged {
            let seen = self.seen.get(partition).copied().unwrap_or(-1);
            assert!(seen >= *offset, "partition {partition}: {offset} was acknowledged, {seen} is there");
        }
    }

    fn has_settled(&self) -> bool {
        let group = self.rig.shard.group(GROUP);
        let is_stable = group.is_some_and(|group| group.state() == GroupState::Stable);
        let generations = || self.clients.iter().map(|client| client.generation);
        let owned: usize = self.clients.iter().map(|client| client.owned.len()).sum();
        is_stable
            && self.clients.iter().all(|client| client.phase == Phase::In)
            && generations().min() == generations().max()
            && owned == PARTITIONS as usize
            && group.is_some_and(|group| group.members_len() == self.clients.len())
    }
}

impl Client {
    fn forget(&mut self) {
        self.member = "".into();
        self.generation = -1;
        self.phase = Phase::Out;
        self.owned.clear();
    }
}

/// Deals the partitions out, a byte each.
fn spread(members: &[MemberId]) -> Vec<(MemberId, Bytes)> {
    let share =
        |at: usize| (0..PARTITIONS as u8).filter(move |partition| usize::from(*partition) % members.len() == at);
    members.iter().enumerate().map(|(at, id)| (id.clone(), share(at).collect::<Vec<u8>>().into())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn a_hundred_members_may_do_what_they_want_and_the_group_settles(
        clients in prop_oneof![Just(5usize), Just(30), Just(100)],
        seed in any::<u64>(),
    ) {
        let mut world = World::new(clients, seed);
        // A small group does less at a time, and is watched for longer.
        for _ in 0..TURNS * clients.max(TURNS_CLIENTS_MIN) {
            world.turn(false);
        }
        let now = world.rig.now;
        for client in &mut world.clients {
            if client.silent_until == Tick::MAX {
                client.forget();
            }
            client.silent_until = client.silent_until.min(now);
        }
        let mut turns = 0;
        while !world.has_settled() {
            world.turn(true);
            turns += 1;
            prop_assert!(turns < SETTLE_TURNS * clients, "not settled: {:?}", world.rig.state());
        }
        world.rig.commit_all();
        let loaded = world.replay();
        prop_assert_eq!(loaded.committed(), world.rig.shard.committed());
        let generations = world.owners.keys().map(|(generation, _)| *generation).max();
        prop_assert!(!world.rig.given_up.is_empty(), "nothing was ever late");
        prop_assert!(world.reloads > 0 && generations > Some(10), "only {generations:?} generations");
        world.rig.shard.check();
    }
}
