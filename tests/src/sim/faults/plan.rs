//! The faults of a run, drawn from its seed.

use std::collections::BTreeSet;

use ballast_wire::BrokerId;

use super::{CLASSES, Class};
use crate::disk::{Call, Crash};
use crate::sim::dice::Dice;

/// Whom a fault meets; found out when it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// This one.
    Broker(BrokerId),
    /// The active controller.
    Controller,
    /// The leader of one of the run's partitions, or of a group's; which, is a number to be taken modulo their count.
    Leader(u64),
}

/// What goes wrong.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A process is killed and its machine loses what `how` says. It starts again after so many ms.
    Kill { who: Who, how: Crash, down_ms: i64 },
    /// A process dies after so many more calls of its disk, and starts again.
    KillAfter { who: Who, calls: u64 },
    /// A process dies so many calls after these of its disk, each on a path with the words beside it, and its machine
    /// loses what `how` says. A supervisor starts it again.
    KillAt { who: Who, steps: &'static [(Call, &'static str)], calls: u64, how: Crash },
    /// All are killed at once.
    KillAll { how: Crash, down_ms: i64 },
    /// A broker stops in order, and starts again after so many ms.
    Restart { who: Who, down_ms: i64 },
    /// A disk has no room for `ms`.
    Fill { who: Who, ms: i64 },
    /// Calls of a disk fail: the next of this kind on a path with `part`, or all for `ms`.
    Fail { who: Who, call: Call, part: &'static str, ms: Option<i64> },
    /// A wall clock is wrong by so much for `ms`.
    Clock { who: Who, error_ms: i64, ms: i64 },
    /// A machine is cut off from all others, or from one.
    Cut { who: Who, from: Option<BrokerId>, ms: i64 },
    /// Machines on one side and on the other hear nothing of each other; a bridge, if there is one, hears both sides.
    /// `side` has a bit for each machine.
    Split { side: u64, bridge: Option<BrokerId>, ms: i64 },
    /// A machine is heard by nobody (or hears nobody), or not by one.
    CutOneWay { who: Who, from: Option<BrokerId>, speaks: bool, ms: i64 },
    /// Links of a machine are slow, or lose packets.
    BadLinks { who: Who, latency_ms: u64, loss_percent: u64, ms: i64 },
    /// Jobs of a disk take up to so much longer.
    Slow { who: Who, extra_ms: u64, ms: i64 },
    /// Nothing reaches or leaves a machine; afterwards everything does.
    Silence { who: Who, ms: i64 },
    /// The next leader of a partition of this topic (see [`Who::Leader`]) is killed so many ms after it began.
    KillNextLeader { number: u64, after_ms: i64, down_ms: i64 },
    /// The next replica that is about to join an ISR is cut off from its leader, which perhaps hears nothing from the active
    /// controller either.
    CutJoining { deaf: bool, ms: i64 },
    /// A process is killed, and while it is down bytes of one of its partitions change on the disk, if others have them too:
    /// of which partition, which file and which bytes is a number to be taken modulo what there is.
    Rot { who: Who, number: u64, down_ms: i64 },
    /// The same for a member of a group.
    SilentMember { member: u32, ms: i64 },
}

/// Telling calls, and of which files: logs are cut, files replaced, segments made and dropped, votes given.
const MOMENTS: [&[(Call, &str)]; 10] = [
    &[(Call::SetLen, "__cluster_metadata")],
    &[(Call::Sync, "__cluster_metadata")],
    &[(Call::Rename, "quorum-vote")],
    &[(Call::SetLen, "/d1-")],
    &[(Call::SetLen, "/d2-")],
    &[(Call::Open, ".snapshot")],
    &[(Call::Rename, "/d")],
    &[(Call::Rename, "checkpoint")],
    &[(Call::CreateDir, "")],
    &[(Call::SyncDir, "")],
];
/// The metadata log is cut and written to again.
const CUT_AND_WRITTEN: &[(Call, &str)] =
    &[(Call::SetLen, "__cluster_metadata-0/0"), (Call::Write, "__cluster_metadata-0/0")];

