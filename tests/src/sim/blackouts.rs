//! When acknowledged records may be gone and nobody is to blame: everybody who surely had them died, of power at least one.
//!
//! With acks=all and without a sync a record is acknowledged once the whole ISR has it in memory. A broker that dies counts,
//! as Kafka counts it (KIP-966), as one that may have lost everything, until it is in the ISR again and has what is committed.
//! A partition whose last sure holder dies while power has taken another's memory, or its own, *blacks out*: an end of its log
//! may be lost. So it does when power takes the memory of any replica while no sure holder is left: the one that led last may
//! lead again, and it may be that one. And so it does when the last sure holder leaves the ISR alive (it stops in order, or
//! is fenced) to others of whose death the controller could not know yet. Nothing else may be lost, at no other time, and
//! nothing at all of topics that are synced before they acknowledge. Whoever's log rots has lost its memory and more: there
//! a sync has not helped.
//!
//! ```text
//! High { isr [1 2] } ─ sure {1 2} ── 1 killed ─ sure {2} ── 2 without power ─ sure {} : blackout
//!                                                 └─ High { isr [2] } ── 2 killed: none, a process leaves its writes behind
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ballast_wire::{BrokerId, Offset, PartitionEpoch};

use super::cluster::SESSION_MS;
use super::history::{BrokerEvent, Entry, Event, Place};

/// Blackouts by partition.
#[derive(Debug, Clone, Default)]
pub struct Blackouts {
    /// Indexes into the history, in order.
    by_place: BTreeMap<Place, Vec<usize>>,
}

/// What was taken.
#[derive(Debug, Clone, Copy, Default)]
struct Loss {
    /// Memory.
    of_power: bool,
    /// What was synced, too.
    of_rot: bool,
}

impl Loss {
    fn add(&mut self, other: Loss) {
        self.of_power |= other.of_power;
        self.of_rot |= other.of_rot;
    }
}

/// One who has died and not been in sync since.
#[derive(Default)]
struct Doubt {
    /// The end of its log, as far as it has told it again.
    end: Option<Offset>,
    loss: Loss,
    /// When it died last, in ms.
    since_ms: i64,
}

/// What is known of one partition.
#[derive(Default)]
struct Held {
    /// The ISR when that was last told: any of them may lead.
    isr: BTreeSet<BrokerId>,
    /// Has anybody told of it at all?
    is_told: bool,
    /// Who of them surely had every acknowledged record then, and has not died since.
    sure: BTreeSet<BrokerId>,
    /// What one of those, or one who is in the ISR without being sure, has lost.
    loss: Loss,
    doubtful: BTreeMap<BrokerId, Doubt>,
    /// The newest that anybody has heard of.
    partition_epoch: PartitionEpoch,
}

