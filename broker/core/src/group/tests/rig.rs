//! A shard with a clock, a log that commits when it is told to, and short ways to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use ballast_wire::Uuid;

use crate::group::records::Record;
use crate::group::*;
use crate::machine::{Machine, Tick};

pub(super) const GROUP: &str = "g";
/// The wall clock at tick 0.
pub(super) const WALL_MS: i64 = 1_700_000_000_000;
pub(super) const TOPIC_ID: Uuid = Uuid([7; 16]);

/// A shard and its world.
pub(super) struct Rig {
    pub(super) shard: Shard,
    pub(super) config: GroupConfig,
    pub(super) now: Tick,
    next_id: RequestId,
    next_random: u64,
    /// Does an append commit at once?
    pub(super) commits: bool,
    answers: BTreeMap<RequestId, Response>,
    /// Requests that were told that it takes too long.
    pub(super) given_up: BTreeSet<RequestId>,
    /// Everything appended, in order.
    pub(super) log: Vec<(Ticket, Vec<Record>)>,
    /// How much of the log the shard has been told is committed.
    pub(super) committed: usize,
    /// Keys and values that were committed before the log was cut.
    pub(super) replayed: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// A config without an initial delay, so that a rebalance ends when everybody is there.
pub(super) fn prompt() -> GroupConfig {
    GroupConfig { initial_rebalance_delay_ms: 0, ..GroupConfig::default() }
}

impl Rig {
    pub(super) fn new(config: GroupConfig) -> Rig {
        Rig::over(Loading::new(config.clone()).finish(0, WALL_MS), config)
    }

    pub(super) fn over(shard: Shard, config: GroupConfig) -> Rig {
        Rig {
            shard,
            config,
            now: 0,
            next_id: 0,
            next_random: 0,
            commits: true,
            answers: BTreeMap::new(),
            given_up: BTreeSet::new(),
            log: Vec::new(),
            committed: 0,
            replayed: Vec::new(),
        }
    }

    pub(super) fn wall_ms(&self) -> i64 {
        WALL_MS + self.now as i64
    }

    /// Steps, checks, and commits if appends commit at once.
    pub(super) fn step(&mut self, event: Event) {
        self.step_without_check(event);
        self.shard.check();
    }

    /// The same where checking everything each time would take too long.
    pub(super) fn step_without_check(&mut self, event: Event) {
        self.step_only(event);
        while self.commits && self.committed < self.log.len() {
            let (ticket, _) = self.log[self.committed];
            self.committed += 1;
            self.step_only(Event::Committed { ticket });
        }
    }

    fn step_only(&mut self, event: Event) {
        let mut out = Vec::new();
        let wall_ms = self.wall_ms();
        self.shard.step(self.now, Input { wall_ms, event }, &mut out);
        for effect in out {
            match effect {
                Effect::Append { ticket, records } => {
                    assert_eq!(ticket, self.log.len() as Ticket, "tickets rise by one");
                    assert!(!records.is_empty());
                    let bytes: usize = records.iter().map(Record::size_max).sum();
                    assert!(bytes <= self.config.batch_bytes_max || records.len() == 1, "{bytes} bytes in one batch");
                    self.log.push((ticket, records));
                }
                Effect::Answer { id, response } => {
                    let before = self.answers.insert(id, response);
                    assert_eq!(before, None, "request {id} has two answers");
                    assert!(!self.given_up.contains(&id), "request {id} was given up, and is answered");
                }
                Effect::GiveUp { id } => {
                    assert!(!self.answers.contains_key(&id), "request {id} was answered, and is given up");
                    assert!(self.given_up.insert(id), "request {id} is given up twice");
                }
            }
        }
    }

    /// Commits the oldest append that is not committed.
    pub(super) fn commit_next(&mut self) {
        let (ticket, _) = self.log[self.committed];
        self.committed += 1;
        self.step_only(Event::Committed { ticket });
        self.shard.check();
    }