/// A segment is closed, and the next one begins.
const ROLLED: &[(Call, &str)] = &[(Call::Open, ".snapshot")];

/// A run's faults, by the ms at which they strike, counted from the beginning of the load.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The classes that are in it.
    pub classes: BTreeSet<Class>,
    /// What strikes when, in order, and to which class it belongs.
    pub actions: Vec<(i64, Class, Action)>,
}

impl Plan {
    /// Draws the faults of `seed`, for the machines `ids` and a load of `load_ms`.
    #[must_use]
    pub fn draw(seed: u64, ids: &[BrokerId], load_ms: i64) -> Plan {
        Plan::drawn(seed, ids, load_ms, false)
    }

    /// The same classes, aimed: some faults come in pairs that hurt, and disks fray.
    #[must_use]
    pub fn keen(seed: u64, ids: &[BrokerId], load_ms: i64) -> Plan {
        Plan::drawn(seed, ids, load_ms, true)
    }

    /// Exactly these classes, aimed.
    #[must_use]
    pub fn aimed(seed: u64, ids: &[BrokerId], load_ms: i64, classes: &[Class]) -> Plan {
        Plan::of(seed, ids, load_ms, classes.iter().copied().collect(), true)
    }

    fn drawn(seed: u64, ids: &[BrokerId], load_ms: i64, keen: bool) -> Plan {
        let dice = Dice::new(seed, "plan");
        let classes: BTreeSet<Class> = match dice.between(0, 9) {
            0 => BTreeSet::new(),
            1 => BTreeSet::from([*dice.one_of(&CLASSES)]),
            _ => CLASSES.into_iter().filter(|_| dice.percent(50)).collect(),
        };
        Plan::of(seed, ids, load_ms, classes, keen)
    }

    fn of(seed: u64, ids: &[BrokerId], load_ms: i64, classes: BTreeSet<Class>, keen: bool) -> Plan {
        let mut actions = Vec::new();
        for class in &classes {
            // Dice of its own: taking a class away leaves the others as they are.
            let dice = Dice::new(seed, &format!("{class:?}"));
            let gap_ms = dice.between(4_000, 16_000);
            let mut at = dice.between(0, gap_ms) as i64;
            while at < load_ms {
                let drawn = draw(*class, &dice, ids, keen).into_iter();
                actions.extend(drawn.map(|(later, action)| (at + later, *class, action)));
                at += dice.between(gap_ms / 2, gap_ms * 2) as i64;
            }
        }
        actions.sort_by_key(|(at, ..)| *at);
        Plan { classes, actions }
    }
}

