//! Random histories of a log against a plain list.

use ballast_tests::disk::Crash;
use proptest::collection::vec;
use proptest::prelude::*;

use super::rig::{LogRig, Went, check_epochs, read_all, small};

#[derive(Debug, Clone)]
enum Step {
    Append {
        count: usize,
        producer: Option<i64>,
    },
    AppendMany(Vec<usize>),
    Roll,
    Sync,
    /// To so many percent of the end.
    Truncate(i64),
    AssignEpoch,
    /// To so many percent of the end.
    AdvanceStart(i64),
    Retain,
    Reap,
    StartAnew(i64),
    CleanRestart,
    Crash(Crash),
}

fn step() -> impl Strategy<Value = Step> {
    let crash = prop_oneof![Just(Crash::Process), Just(Crash::LoseUnsynced), Just(Crash::Tear)];
    prop_oneof![
        8 => (1..6_usize, proptest::option::of(0..3_i64)).prop_map(|(count, producer)| Step::Append { count, producer }),
        3 => vec(1..4_usize, 1..8).prop_map(Step::AppendMany),
        1 => Just(Step::Roll),
        3 => Just(Step::Sync),
        2 => (0..=110_i64).prop_map(Step::Truncate),
        1 => Just(Step::AssignEpoch),
        1 => (0..=100_i64).prop_map(Step::AdvanceStart),
        1 => Just(Step::Retain),
        1 => Just(Step::Reap),
        1 => (0..500_i64).prop_map(Step::StartAnew),
        1 => Just(Step::CleanRestart),
        2 => crash.prop_map(Step::Crash),
    ]
}

fn take(rig: &mut LogRig, step: Step) {
    let (start, end) = (rig.log().start(), rig.log().end());
    let at = |percent: i64| start + (end - start) * percent / 100;
    let went = match step {
        Step::Append { count, producer } => rig.append(count, producer),
        Step::AppendMany(counts) => rig.append_many(&counts),
        Step::Roll => rig.roll(),
        Step::Sync => rig.sync(),
        Step::Truncate(percent) => rig.truncate(at(percent)),
        Step::AssignEpoch => rig.assign_epoch(),
        Step::AdvanceStart(percent) => rig.advance_start(at(percent)),
        Step::Retain => rig.retain(),
        Step::Reap => rig.reap(),
        Step::StartAnew(above) => rig.start_anew(end + above),
        Step::CleanRestart => {
            assert_eq!(rig.close(), Went::Well);
            rig.log = None;
            rig.open(true, None).expect("it opens");
            Went::Well
        }
        Step::Crash(crash) => {
            rig.crash(crash);
            rig.open(false, Some(crash)).expect("it opens");
            Went::Well
        }
    };
    assert_ne!(went, Went::Broken, "nothing fails here");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_a_list_of_batches_whatever_happens_to_it(seed in any::<u64>(), steps in vec(step(), 1..60)) {
        let mut rig = LogRig::new(seed, small());
        rig.create().expect("a new log");
        for step in steps {
            take(&mut rig, step);
            assert_eq!(read_all(rig.log()).expect("nothing fails"), rig.published);
            let end = rig.published.last().map_or(rig.log().end(), |batch| batch.last + 1);
            assert_eq!(rig.log().end(), end);
            check_epochs(rig.log(), &rig.published);
        }
    }
}