    /// What is not committed is late.
    pub(super) fn late(&mut self) {
        if let Some((ticket, _)) = self.log[self.committed..].last() {
            let ticket = *ticket;
            self.step_only(Event::Late { ticket });
            self.shard.check();
        }
    }

    /// Commits everything.
    pub(super) fn commit_all(&mut self) {
        while self.committed < self.log.len() {
            self.commit_next();
        }
    }

    /// Lets time pass, with a timer step at each moment that the shard asks for.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(at) = self.shard.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step(Event::Timer);
        }
        self.now = end;
    }

    pub(super) fn ask(&mut self, request: Request) -> RequestId {
        let id = self.next_id;
        self.next_id += 1;
        self.step(Event::Request { id, request });
        id
    }

    pub(super) fn ask_without_check(&mut self, request: Request) -> RequestId {
        let id = self.next_id;
        self.next_id += 1;
        self.step_without_check(Event::Request { id, request });
        id
    }

    /// The answer to a request, if there is one yet.
    pub(super) fn answer(&self, id: RequestId) -> Option<&Response> {
        self.answers.get(&id)
    }

    pub(super) fn random(&mut self) -> [u8; 16] {
        self.next_random += 1;
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&self.next_random.to_be_bytes());
        bytes
    }

    pub(super) fn join_answer(&self, id: RequestId) -> Option<JoinResponse> {
        match self.answer(id) {
            Some(Response::Join(response)) => Some(response.clone()),
            Some(other) => panic!("request {id} was answered {other:?}"),
            None => None,
        }
    }

    pub(super) fn sync_answer(&self, id: RequestId) -> Option<Result<SyncResponse, GroupError>> {
        match self.answer(id) {
            Some(Response::Sync(response)) => Some(response.clone()),
            Some(other) => panic!("request {id} was answered {other:?}"),
            None => None,
        }
    }

    /// Joins with the id that a first Join gives, as clients do.
    pub(super) fn join(&mut self, change: impl Fn(&mut JoinRequest)) -> (MemberId, RequestId) {
        let mut request = self.join_request();
        change(&mut request);
        let first = self.ask(Request::Join(Box::new(request.clone())));
        let response = self.join_answer(first).expect("the first Join is answered at once");
        assert_eq!(response.error, Some(GroupError::MemberIdRequired));
        request.member_id = response.member_id.clone();
        request.random = self.random();
        (response.member_id, self.ask(Request::Join(Box::new(request))))
    }

    /// A member joins again.
    pub(super) fn rejoin(&mut self, member: &MemberId, change: impl Fn(&mut JoinRequest)) -> RequestId {
        let mut request = self.join_request();
        request.member_id = member.clone();
        change(&mut request);
        self.ask(Request::Join(Box::new(request)))
    }

    pub(super) fn join_request(&mut self) -> JoinRequest {
        JoinRequest {
            group: GROUP.into(),
            member_id: "".into(),
            instance_id: None,
            client_id: "c".into(),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 60_000,
            protocol_type: "consumer".into(),
            protocols: vec![protocol("range", &["t"])],
            random: self.random(),
            requires_member_id: true,
            can_skip_assignment: true,
        }
    }

    pub(super) fn sync(
        &mut self,
        member: &MemberId,
        generation: Generation,
        assignments: &[(&MemberId, &'static str)],
    ) -> RequestId {
        let own = |(id, bytes): &(&MemberId, &'static str)| ((*id).clone(), Bytes::from_static(bytes.as_bytes()));
        self.ask(Request::Sync(SyncRequest {
            group: GROUP.into(),
            member_id: member.clone(),
            instance_id: None,
            generation,
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: assignments.iter().map(own).collect(),
        }))
    }

    pub(super) fn heartbeat(&mut self, member: &MemberId, generation: Generation) -> Result<(), GroupError> {
        let id = self.ask(Request::Heartbeat(HeartbeatRequest {
            group: GROUP.into(),
            member_id: member.clone(),
            instance_id: None,
            generation,
        }));
        match self.answer(id) {
            Some(Response::Heartbeat(result)) => *result,
            other => panic!("a heartbeat was answered {other:?}"),
        }
    }

    pub(super) fn leave(&mut self, members: &[(&str, Option<&str>)]) -> RequestId {
        let leaving = |(id, instance): &(&str, Option<&str>)| LeavingMember {
            member_id: (*id).into(),
            instance_id: instance.map(Arc::from),
        };
        self.ask(Request::Leave(LeaveRequest { group: GROUP.into(), members: members.iter().map(leaving).collect() }))
    }

    /// What a Leave was answered, per member.
    pub(super) fn left(&self, id: RequestId) -> Vec<Option<GroupError>> {
        match self.answer(id) {
            Some(Response::Leave(Ok(rows))) => rows.iter().map(|row| row.error).collect(),
            other => panic!("a Leave was answered {other:?}"),
        }
    }

    pub(super) fn commit_request(&self, member: &str, generation: Generation, offset: i64) -> OffsetCommitRequest {
        let partition = CommitPartition { index: 0, offset, leader_epoch: 3, metadata: Some("m".into()) };
        OffsetCommitRequest {
            group: GROUP.into(),
            member_id: member.into(),
            instance_id: None,
            generation,
            retention_ms: None,
            knows_group_id_not_found: true,
            topics: vec![CommitTopic { name: "t".into(), id: TOPIC_ID, partitions: vec![partition] }],
        }
    }

    /// Commits partition 0 of topic `t`.
    pub(super) fn commit(&mut self, member: &str, generation: Generation, offset: i64) -> RequestId {
        let request = self.commit_request(member, generation, offset);
        self.ask(Request::OffsetCommit(request))
    }

    /// What a commit or an OffsetDelete of one partition was answered.
    pub(super) fn outcome(&self, id: RequestId) -> Option<Result<(), GroupError>> {
        match self.answer(id)? {
            Response::OffsetCommit(result) | Response::OffsetDelete(result) => Some(match result {
                Ok(rows) => rows[0].partitions[0].error.map_or(Ok(()), Err),
                Err(error) => Err(*error),
            }),
            Response::DeleteGroup(result) => Some(*result),
            other => panic!("request {id} was answered {other:?}"),
        }
    }

    /// What the group has committed for partition 0 of topic `t`.
    pub(super) fn offset(&self) -> Option<i64> {
        self.shard.group(GROUP)?.offset("t", 0).map(|value| value.offset)
    }

    pub(super) fn state(&self) -> Option<GroupState> {
        self.shard.group(GROUP).map(|group| group.state())
    }

    /// A Stable group of so many members, the leader first. Its generation comes second.
    pub(super) fn stable(&mut self, members: usize) -> (Vec<MemberId>, Generation) {
        let mut joined: Vec<(MemberId, RequestId)> = Vec::new();
        for _ in 0..members {
            let new = self.join(|_| {});
            for (id, request) in &mut joined {
                if self.join_answer(*request).is_some() {
                    *request = self.rejoin(id, |_| {});
                }
            }
            joined.push(new);
        }
        let generation = self.join_answer(joined[0].1).expect("everybody has joined").generation;
        let ids: Vec<MemberId> = joined.into_iter().map(|(id, _)| id).collect();
        for id in ids.iter().rev() {
            let all: Vec<(&MemberId, &'static str)> = ids.iter().map(|id| (id, "a")).collect();
            self.sync(id, generation, &all);
        }
        assert_eq!(self.state(), Some(GroupState::Stable));
        (ids, generation)
    }
}

/// A consumer's protocol with a subscription of version 0.
pub(super) fn protocol(name: &str, topics: &[&str]) -> Protocol {
    let mut bytes = vec![0, 0];
    bytes.extend_from_slice(&(topics.len() as i32).to_be_bytes());
    for topic in topics {
        bytes.extend_from_slice(&(topic.len() as i16).to_be_bytes());
        bytes.extend_from_slice(topic.as_bytes());
    }
    Protocol { name: name.into(), metadata: bytes.into() }
}