/// What a fault of this class does, and how much later, in ms.
fn draw(class: Class, dice: &Dice, ids: &[BrokerId], keen: bool) -> Vec<(i64, Action)> {
    match class {
        Class::Flapping if dice.percent(50) => flapping(dice, ids),
        Class::Flapping => swizzled(dice, ids),
        _ if !keen => vec![(0, draw_one(class, dice, ids, keen))],
        // A replica falls behind, and loses its leader as it comes back to the ISR.
        Class::Joining if dice.percent(60) => {
            let cut = Action::Cut { who: Who::Broker(*dice.one_of(ids)), from: None, ms: 4_500 };
            vec![(0, cut), (0, draw_one(class, dice, ids, keen))]
        }
        // A sync that fails, and power that does before anybody has looked after the disk.
        Class::DiskError if dice.percent(40) => {
            let (who, how) = (Who::Broker(*dice.one_of(ids)), *dice.one_of(&[Crash::LoseUnsynced, Crash::Tear]));
            let fails = Action::Fail { who, call: Call::Sync, part: "/d2-", ms: None };
            let (later, down_ms) = (*dice.one_of(&[100, 400, 1_000]), *dice.one_of(&[10, 300, 2_000]));
            vec![(0, fails), (later, Action::Kill { who, how, down_ms })]
        }
        // Power fails as segments roll: what was closed a moment ago lacks a sector here and there, and what lies beside it is
        // whole.
        Class::Power if dice.percent(40) => {
            let (who, calls) = (Who::Broker(*dice.one_of(ids)), dice.between(0, 60));
            vec![(0, Action::KillAt { who, steps: ROLLED, calls, how: Crash::Fray })]
        }
        // A leader that no broker hears goes on writing, and later cuts what nobody else has.
        Class::CutOneWay if dice.percent(50) => {
            let (who, ms) = (Who::Leader(*dice.one_of(&[0, 1])), *dice.one_of(&[4_000, 6_000]));
            vec![(0, Action::CutOneWay { who, from: None, speaks: false, ms })]
        }
        // What a controller has written alone is cut when it is back among the others, and power fails about then.
        Class::Controller if dice.percent(40) => {
            let (steps, calls, how) =
                (CUT_AND_WRITTEN, dice.between(0, 2), *dice.one_of(&[Crash::LoseUnsynced, Crash::Tear]));
            let ms = *dice.one_of(&[3_000, 5_000]);
            let cut = Action::CutOneWay { who: Who::Controller, from: None, speaks: false, ms };
            vec![(0, cut), (0, Action::KillAt { who: Who::Controller, steps, calls, how })]
        }
        // A leader dies, and the next one before followers that hear late have caught up with it.
        Class::Leader if dice.percent(50) => {
            let (number, latency_ms) = (*dice.one_of(&[0, 1, 1, 2]), *dice.one_of(&[100, 300, 500]));
            let spared = *dice.one_of(ids);
            let late = |who| Action::BadLinks { who: Who::Broker(who), latency_ms, loss_percent: 0, ms: 8_000 };
            let next = Action::KillNextLeader { number, after_ms: dice.between(0, 300) as i64, down_ms: 2_000 };
            let down_ms = *dice.one_of(&[10, 300, 4_000]);
            let kill = Action::Kill { who: Who::Leader(number), how: Crash::Process, down_ms };
            let all_late = ids.iter().filter(|id| **id != spared).map(|id| (0, late(*id)));
            all_late.chain([(1_500, next), (1_500, kill)]).collect()
        }
        _ => vec![(0, draw_one(class, dice, ids, keen))],
    }
}

/// A link comes and goes.
fn flapping(dice: &Dice, ids: &[BrokerId]) -> Vec<(i64, Action)> {
    let (who, from) = (Who::Broker(*dice.one_of(ids)), Some(*dice.one_of(ids)));
    let mut at = 0;
    let cut = |_| {
        let (ms, open_ms) = (dice.between(50, 600) as i64, dice.between(50, 600) as i64);
        at += ms + open_ms;
        (at - ms - open_ms, Action::Cut { who, from, ms })
    };
    (0..dice.between(4, 12)).map(cut).collect()
}

/// Machines are cut off one after another, and come back in another order.
fn swizzled(dice: &Dice, ids: &[BrokerId]) -> Vec<(i64, Action)> {
    let mut some: Vec<BrokerId> = ids.iter().copied().filter(|_| dice.percent(60)).collect();
    let step_ms = dice.between(100, 1_000) as i64;
    let mut cuts = Vec::new();
    let count = some.len() as i64;
    for back in 0..count {
        // Whoever is drawn here comes back as the next one.
        let at = dice.between(0, some.len() as u64 - 1) as usize;
        let who = some.remove(at);
        let gone = ids.iter().position(|id| *id == who).unwrap_or(0) as i64;
        let (from_ms, upto_ms) = (gone * step_ms, (ids.len() as i64 + back) * step_ms);
        cuts.push((from_ms, Action::Cut { who: Who::Broker(who), from: None, ms: upto_ms - from_ms }));
    }
    cuts
}

