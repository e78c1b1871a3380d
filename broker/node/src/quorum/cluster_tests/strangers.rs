//! What a node of three is sent by somebody who knows the protocol and means no good, or has a bug: whatever it is, the node
//! lives on, restarts, and elects.

use std::collections::BTreeMap;

use ballast_core::image::encode_snapshot;
use ballast_wire::frame::ApiKey;
use ballast_wire::{BrokerId, Uuid};
use openraft::LeaderId;

use super::super::codec::CodecError;
use super::super::machine::snapshot_meta;
use super::super::members::UNPROVEN_MAX;
use super::super::rpc::{self, Ask, Joining, Refused, Snapshot};
use super::town::{Member, SESSION, Town, id, leader, observers, propose, until};
use super::*;

type Append = openraft::raft::AppendEntriesRequest<TypeConfig>;

/// The largest term that a log can keep.
const TERM_MAX: u64 = i32::MAX as u64;

async fn three(town: &Town) -> BTreeMap<BrokerId, Member> {
    let mut members = BTreeMap::new();
    for node in 1..=3 {
        members.insert(node, town.start(node, 1).await);
    }
    propose(&members.values().collect::<Vec<_>>(), 0).await;
    for member in members.values() {
        member.catches_up().await;
    }
    members
}

/// Whoever leads, and somebody who follows.
async fn roles(members: &BTreeMap<BrokerId, Member>) -> (BrokerId, BrokerId) {
    let led = *members.keys().nth(leader(&members.values().collect::<Vec<_>>()).await).unwrap();
    (led, *members.keys().find(|node| **node != led).unwrap())
}

/// Is it turned away, whether with an answer or by closing the connection?
async fn refuses(member: &Member, key: ApiKey, from: NodeId, payload: &[u8]) -> bool {
    let body = Ask { to: Some(member.quorum.me()), from }.with(payload);
    let Ok(answer) = member.quorum.answer(key, &body).await else { return true };
    let outcome: Result<Result<(), Refused>, CodecError> = rpc::outcome_of(&answer, |rest| {
        rest.0 = &[];
        Ok(())
    });
    outcome.unwrap().is_err()
}

async fn refuses_append(member: &Member, from: NodeId, append: &Append) -> bool {
    let mut payload = Vec::new();
    rpc::put_append(&mut payload, append);
    refuses(member, rpc::APPEND, from, &payload).await
}

async fn refuses_snapshot(member: &Member, chunk: &Snapshot) -> bool {
    let mut payload = Vec::new();
    rpc::put_snapshot(&mut payload, chunk);
    refuses(member, rpc::SNAPSHOT, chunk.vote.leader_id.node_id, &payload).await
}

fn vote(term: u64, node_id: NodeId) -> Vote {
    Vote { leader_id: LeaderId::new(term, node_id), committed: true }
}

/// A sign of life of the leader that `member` knows, with its whole log before it.
fn sign_of_life(member: &Member) -> Append {
    let vote = member.quorum.raft.metrics().borrow().vote;
    assert!(vote.committed, "it has a leader");
    Append { vote, prev_log_id: member.quorum.store.last(), entries: Vec::new(), leader_commit: None }
}

fn entry(leader_id: LeaderId<NodeId>, index: u64, payload: Payload) -> Entry {
    Entry { log_id: LogId { leader_id, index }, payload }
}

/// All is as it was, and goes on without its leader, and with everybody back.
async fn goes_on(town: &Town, mut members: BTreeMap<BrokerId, Member>, led: BrokerId, epoch: u64) {
    let topics = members[&led].topics() as u64;
    let now = members[&led].quorum.describe();
    assert_eq!((now.leader, now.epoch), (Some(id(led, 1)), epoch), "the leader leads on");
    propose(&members.values().collect::<Vec<_>>(), topics).await;
    members.remove(&led).unwrap().crash().await;
    propose(&members.values().collect::<Vec<_>>(), topics + 1).await;
    for member in std::mem::take(&mut members).into_values() {
        member.crash().await;
    }
    for node in 1..=3 {
        members.insert(node, town.start(node, 1).await);
    }
    propose(&members.values().collect::<Vec<_>>(), topics + 2).await;
    for (node, member) in &members {
        member.catches_up().await;
        assert_eq!(member.topics() as u64, topics + 3, "node {node}");
    }
}

