//! The planted faults, and which of them meets a request, a partition or a call of the disk.
//!
//! Rules are looked at in the order in which they were planted. All delays that meet a request add up; of everything else
//! the first one ends it, so that rules planted one after another are a script.
//!
//! Holds: a rule fires at most as often as it was told; one that is used up stays, with its count, until it is removed.

use std::time::Duration;

use ballast_wire::ErrorCode;
use ballast_wire::frame::ApiKey;

use super::fault::{Effect, Fault, Target};

/// Rules of one broker: more are a mistake of whoever plants them.
pub(super) const RULES_MAX: usize = 1_000;

/// Names a planted fault in its broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultId(pub u64);

/// A planted fault and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Its name.
    pub id: FaultId,
    /// What it does.
    pub fault: Fault,
    /// How often it has happened.
    pub fired: u64,
    /// How often it will still happen; `None` for until it is removed.
    pub left: Option<u32>,
}

impl Planted {
    fn is_live(&self) -> bool {
        self.left != Some(0)
    }

    fn fire(&mut self) {
        self.fired += 1;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
    }
}

/// How a request ends that is not simply served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Fail(ErrorCode),
    Drop,
    Lose,
}

/// What the rules say of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) delay: Duration,
    pub(crate) end: Option<End>,
}

/// A call of the disk, as far as the rules tell calls apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskCall<'a> {
    /// Bytes move, in either direction.
    Move,
    /// A segment of a topic takes bytes, or room for them.
    Append { folder: &'a str },
    /// A segment of a topic is synced.
    Sync { folder: &'a str },
}

/// What the rules say of a call of the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskVerdict {
    pub(crate) delay: Duration,
    pub(crate) full: bool,
    pub(crate) fail: bool,
}

/// A request's topics and partitions. No partitions: all of them.
pub(super) type Named<'a> = &'a [(String, Vec<i32>)];

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rules {
    planted: Vec<Planted>,
    last_id: u64,
}

impl Rules {
    pub(super) fn plant(&mut self, fault: Fault) -> FaultId {
        self.last_id += 1;
        let id = FaultId(self.last_id);
        let left = fault.times;
        self.planted.push(Planted { id, fault, fired: 0, left });
        id
    }

    pub(super) fn all(&self) -> &[Planted] {
        &self.planted
    }

    /// Removes one. What it did, if it was there.
    pub(super) fn remove(&mut self, id: FaultId) -> Option<Planted> {
        let at = self.planted.iter().position(|planted| planted.id == id)?;
        Some(self.planted.remove(at))
    }

    /// Removes all, and says how many there were.
    pub(super) fn clear(&mut self) -> usize {
        self.planted.drain(..).count()
    }

    fn live(&mut self) -> impl Iterator<Item = &mut Planted> {
        self.planted.iter_mut().filter(|planted| planted.is_live())
    }

    /// Must one know what a request of `api` names in order to judge it?
    pub(super) fn asks_for_topics(&self, api: ApiKey) -> bool {
        let asks = |planted: &Planted| planted.fault.api() == Some(api) && planted.fault.target.topic.is_some();
        self.planted.iter().any(|planted| planted.is_live() && asks(planted))
    }

    pub(super) fn on_request(&mut self, api: ApiKey, named: Named<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for planted in self.live() {
            if planted.fault.api() != Some(api) || !meets(&planted.fault.target, named) {
                continue;
            }
            let end = match &planted.fault.effect {
                Effect::Delay(_, delay) => {
                    verdict.delay += *delay;
                    planted.fire();
                    continue;
                }
                // Told at the partition that it is about (`on_partition`).
                Effect::Fail(..) if planted.fault.target.topic.is_some() => continue,
                Effect::Fail(_, code) => End::Fail(*code),
                Effect::Drop(_) => End::Drop,
                Effect::Lose(_) => End::Lose,
                Effect::SlowDisk(_) | Effect::DiskFull | Effect::FailSync => continue,
            };
            if verdict.end.is_none() {
                verdict.end = Some(end);
                planted.fire();
            }
        }
        if verdict.end == Some(End::Fail(ErrorCode::NONE)) {
            verdict.end = None;
        }
        verdict
    }

    /// The code that the answer about a partition shall have; a topic as a whole has no partition.
    pub(super) fn on_partition(&mut self, api: ApiKey, topic: &str, partition: Option<i32>) -> Option<ErrorCode> {
        let mut matching = self.live().filter(|planted| planted.fault.target.topic.is_some());
        let found = matching.find_map(|planted| match planted.fault.effect {
            Effect::Fail(key, code) if key == api && planted.fault.target.means(topic, partition) => {
                Some((planted, code))
            }
            _ => None,
        });
        let (planted, code) = found?;
        planted.fire();
        (code != ErrorCode::NONE).then_some(code)
    }

    pub(super) fn on_disk(&mut self, call: DiskCall<'_>) -> DiskVerdict {
        let mut verdict = DiskVerdict::default();
        for planted in self.live() {
            let target = &planted.fault.target;
            match (&planted.fault.effect, call) {
                (Effect::SlowDisk(delay), _) => verdict.delay += *delay,
                (Effect::DiskFull, DiskCall::Append { folder }) if is_of(target, folder) => verdict.full = true,
                (Effect::FailSync, DiskCall::Sync { folder }) if !verdict.fail && is_of(target, folder) => {
                    verdict.fail = true;
                }
                _ => continue,
            }
            planted.fire();
        }
        verdict
    }
}

