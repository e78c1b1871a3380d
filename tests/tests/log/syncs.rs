//! Syncs in two halves, as whoever syncs many logs together does it, on a disk that then loses power.

use ballast_tests::disk::Crash;

use super::rig::{LogRig, NOW_MS, Went, small};

fn created() -> LogRig {
    let mut rig = LogRig::new(1, small());
    rig.create().expect("nothing fails");
    rig
}

fn after_a_power_cut(mut rig: LogRig, clean: bool) -> usize {
    rig.crash(Crash::LoseUnsynced);
    let report = rig.open(clean, Some(Crash::LoseUnsynced)).expect("it opens");
    assert_eq!(report.cut, None);
    rig.published.len()
}

#[test]
fn the_first_sync_of_a_new_log_covers_its_folder() {
    let mut rig = created();
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    assert_eq!(rig.sync(), Went::Well);
    assert_eq!(after_a_power_cut(rig, false), 1);
}

#[test]
fn a_sync_covers_what_another_one_has_not_come_to_yet() {
    let mut rig = created();
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    let slow = rig.log().begin_sync().expect("the disk works").expect("there is something to sync");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    assert_eq!(rig.sync(), Went::Well);
    assert_eq!(rig.log().recovery_point(), rig.log().end());
    drop(slow);
    assert_eq!(after_a_power_cut(rig, false), 2);
}

#[test]
fn a_log_that_is_closed_in_two_halves_is_safe_after_the_second() {
    let mut rig = created();
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    let point = rig.log().begin_close().expect("it closes").expect("there is something to sync");
    assert_eq!(rig.append(2, Some(7)), Went::Broken, "it is closed for writers");
    assert_eq!(rig.log().sync(NOW_MS).expect("nothing to do"), 0, "nobody is told that it is safe");
    let result = point.run();
    let end = rig.log().finish_close(point, result).expect("it is synced");
    assert_eq!((end, rig.log().recovery_point()), (2, 2));
    rig.recovery_point = end;
    assert_eq!(after_a_power_cut(rig, true), 1);
}

#[test]
fn a_log_whose_first_life_was_killed_before_any_sync_is_safe_after_the_first_sync_of_the_second() {
    let mut rig = created();
    rig.crash(Crash::Process);
    rig.open(false, Some(Crash::Process)).expect("it opens");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    assert_eq!(rig.sync(), Went::Well);
    assert_eq!(after_a_power_cut(rig, false), 1);
}