#[tokio::test]
async fn an_append_of_nobodys_or_of_a_term_out_of_reach_changes_nothing() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = three(&town).await;
    let (led, follows) = roles(&members).await;
    let honest = sign_of_life(&members[&follows]);
    let term = honest.vote.leader_id.term;
    let (nobody, known) = (id(99, 1), id(*members.keys().find(|node| **node != led && **node != follows).unwrap(), 1));
    for (node, member) in &members {
        let me = id(*node, 1);
        let from = |vote: Vote| Append { vote, prev_log_id: None, ..sign_of_life(&members[&follows]) };
        for (what, of) in [
            ("nobody, the largest term", vote(TERM_MAX, nobody)),
            ("nobody, the next term", vote(term + 1, nobody)),
            ("nobody, this term", vote(term, nobody)),
            ("the node itself", vote(term + 1, me)),
            ("a voter, the largest term", vote(TERM_MAX, known)),
            ("a voter who was not elected", Vote { committed: false, ..vote(term + 1, known) }),
        ] {
            assert!(refuses_append(member, of.leader_id.node_id, &from(of)).await, "node {node}: {what}");
        }
        let other = if *node == led { known } else { id(led, 1) };
        assert!(refuses_append(member, nobody, &from(vote(term + 1, other))).await, "another than it says sends it");
        let mut payload = Vec::new();
        let of = Vote { committed: false, ..vote(TERM_MAX, known) };
        rpc::put_ballot(&mut payload, &openraft::raft::VoteRequest { vote: of, last_log_id: honest.prev_log_id });
        assert!(refuses(member, rpc::VOTE, known, &payload).await, "node {node}: a candidate of the largest term");
    }
    assert!(!refuses_append(&members[&follows], id(led, 1), &honest).await, "what the leader says is taken");
    goes_on(&town, members, led, term).await;
}

#[tokio::test]
async fn another_leader_of_the_term_is_not_heard_while_the_first_is() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = three(&town).await;
    let (led, follows) = roles(&members).await;
    let honest = sign_of_life(&members[&follows]);
    let term = honest.vote.leader_id.term;
    // The settings list node 3, whichever its directory, and of this one openraft would take the vote for the newer one.
    let greatest = NodeId { node: 3, directory: Uuid([0xff; 16]) };
    let of = vote(term, greatest);
    assert!(of > honest.vote);
    let other = Append { vote: of, ..honest };
    for node in [led, follows] {
        assert!(refuses_append(&members[&node], greatest, &other).await, "node {node}");
    }
    propose(&members.values().collect::<Vec<_>>(), 1).await;
    let now = members[&led].quorum.describe();
    assert_eq!((now.leader, now.epoch), (Some(id(led, 1)), term));
}

#[tokio::test]
async fn an_append_that_no_log_could_keep_is_refused_whole() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = three(&town).await;
    let (led, follows) = roles(&members).await;
    let member = &members[&follows];
    let honest = sign_of_life(member);
    let last = honest.prev_log_id.unwrap();
    let (reign, next) = (honest.vote.leader_id, last.index + 1);
    let before = member.quorum.store.bounds();
    let later = LeaderId::new(reign.term + 5, id(led, 1));
    let earlier = LeaderId::new(0, id(led, 1));
    let blank = |leader_id, index| entry(leader_id, index, Payload::Blank);
    let records = |bytes: Vec<u8>| Payload::Records(bytes.into());
    let bad: Vec<(&str, Vec<Entry>)> = vec![
        ("a gap", vec![blank(reign, next + 100)]),
        ("the largest index", vec![blank(reign, u64::MAX)]),
        ("not after what is before it", vec![blank(reign, last.index)]),
        ("a gap within", vec![blank(reign, next), blank(reign, next + 2)]),
        ("no records", vec![entry(reign, next, records(vec![]))]),
        ("records that do not decode, after good ones", {
            let good = entry(reign, next, records(topic(7)));
            vec![good, entry(reign, next + 1, records(vec![1, 0, 14, 0, 255, 255, 255]))]
        }),
        ("records of a newer format", vec![entry(reign, next, records(vec![99]))]),
        ("nobody votes", vec![entry(reign, next, Payload::Membership(Membership::new(vec![], ())))]),
        (
            "an empty set of voters",
            vec![entry(reign, next, Payload::Membership(Membership::new(vec![std::collections::BTreeSet::new()], ())))],
        ),
        ("a term after the leader's", vec![blank(later, next)]),
        ("a term before the last entry's", vec![blank(earlier, next)]),
    ];
    for (what, entries) in bad {
        let append = Append { entries, ..sign_of_life(member) };
        assert!(refuses_append(member, id(led, 1), &append).await, "{what}");
        assert_eq!(member.quorum.store.bounds(), before, "{what}");
    }
    let nothing_before = Append { prev_log_id: None, entries: vec![blank(reign, next)], ..sign_of_life(member) };
    assert!(refuses_append(member, id(led, 1), &nothing_before).await, "a gap after nothing");
    for committed in [LogId { leader_id: later, index: next }, LogId { leader_id: reign, index: u64::MAX }] {
        let append = Append { leader_commit: Some(committed), ..sign_of_life(member) };
        assert!(refuses_append(member, id(led, 1), &append).await, "committed {committed}");
    }
    // Committed beyond what is sent: no more than that is committed here.
    let beyond = LogId { leader_id: reign, index: last.index + 1000 };
    let append = Append { leader_commit: Some(beyond), ..sign_of_life(member) };
    assert!(!refuses_append(member, id(led, 1), &append).await);
    goes_on(&town, members, led, reign.term).await;
}