fn draw_one(class: Class, dice: &Dice, ids: &[BrokerId], keen: bool) -> Action {
    let fray = if keen { Crash::Fray } else { Crash::Tear };
    let who = Who::Broker(*dice.one_of(ids));
    let ms = *dice.one_of(&[100, 500, 1_500, 4_000, 8_000]);
    let down_ms = *dice.one_of(&[10, 300, 2_000, 6_000]);
    let lost = [Crash::LoseUnsynced, Crash::Tear, fray];
    let from = if dice.percent(50) { Some(*dice.one_of(ids)) } else { None };
    match class {
        Class::KillOne if dice.percent(50) => Action::KillAfter { who, calls: dice.between(0, 300) },
        Class::KillOne => Action::Kill { who, how: Crash::Process, down_ms },
        Class::KillAll => Action::KillAll { how: Crash::Process, down_ms },
        Class::Power if dice.percent(30) => Action::KillAll { how: *dice.one_of(&lost), down_ms },
        Class::Power => Action::Kill { who, how: *dice.one_of(&lost), down_ms },
        Class::DiskFull => Action::Fill { who, ms },
        Class::DiskError => {
            let call = *dice.one_of(&[Call::Sync, Call::Sync, Call::Write, Call::SyncDir, Call::Rename, Call::Open]);
            let part = *dice.one_of(&["", "/d1-", "/d2-", "/d2-"]);
            Action::Fail { who, call, part, ms: if dice.percent(70) { None } else { Some(ms) } }
        }
        Class::Clock => {
            let error_ms = *dice.one_of(&[-3_600_000, -1_000, 1_000, 3_600_000, -86_400_000]);
            Action::Clock { who, error_ms, ms }
        }
        Class::Cut => Action::Cut { who, from, ms },
        Class::Split => Action::Split { side: dice.any(), bridge: from, ms },
        Class::CutOneWay => Action::CutOneWay { who, from, speaks: dice.percent(50), ms },
        Class::BadLinks => {
            let (latency_ms, loss_percent) = (dice.between(10, 400), *dice.one_of(&[0, 0, 1, 5]));
            Action::BadLinks { who, latency_ms, loss_percent, ms }
        }
        Class::SlowDisk => Action::Slow { who, extra_ms: *dice.one_of(&[10, 100, 1_000, 4_000]), ms },
        Class::Silence => Action::Silence { who, ms },
        Class::Restart => Action::Restart { who, down_ms },
        Class::Controller if dice.percent(50) => Action::Cut { who: Who::Controller, from: None, ms },
        Class::Controller => Action::Kill { who: Who::Controller, how: Crash::Process, down_ms },
        Class::Leader => Action::Kill { who: Who::Leader(dice.any()), how: Crash::Process, down_ms },
        Class::Moment => {
            let steps = *dice.one_of(&MOMENTS);
            let how = *dice.one_of(&[Crash::Process, Crash::LoseUnsynced, Crash::Tear, fray]);
            Action::KillAt { who: *dice.one_of(&[who, Who::Controller]), steps, calls: dice.between(0, 20), how }
        }
        Class::Joining => Action::CutJoining { deaf: dice.percent(60), ms: *dice.one_of(&[500, 1_500]) },
        Class::Rot => Action::Rot { who, number: dice.any(), down_ms },
        Class::Flapping => Action::Cut { who, from, ms },
        Class::Member => Action::SilentMember { member: dice.between(1, 2) as u32, ms: *dice.one_of(&[3_000, 5_000]) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_draws_one_plan_and_classes_do_not_disturb_each_other() {
        let one = Plan::draw(7, &[1, 2, 3], 20_000);
        assert_eq!(one.actions, Plan::draw(7, &[1, 2, 3], 20_000).actions);
        let all = Plan::of(7, &[1, 2, 3], 20_000, CLASSES.into(), false);
        let cuts = Plan::of(7, &[1, 2, 3], 20_000, BTreeSet::from([Class::Cut]), false);
        assert!(!cuts.actions.is_empty());
        for action in &cuts.actions {
            assert!(all.actions.contains(action), "{action:?} is in both");
        }
    }

    #[test]
    fn a_tenth_of_all_seeds_has_no_fault_and_another_exactly_one() {
        let counts: Vec<usize> = (0..1_000).map(|seed| Plan::draw(seed, &[1, 2, 3], 1).classes.len()).collect();
        let (none, one) = (counts.iter().filter(|n| **n == 0).count(), counts.iter().filter(|n| **n == 1).count());
        assert!((70..=140).contains(&none) && (70..=150).contains(&one), "{none} with none, {one} with one");
    }
}
