//! Many members that come, go, fall silent and die at random: the group always settles, and nobody is told what is not true.
//!
//! Every leader assigns to each member the text `generation/member`, so that each can tell whether what it gets is its own
//! and of this generation: then nobody owns a part twice.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ballast_tests::raw::groups::{COMMIT, JOIN, Member, SYNC, commit, sync};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{now_ms, text};
use ballast_tests::target::{Broker, unique, with};
use kafka_protocol::messages::{DescribeGroupsRequest, GroupId};

const REBALANCE_IN_PROGRESS: i16 = 27;
const UNKNOWN_MEMBER_ID: i16 = 25;
const ILLEGAL_GENERATION: i16 = 22;
const FENCED_INSTANCE_ID: i16 = 82;

/// A random number, from a seed that is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }
}

/// What the members have in common.
struct Play<'a> {
    broker: &'a Broker,
    group: &'a str,
    topic: &'a str,
    stop: AtomicBool,
    syncs: AtomicUsize,
}

enum Joined {
    Settled,
    Again,
}

impl Play<'_> {
    /// Joins and syncs until the member has an assignment of the generation that it joined.
    fn settle(&self, member: &mut Member) {
        while let Joined::Again = self.join_and_sync(member) {}
    }

    fn join_and_sync(&self, member: &mut Member) -> Joined {
        let mut request = member.how.clone().with_member_id(text(&member.id));
        request.group_instance_id = member.instance.as_deref().map(text);
        let joined = member.connection.call(JOIN, &request);
        match joined.error_code {
            0 => {}
            79 | REBALANCE_IN_PROGRESS => {
                member.id = joined.member_id.to_string();
                return Joined::Again;
            }
            UNKNOWN_MEMBER_ID | FENCED_INSTANCE_ID => {
                // Only after leaving, or when the group moved on without it.
                member.id.clear();
                return Joined::Again;
            }
            // Its coordinator is not there yet.
            14 | 16 => return Joined::Again,
            other => panic!("a join was answered with {other}: {joined:?}"),
        }
        member.id = joined.member_id.to_string();
        member.generation = joined.generation_id;
        let own = format!("{}/{}", member.generation, member.id);
        let assignments: Vec<(String, String)> = joined
            .members
            .iter()
            .map(|row| (row.member_id.to_string(), format!("{}/{}", joined.generation_id, row.member_id)))
            .collect();
        let assignments: Vec<(&str, &str)> =
            assignments.iter().map(|(id, part)| (id.as_str(), part.as_str())).collect();
        let mut request = sync(self.group, &member.id, member.generation, &assignments);
        request.group_instance_id = member.instance.as_deref().map(text);
        let synced = member.connection.call(SYNC, &request);
        match synced.error_code {
            0 => {
                let got = String::from_utf8_lossy(&synced.assignment).into_owned();
                // A leader that came back under its name keeps the assignment that was made for its old id.
                let is_kept = member.instance.is_some();
                assert!(is_kept || got == own, "{own} was given {got}");
                self.syncs.fetch_add(1, Ordering::Relaxed);
                Joined::Settled
            }
            REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION => Joined::Again,
            UNKNOWN_MEMBER_ID | FENCED_INSTANCE_ID => {
                member.id.clear();
                Joined::Again
            }
            other => panic!("a sync was answered with {other}"),
        }
    }

    /// Commits its generation: only members of the present one may, so what is committed never goes back.
    fn commit(&self, member: &mut Member) {
        let generation = i64::from(member.generation);
        let mut request = commit(self.group, &member.id, member.generation, self.topic, &[(0, generation, None)]);
        request.group_instance_id = member.instance.as_deref().map(text);
        let code = member.connection.commit(COMMIT, &request)[0];
        let allowed = [0, REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID];
        assert!(allowed.contains(&code), "a commit was answered with {code}");
        if code == 0 {
            let found = member.connection.committed(self.group, self.topic, &[0]).remove(0).committed_offset;
            assert!(found >= generation, "generation {found} is committed after {generation} was answered");
        }
    }

    /// A member's life, from one connection to the next, until all stop; then it stays.
    fn live(&self, number: u64, seed: u64) -> Member {
        let mut random = Random(seed.wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        loop {
            let mut member = Member::new(self.broker.connect(), self.group).timeouts(6_000, 6_000);
            member.instance = number.is_multiple_of(4).then(|| format!("static-{number}"));
            self.settle(&mut member);
            loop {
                if self.stop.load(Ordering::Relaxed) {
                    return member;
                }
                std::thread::sleep(Duration::from_millis(random.below(60)));
                match random.below(100) {
                    0..3 => {
                        let id = member.id.clone();
                        member.connection.leave(self.group, &[(&id, None)]);
                        break;
                    }
                    // It dies: its place is held until its session is over.
                    3..5 => break,
                    5..30 => self.commit(&mut member),
                    _ => {}
                }
                match member.heartbeat() {
                    0 => {}
                    REBALANCE_IN_PROGRESS => self.settle(&mut member),
                    UNKNOWN_MEMBER_ID | ILLEGAL_GENERATION | FENCED_INSTANCE_ID => break,
                    other => panic!("a heartbeat was answered with {other}"),
                }
            }
        }
    }
}