#[tokio::test]
async fn a_snapshot_that_does_not_decode_changes_nothing() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = three(&town).await;
    let (led, follows) = roles(&members).await;
    let member = &members[&follows];
    let of = sign_of_life(member).vote;
    let last = member.quorum.store.last().unwrap();
    let beyond = LogId { leader_id: of.leader_id, index: last.index + 50 };
    let stored = StoredMembership::new(Some(LogId::default()), member.quorum.membership().await);
    let whole = |last: Option<LogId>, stored: &StoredMembership, data: Vec<u8>| Snapshot {
        vote: of,
        meta: snapshot_meta(last, stored),
        offset: 0,
        data,
        done: true,
    };
    let image = encode_snapshot(&member.quorum.image());
    let mut newer = image.clone();
    newer[0] = 99;
    let nobody = StoredMembership::default();
    let late = LogId { leader_id: LeaderId::new(of.leader_id.term + 1, id(led, 1)), ..beyond };
    for (what, chunk) in [
        ("junk", whole(Some(beyond), &stored, vec![b'x'; 100])),
        ("nothing", whole(Some(beyond), &stored, vec![])),
        ("a newer format", whole(Some(beyond), &stored, newer)),
        ("an image of another index", whole(Some(beyond), &stored, image.clone())),
        ("nobody votes", whole(Some(beyond), &nobody, image.clone())),
        ("the largest index", whole(Some(LogId { index: u64::MAX, ..beyond }), &stored, image.clone())),
        ("a term after the leader's", whole(Some(late), &stored, image.clone())),
        ("nothing before it", whole(None, &stored, vec![b'x'; 10])),
    ] {
        assert!(refuses_snapshot(member, &chunk).await, "{what}");
    }
    assert_eq!(member.quorum.store.bounds().0, 0, "nothing was purged");
    assert!(member.quorum.raft.metrics().borrow().snapshot.is_none(), "nothing was installed");
    let dir = town.dir(id(follows, 1)).join(LOG_DIR);
    let is_snapshot = |file: std::fs::DirEntry| file.path().extension().is_some_and(|kind| kind == "checkpoint");
    assert!(!std::fs::read_dir(dir).unwrap().any(|file| is_snapshot(file.unwrap())), "nothing was written");
    goes_on(&town, members, led, of.leader_id.term).await;
}

#[tokio::test]
async fn however_many_ask_to_be_taken_in_only_a_few_unknown_ones_are_at_a_time() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = three(&town).await;
    let (led, _) = roles(&members).await;
    let member = &members[&led];
    let join = |who: NodeId| {
        let at = QuorumNode { host: "127.0.0.1".to_owned(), port: 9 };
        let mut payload = Vec::new();
        Joining { at, cluster: None, may_vote: true, listens_at: None }.put(&mut payload);
        async move { refuses(member, rpc::JOIN, who, &payload).await }
    };
    assert!(join(id(-1, 1)).await, "no node has such an id");
    let mut taken = 0;
    for node in 1000..1000 + 3 * UNPROVEN_MAX as BrokerId {
        taken += usize::from(!join(id(node, 1)).await);
    }
    assert!(taken >= UNPROVEN_MAX, "{taken} were taken in");
    assert!(observers(member).len() <= UNPROVEN_MAX, "{:?}", observers(member));
    // Directories of an id that votes: it may have been wiped, but not so often.
    let mut wiped = 0;
    for generation in 2..20 {
        wiped += usize::from(!join(id(if led == 1 { 2 } else { 1 }, generation)).await);
    }
    assert!(wiped <= 3, "{wiped} directories of one voter");
    until("who is silent is forgotten", || observers(member).is_empty()).await;
    assert!(SESSION < town::SOON);
    propose(&members.values().collect::<Vec<_>>(), 1).await;
}
