//! Every disk call fails once, or from then on, with EIO or for lack of space; then the process or the machine crashes; then
//! what must be there is there.

use ballast_tests::disk::{Call, Crash, Repeat, SimDisk, Trouble};

use super::rig::{LogRig, Went, read_all, small};

type Script = &'static [fn(&mut LogRig) -> Went];

const CRASHES: [Crash; 3] = [Crash::Process, Crash::LoseUnsynced, Crash::Tear];

fn append(rig: &mut LogRig) -> Went {
    rig.append(2, Some(7))
}

fn queue_of_five(rig: &mut LogRig) -> Went {
    rig.append_many(&[1, 2, 3, 2, 1])
}

fn cut_in_half(rig: &mut LogRig) -> Went {
    let middle = rig.log().end() / 2;
    rig.truncate(middle)
}

fn cut_one(rig: &mut LogRig) -> Went {
    let end = rig.log().end();
    rig.truncate(end - 1)
}

fn delete_records(rig: &mut LogRig) -> Went {
    let middle = rig.log().end() / 2;
    rig.advance_start(middle)
}

fn start_anew(rig: &mut LogRig) -> Went {
    let beyond = rig.log().end() + 1000;
    rig.start_anew(beyond)
}

fn reopen(rig: &mut LogRig) -> Went {
    let went = rig.close();
    if went == Went::Well {
        rig.log = None;
        if rig.open(true, None).is_err() {
            return Went::Broken;
        }
    }
    went
}

/// Runs a script with one call failing, for every call, and crashes after it.
fn fail_every_call(script: Script) {
    for trouble in [Trouble::Io, Trouble::Full] {
        for repeat in [Repeat::Once, Repeat::Always] {
            for crash in CRASHES {
                let mut n = 0;
                while run(script, n, trouble, repeat, crash) {
                    n += 1;
                }
                assert!(n > 0, "the script makes no call");
            }
        }
    }
}

/// Was the call reached?
fn run(script: Script, n: u64, trouble: Trouble, repeat: Repeat, crash: Crash) -> bool {
    let mut rig = LogRig::new(n, small());
    rig.create().expect("nothing fails yet");
    for _ in 0..12 {
        assert_eq!(rig.append(2, Some(7)), Went::Well);
    }
    assert_eq!(rig.sync(), Went::Well);
    for _ in 0..4 {
        assert_eq!(rig.append(1, None), Went::Well);
    }
    rig.disk.fail_call(n, trouble, repeat);
    for step in script {
        if step(&mut rig) == Went::Broken {
            break;
        }
    }
    let reached = rig.disk.fault_was_reached();
    rig.crash(crash);
    let report = rig.open(false, Some(crash));
    report.unwrap_or_else(|error| panic!("call {n}, {trouble:?}, {repeat:?}, {crash:?}: {error}"));
    for _ in 0..3 {
        assert_eq!(rig.append(2, Some(7)), Went::Well, "a recovered log takes appends");
    }
    assert_eq!(rig.close(), Went::Well);
    rig.log = None;
    rig.open(true, None).expect("a clean stop can be opened");
    reached
}

#[test]
fn appends_survive_the_failure_of_any_call() {
    fail_every_call(&[append, queue_of_five, append, LogRig::sync, append, queue_of_five, LogRig::sync]);
}

#[test]
fn rolls_survive_the_failure_of_any_call() {
    fail_every_call(&[LogRig::roll, append, LogRig::roll, append, LogRig::sync, LogRig::roll, append]);
}

#[test]
fn truncations_survive_the_failure_of_any_call() {
    fail_every_call(&[append, cut_one, append, cut_in_half, append, append, LogRig::sync, cut_one, append]);
}

#[test]
fn epoch_checkpoints_survive_the_failure_of_any_call() {
    fail_every_call(&[LogRig::assign_epoch, append, LogRig::assign_epoch, LogRig::assign_epoch, append, LogRig::sync]);
}

#[test]
fn retention_survives_the_failure_of_any_call() {
    fail_every_call(&[delete_records, LogRig::retain, append, LogRig::retain, LogRig::reap, append]);
}