/// Everybody keeps its place until the group stands still.
fn until_stable(play: &Play<'_>, members: &mut [Member]) -> BTreeSet<i32> {
    let done = AtomicBool::new(false);
    let (group, broker) = (play.group, play.broker);
    std::thread::scope(|scope| {
        for member in members.iter_mut() {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                    if member.heartbeat() != 0 && !done.load(Ordering::Relaxed) {
                        play.settle(member);
                    }
                }
            });
        }
        let mut connection = broker.connect();
        let count = scope.spawn(move || {
            eventually("the group is stable", || {
                let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
                let told = connection.call(5, &request).groups.remove(0);
                // Those that died are gone at the end of their sessions.
                (&*told.group_state == "Stable" && told.members.len() == MEMBERS as usize).then_some(())
            });
        });
        let outcome = count.join();
        done.store(true, Ordering::Relaxed);
        outcome.expect("the group settles");
    });
    members.iter().map(|member| member.generation).collect()
}

const MEMBERS: u64 = 100;

#[test]
fn a_hundred_members_come_and_go_and_the_group_settles() {
    let settings = ["group.initial.rebalance.delay.ms=100", "group.min.session.timeout.ms=1000", "group.max.size=1000"];
    let Some(broker) = with(&settings) else { return };
    let seconds = std::env::var("BALLAST_SECONDS").map_or(6, |text| text.parse().expect("seconds are a number"));
    let seed = std::env::var("BALLAST_TEST_SEED").map_or(2026, |seed| seed.parse().expect("a seed is a number"));
    eprintln!("replay: BALLAST_TEST_SEED={seed} cargo test -p ballast-tests --test groups churn");
    let (group, topic) = (unique("churn"), broker.topic("churn", 2, &[]).name);
    broker.connect().coordinator(&group);
    let play = Play {
        broker: &broker,
        group: &group,
        topic: &topic,
        stop: AtomicBool::new(false),
        syncs: AtomicUsize::new(0),
    };
    let mut members: Vec<Member> = std::thread::scope(|scope| {
        let lives: Vec<_> = (0..MEMBERS)
            .map(|number| {
                scope.spawn({
                    let play = &play;
                    move || play.live(number, seed)
                })
            })
            .collect();
        let until = now_ms() + seconds * 1000;
        let mut offset = 0;
        let (mut writer, single) = (broker.connect(), unique("single"));
        // Beside it a group without members that only commits: those offsets never go back.
        while now_ms() < until {
            offset += 1;
            assert_eq!(writer.commit(COMMIT, &commit(&single, "", -1, &topic, &[(0, offset, None)])), [0]);
            assert_eq!(writer.committed(&single, &topic, &[0])[0].committed_offset, offset);
        }
        play.stop.store(true, Ordering::Relaxed);
        lives.into_iter().map(|life| life.join().expect("a member's life")).collect()
    });
    let generations = until_stable(&play, &mut members);
    assert_eq!(generations.len(), 1, "{generations:?}");
    let ids: BTreeSet<&str> = members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(ids.len(), members.len(), "two members share an id");
    let syncs = play.syncs.load(Ordering::Relaxed);
    assert!(syncs > 100, "{syncs} syncs are too few to mean anything");
}