impl Blackouts {
    /// Finds them in a history. `synced` are the topics that have none.
    #[must_use]
    pub fn of(history: &[Entry], synced: &BTreeSet<Arc<str>>) -> Blackouts {
        let mut partitions: BTreeMap<&Place, Held> = BTreeMap::new();
        let mut found = Blackouts::default();
        for (index, entry) in history.iter().enumerate() {
            let Event::Broker { broker, what } = &entry.event else { continue };
            let mut strike = |at: &Place| found.by_place.entry(at.clone()).or_default().push(index);
            match what {
                BrokerEvent::Ends { at, end } => {
                    if let Some(doubt) = partitions.entry(at).or_default().doubtful.get_mut(broker) {
                        doubt.end = Some(*end);
                    }
                }
                BrokerEvent::High { at, high, isr, .. } => partitions.entry(at).or_default().count(*high, isr),
                BrokerEvent::Isr { at, partition_epoch, isr, .. } => {
                    let held = partitions.entry(at).or_default();
                    if held.change(*partition_epoch, isr, entry.ms) && held.may_lose(at, synced) {
                        strike(at);
                    }
                }
                BrokerEvent::Rots { at } => {
                    let loss = Loss { of_power: true, of_rot: true };
                    if partitions.entry(at).or_default().lose(*broker, loss, entry.ms) {
                        strike(at);
                    }
                }
                BrokerEvent::Died { of_power } => {
                    let loss = Loss { of_power: *of_power, of_rot: false };
                    for (at, held) in &mut partitions {
                        if held.lose(*broker, loss, entry.ms) && held.may_lose(at, synced) {
                            strike(at);
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Those of one partition: indexes into the history, in order.
    #[must_use]
    pub fn of_place(&self, at: &Place) -> &[usize] {
        self.by_place.get(at).map_or(&[], Vec::as_slice)
    }

    /// Has this partition had one?
    #[must_use]
    pub fn struck(&self, at: &Place) -> bool {
        self.by_place.contains_key(at)
    }

    /// The last one of any partition of `topic`.
    #[must_use]
    pub fn last_of_topic(&self, topic: &str) -> Option<usize> {
        let of_topic = self.by_place.iter().filter(|(at, _)| &*at.topic == topic);
        of_topic.filter_map(|(_, all)| all.last().copied()).max()
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> usize {
        self.by_place.values().map(Vec::len).sum()
    }
}

impl Held {
    /// A leader has published `high`, which all of `isr` have.
    fn count(&mut self, high: Offset, isr: &[BrokerId]) {
        self.doubtful.retain(|broker, doubt| !(isr.contains(broker) && doubt.end.is_some_and(|end| end >= high)));
        self.sure = isr.iter().copied().filter(|broker| !self.doubtful.contains_key(broker)).collect();
        self.isr = isr.iter().copied().collect();
        self.is_told = true;
        // Nobody has told the controller yet of those who are still in doubt: they may lead.
        self.loss = Loss::default();
        let in_isr = self.doubtful.iter().filter(|(broker, _)| isr.contains(broker));
        in_isr.for_each(|(_, doubt)| self.loss.add(doubt.loss));
    }

    /// The ISR has changed: who is out of it leads nothing, whatever it has. True if nobody who is left surely has everything,
    /// because of power or rot that the controller could not know of yet.
    fn change(&mut self, partition_epoch: PartitionEpoch, isr: &[BrokerId], now_ms: i64) -> bool {
        if partition_epoch <= self.partition_epoch || isr.is_empty() {
            return false;
        }
        self.partition_epoch = partition_epoch;
        let had_one = !self.sure.is_empty();
        self.sure.retain(|broker| isr.contains(broker));
        let died_unheard =
            |broker: &BrokerId| self.doubtful.get(broker).is_some_and(|doubt| doubt.since_ms + SESSION_MS >= now_ms);
        had_one && self.sure.is_empty() && isr.iter().all(died_unheard) && self.loss.of_power
    }

    /// Does what was lost excuse records of `at`?
    fn may_lose(&self, at: &Place, synced: &BTreeSet<Arc<str>>) -> bool {
        self.loss.of_rot || !synced.contains(&at.topic)
    }

    /// `broker` has died; true if nobody is left who surely has everything, because of power or rot.
    fn lose(&mut self, broker: BrokerId, loss: Loss, now_ms: i64) -> bool {
        let doubt = self.doubtful.entry(broker).or_default();
        doubt.since_ms = now_ms;
        doubt.end = None;
        doubt.loss.add(loss);
        let was_sure = self.sure.remove(&broker);
        // Power may also fail under a process that is dead already: what it wrote was still in the machine's memory.
        // Where nobody is sure any more, whoever led last may lead again, with what it has.
        let is_hit = loss.of_power && (self.isr.contains(&broker) || self.is_told && self.sure.is_empty());
        if is_hit {
            self.loss.add(loss);
        }
        (was_sure || is_hit) && self.sure.is_empty() && self.loss.of_power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Place {
        Place::new("t", 0)
    }

    fn high(isr: &[BrokerId]) -> Event {
        let what = BrokerEvent::High { at: at(), leader_epoch: 1, high: 5, isr: isr.to_vec() };
        Event::Broker { broker: isr[0], what }
    }

    fn isr(partition_epoch: PartitionEpoch, isr: &[BrokerId]) -> Event {
        let what = BrokerEvent::Isr { at: at(), leader_epoch: 1, partition_epoch, isr: isr.to_vec() };
        Event::Broker { broker: 1, what }
    }

    fn dies(broker: BrokerId, of_power: bool) -> Event {
        Event::Broker { broker, what: BrokerEvent::Died { of_power } }
    }

    fn ends(broker: BrokerId, end: Offset) -> Event {
        Event::Broker { broker, what: BrokerEvent::Ends { at: at(), end } }
    }

    fn blackouts(events: Vec<Event>) -> Vec<usize> {
        let history: Vec<Entry> = events.into_iter().map(|event| Entry { ms: 0, event }).collect();
        Blackouts::of(&history, &BTreeSet::new()).of_place(&at()).to_vec()
    }

    #[test]
    fn a_partition_blacks_out_when_its_last_sure_holder_is_gone_and_power_took_one() {
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(1, true), dies(2, false)]), [2]);
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(1, false), dies(2, true)]), [2]);
        assert_eq!(
            blackouts(vec![high(&[1]), dies(1, false), dies(1, true)]),
            [2],
            "without power after its process died"
        );
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(1, true)]), [] as [usize; 0]);
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(1, false), dies(2, false)]), [] as [usize; 0]);
    }

    #[test]
    fn who_has_left_the_isr_is_no_holder_and_who_died_is_none_until_it_has_everything_again() {
        assert_eq!(blackouts(vec![high(&[1, 2]), high(&[1]), dies(1, true)]), [2]);
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(2, true), ends(2, 4), high(&[1, 2]), dies(1, true)]), [4]);
        let back = vec![high(&[1, 2]), dies(2, true), ends(2, 5), high(&[1, 2]), dies(1, true)];
        assert_eq!(blackouts(back), [] as [usize; 0]);
    }

    #[test]
    fn once_all_have_died_the_power_of_any_replica_counts() {
        let doubtful = [high(&[1, 2]), dies(3, false), dies(1, false)];
        assert_eq!(blackouts([&doubtful[..], &[dies(2, false), dies(3, true)]].concat()), [4]);
        assert_eq!(blackouts([&doubtful[..], &[dies(3, true), dies(2, false)]].concat()), [] as [usize; 0]);
    }

    #[test]
    fn the_last_sure_holder_that_leaves_alive_counts_if_nobody_could_know_of_the_others_death() {
        let leaves = |dead: Event, isr_left: &[BrokerId]| {
            blackouts(vec![high(&[1, 2, 3]), dies(3, false), dead, isr(1, isr_left)])
        };
        assert_eq!(leaves(dies(2, true), &[3, 2]), [3]);
        assert_eq!(leaves(dies(2, false), &[3, 2]), [] as [usize; 0], "processes leave their writes behind");
        assert_eq!(leaves(dies(2, true), &[1]), [] as [usize; 0], "who has it stays");
        let cut_off = vec![high(&[1, 2]), isr(1, &[2]), dies(2, true)];
        assert_eq!(blackouts(cut_off), [2], "who is out of the ISR does not lead, whatever it has");
        let long_ago = Entry { ms: -SESSION_MS - 1, event: dies(2, true) };
        let now = [isr(1, &[2])].map(|event| Entry { ms: 0, event });
        let before = Entry { ms: long_ago.ms, event: high(&[1, 2]) };
        let history = [&[before, long_ago][..], &now].concat();
        assert_eq!(Blackouts::of(&history, &BTreeSet::new()).count(), 0, "the controller knows of it by then");
    }

    #[test]
    fn a_survivor_that_led_on_keeps_everything_when_its_process_dies() {
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(2, true), high(&[1]), dies(1, false)]), [] as [usize; 0]);
    }

    #[test]
    fn who_is_in_the_isr_without_being_sure_may_lead_when_all_others_have_died() {
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(2, true), high(&[1, 2]), dies(1, false)]), [3]);
        assert_eq!(blackouts(vec![high(&[1, 2]), dies(2, false), high(&[1, 2]), dies(1, false)]), [] as [usize; 0]);
        let dies_twice = vec![high(&[1, 2]), dies(2, false), high(&[1, 2]), dies(2, true), dies(1, false)];
        assert_eq!(blackouts(dies_twice), [4]);
    }

    #[test]
    fn a_topic_that_syncs_first_has_no_blackout_unless_a_log_rots() {
        let rots = |broker| Event::Broker { broker, what: BrokerEvent::Rots { at: at() } };
        let events = [high(&[1, 2]), dies(1, false), rots(1), dies(2, false)];
        let history: Vec<Entry> = events.into_iter().map(|event| Entry { ms: 0, event }).collect();
        assert_eq!(Blackouts::of(&history, &["t".into()].into()).count(), 1);
        let events = [high(&[1]), dies(1, true)];
        let history: Vec<Entry> = events.into_iter().map(|event| Entry { ms: 0, event }).collect();
        assert_eq!(Blackouts::of(&history, &["t".into()].into()).count(), 0);
        assert_eq!(Blackouts::of(&history, &BTreeSet::new()).last_of_topic("t"), Some(1));
    }
}