#[test]
fn a_clean_stop_survives_the_failure_of_any_call() {
    fail_every_call(&[append, reopen, append, LogRig::roll, append, reopen]);
}

#[test]
fn a_clean_stop_loses_nothing_when_power_fails_right_after() {
    for crash in CRASHES {
        for seed in 0..200 {
            let mut rig = LogRig::new(seed, small());
            rig.create().expect("nothing fails");
            for n in 0..20 {
                assert_eq!(rig.append(1 + n % 3, (n % 2 == 0).then_some(7)), Went::Well);
            }
            let producers = rig.log().producers();
            assert_eq!(rig.close(), Went::Well);
            rig.crash(crash);
            rig.open(true, Some(crash)).expect("it opens");
            assert_eq!(rig.log().producers(), producers, "{crash:?}, seed {seed}");
        }
    }
}

#[test]
fn emptying_a_log_survives_the_failure_of_any_call() {
    fail_every_call(&[start_anew, append, LogRig::sync, append]);
}

#[test]
fn recovery_survives_the_failure_of_any_call_and_keeps_the_same() {
    for crash in CRASHES {
        let mut n = 0;
        loop {
            let mut rig = LogRig::new(n, small());
            rig.create().expect("nothing fails yet");
            for _ in 0..12 {
                rig.append(2, Some(7));
            }
            rig.sync();
            for _ in 0..8 {
                rig.append(1, Some(8));
            }
            rig.crash(crash);
            rig.disk.fail_call(n, Trouble::Io, Repeat::Once);
            let opened = rig.open(false, Some(crash));
            let reached = rig.disk.fault_was_reached();
            rig.disk.heal();
            if opened.is_err() {
                rig.open(false, Some(crash)).expect("nothing fails any more");
            }
            assert_eq!(rig.append(1, None), Went::Well);
            if !reached {
                break;
            }
            n += 1;
        }
        assert!(n > 20, "recovery makes more calls than {n}");
    }
}

#[test]
fn a_full_disk_refuses_appends_and_the_log_goes_on_by_itself_when_there_is_room() {
    let mut rig = LogRig::new(1, small());
    rig.create().expect("there is room");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    rig.disk.set_capacity(Some(rig.disk.used_bytes()));
    let mut refused = 0;
    for _ in 0..2000 {
        if rig.append_many(&[3, 3, 3]) == Went::Refused {
            refused += 1;
            break;
        }
    }
    assert_eq!(refused, 1, "what was reserved is used up at last");
    assert_eq!(rig.append(1, Some(7)), Went::Refused);
    let published = rig.published.clone();
    assert_eq!(read_all(rig.log()).expect("what is there can be read"), published);
    rig.disk.set_capacity(None);
    assert_eq!(rig.append_many(&[3, 3, 3]), Went::Well);
    assert_eq!(rig.sync(), Went::Well);
    rig.crash(Crash::LoseUnsynced);
    rig.open(false, Some(Crash::LoseUnsynced)).expect("it opens");
}

#[test]
fn a_failed_write_behind_what_a_reader_holds_leaves_both_alone() {
    for held in [false, true] {
        let mut rig = LogRig::new(1, small());
        rig.create().expect("nothing fails yet");
        for _ in 0..3 {
            assert_eq!(rig.append(2, Some(7)), Went::Well);
        }
        let read = rig.log().read(0, 6, 1 << 20, true).expect("it is there").records.expect("it is there");
        let before = read.bytes().expect("bytes in memory").to_vec();
        let read = held.then_some(read);
        for _ in 0..5 {
            rig.disk.fail(ballast_tests::disk::Call::Write, ".log", Trouble::Full, Repeat::Once);
            assert_eq!(rig.append_many(&[1, 2, 1]), Went::Refused);
            assert_eq!(rig.append(1, Some(7)), Went::Well);
        }
        assert_eq!(rig.roll(), Went::Well, "what is left behind the data goes when the segment is sealed");
        assert_eq!(rig.append(1, Some(7)), Went::Well);
        if let Some(read) = read {
            assert_eq!(read.bytes().expect("bytes in memory"), before);
        }
        assert_eq!(rig.sync(), Went::Well);
        rig.crash(Crash::LoseUnsynced);
        let report = rig.open(false, Some(Crash::LoseUnsynced)).expect("it opens");
        assert_eq!((report.cut, rig.published.len()), (None, 9), "held: {held}");
    }
}