/// Does a request that names all this name the target?
fn meets(target: &Target, named: Named<'_>) -> bool {
    let names = |(topic, partitions): &(String, Vec<i32>)| {
        target.means(topic, None)
            && (partitions.is_empty() || partitions.iter().any(|partition| target.means(topic, Some(*partition))))
    };
    target.topic.is_none() || named.iter().any(names)
}

/// Is a partition's folder (`orders-0`) that of the target?
fn is_of(target: &Target, folder: &str) -> bool {
    let Some((topic, partition)) = folder.rsplit_once('-') else { return target.topic.is_none() };
    target.means(topic, partition.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(faults: impl IntoIterator<Item = Fault>) -> Rules {
        let mut rules = Rules::default();
        for fault in faults {
            rules.plant(fault);
        }
        rules
    }

    fn orders(partition: i32) -> Vec<(String, Vec<i32>)> {
        vec![("orders".to_owned(), vec![partition])]
    }

    #[test]
    fn failures_planted_one_after_another_are_a_script() {
        let mut rules = with([
            Fault::fail_next(ApiKey::PRODUCE, ErrorCode::REQUEST_TIMED_OUT, 1),
            Fault::fail_next(ApiKey::PRODUCE, ErrorCode::NONE, 1),
            Fault::fail_next(ApiKey::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1),
        ]);
        let answers: Vec<_> = (0..4).map(|_| rules.on_request(ApiKey::PRODUCE, &[]).end).collect();
        let fail = |code| Some(End::Fail(code));
        let expected = [fail(ErrorCode::REQUEST_TIMED_OUT), None, fail(ErrorCode::NOT_LEADER_OR_FOLLOWER), None];
        assert_eq!(answers, expected);
        assert_eq!(rules.all().iter().map(|planted| planted.fired).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn a_fault_meets_its_own_api_only() {
        let mut rules = with([Fault::drop_connection(ApiKey::FETCH)]);
        assert_eq!(rules.on_request(ApiKey::PRODUCE, &[]), Verdict::default());
        assert_eq!(rules.on_request(ApiKey::FETCH, &[]).end, Some(End::Drop));
        assert_eq!(rules.on_request(ApiKey::FETCH, &[]).end, None, "once is once");
    }

    #[test]
    fn delays_add_up_and_do_not_stand_in_the_way_of_an_end() {
        let delay = Fault::delay(ApiKey::METADATA, Duration::from_millis(3));
        let mut rules = with([delay.clone(), delay, Fault::lose_answer(ApiKey::METADATA)]);
        let verdict = rules.on_request(ApiKey::METADATA, &[]);
        assert_eq!(verdict, Verdict { delay: Duration::from_millis(6), end: Some(End::Lose) });
    }

    #[test]
    fn a_fault_on_a_topic_meets_requests_that_name_it() {
        let mut rules = with([Fault::drop_connection(ApiKey::PRODUCE).on_partition("orders", 1).always()]);
        assert!(rules.asks_for_topics(ApiKey::PRODUCE) && !rules.asks_for_topics(ApiKey::FETCH));
        assert_eq!(rules.on_request(ApiKey::PRODUCE, &orders(0)).end, None);
        assert_eq!(rules.on_request(ApiKey::PRODUCE, &[("other".to_owned(), vec![1])]).end, None);
        assert_eq!(rules.on_request(ApiKey::PRODUCE, &orders(1)).end, Some(End::Drop));
        let whole_topic = [("orders".to_owned(), vec![])];
        assert_eq!(rules.on_request(ApiKey::PRODUCE, &whole_topic).end, Some(End::Drop), "it names every partition");
    }

    #[test]
    fn a_failure_on_a_partition_is_told_there_and_not_of_the_request() {
        let failure = Fault::fail_next(ApiKey::FETCH, ErrorCode::KAFKA_STORAGE_ERROR, 1).on_partition("orders", 1);
        let mut rules = with([failure]);
        assert_eq!(rules.on_request(ApiKey::FETCH, &orders(1)), Verdict::default());
        assert_eq!(rules.on_partition(ApiKey::FETCH, "orders", Some(0)), None);
        let told = rules.on_partition(ApiKey::FETCH, "orders", Some(1));
        assert_eq!(told, Some(ErrorCode::KAFKA_STORAGE_ERROR));
        assert_eq!(rules.on_partition(ApiKey::FETCH, "orders", Some(1)), None);
    }

    #[test]
    fn a_full_disk_refuses_appends_of_its_topic_until_it_is_removed() {
        let mut rules = Rules::default();
        let id = rules.plant(Fault::disk_full().on_topic("with-dash"));
        for _ in 0..3 {
            assert!(rules.on_disk(DiskCall::Append { folder: "with-dash-3" }).full);
        }
        assert!(!rules.on_disk(DiskCall::Append { folder: "with-3" }).full);
        assert_eq!(rules.remove(id).map(|planted| planted.fired), Some(3));
        assert!(!rules.on_disk(DiskCall::Append { folder: "with-dash-3" }).full);
    }

    #[test]
    fn one_sync_fails_and_the_next_does_not() {
        let mut rules = with([Fault::fail_next_sync()]);
        assert!(!rules.on_disk(DiskCall::Append { folder: "t-0" }).fail);
        assert!(rules.on_disk(DiskCall::Sync { folder: "t-0" }).fail);
        assert!(!rules.on_disk(DiskCall::Sync { folder: "t-0" }).fail);
    }

    #[test]
    fn a_slow_disk_slows_every_call() {
        let mut rules = with([Fault::slow_disk(Duration::from_millis(2))]);
        for call in [DiskCall::Move, DiskCall::Append { folder: "t-0" }, DiskCall::Sync { folder: "t-0" }] {
            assert_eq!(rules.on_disk(call).delay, Duration::from_millis(2));
        }
    }
}