#[test]
fn nothing_is_written_after_a_failed_sync() {
    let mut rig = LogRig::new(1, small());
    rig.create().expect("nothing fails yet");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    rig.disk.fail(Call::Sync, ".log", Trouble::Io, Repeat::Once);
    assert_eq!(rig.sync(), Went::Broken);
    assert_eq!(rig.append(2, Some(7)), Went::Broken);
    assert_eq!(rig.sync(), Went::Broken, "a sync is not tried again");
    assert_eq!(rig.roll(), Went::Broken);
    assert_eq!(rig.truncate(0), Went::Broken);
    assert_eq!(rig.log().recovery_point(), 0);
    assert!(!read_all(rig.log()).expect("reads still work").is_empty());
}

/// A log with one synced batch and two that a failed sync left in memory alone, after a restart of the process.
fn after_a_failed_sync() -> LogRig {
    let mut rig = LogRig::new(1, small());
    rig.create().expect("nothing fails yet");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    assert_eq!(rig.sync(), Went::Well);
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    rig.disk.fail(Call::Sync, ".log", Trouble::Io, Repeat::Once);
    assert_eq!(rig.sync(), Went::Broken);
    rig.crash(Crash::Process);
    rig
}

/// What it holds survives a power cut once a sync has said so.
fn survives_a_power_cut(mut rig: LogRig, batches: usize) {
    assert_eq!(rig.sync(), Went::Well);
    assert_eq!(rig.log().recovery_point(), rig.log().end());
    rig.crash(Crash::LoseUnsynced);
    let report = rig.open(false, Some(Crash::LoseUnsynced)).expect("it opens");
    assert_eq!((report.cut, report.written_again_bytes, rig.published.len()), (None, None, batches));
}

#[test]
fn what_a_failed_sync_left_in_memory_is_written_again_before_it_is_believed() {
    let mut rig = after_a_failed_sync();
    let report = rig.open(false, Some(Crash::Process)).expect("it opens");
    assert!(report.written_again_bytes.is_some(), "{report:?}");
    survives_a_power_cut(rig, 3);
}

#[test]
fn what_left_memory_after_a_failed_sync_is_cut() {
    let mut rig = after_a_failed_sync();
    rig.disk.evict(LogRig::dir().join("00000000000000000000.log")).expect("it is there");
    let report = rig.open(false, Some(Crash::LoseUnsynced)).expect("it opens");
    assert!(report.cut.is_some(), "{report:?}");
    survives_a_power_cut(rig, 1);
}

#[test]
fn writing_again_after_a_failed_sync_may_fail_at_any_call() {
    let mut failed = 0;
    for n in 0.. {
        let mut rig = after_a_failed_sync();
        rig.disk.fail_call(n, Trouble::Io, Repeat::Once);
        let opened = rig.open(false, Some(Crash::Process));
        if !rig.disk.fault_was_reached() {
            break;
        }
        if opened.is_err() {
            failed += 1;
            rig.crash(Crash::Process);
            rig.open(false, Some(Crash::Process)).expect("the fault is over");
        }
        if rig.sync() == Went::Broken {
            rig.crash(Crash::Process);
            rig.open(false, Some(Crash::Process)).expect("the fault is over");
        }
        survives_a_power_cut(rig, 3);
    }
    assert!(failed > 10, "only {failed} calls were failed");
}

#[test]
fn a_killed_process_writes_nothing_any_more() {
    let mut rig = LogRig::new(1, small());
    rig.create().expect("nothing fails yet");
    assert_eq!(rig.append(2, Some(7)), Went::Well);
    let next: SimDisk = rig.disk.reopen();
    assert_eq!(rig.append(2, Some(7)), Went::Broken);
    rig.log = None;
    rig.disk = next;
    rig.open(false, Some(Crash::Process)).expect("the next life opens it");
    assert_eq!(rig.published.len(), 1);
}
