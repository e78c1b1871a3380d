//! The log as a whole: made, opened, closed, doomed.

use super::*;
use crate::testing::{NOW_MS, Rig, batch, put, spans};

#[test]
fn a_doomed_log_is_read_under_its_last_name_and_writes_nothing_any_more() {
    let rig = Rig::new(|config| config.segment_bytes = 300);
    let log = rig.create();
    for _ in 0..10 {
        put(&log, &batch(2)).unwrap();
    }
    let held = log.read(0, 20, 1 << 20, true).unwrap().records.unwrap();
    let to = rig.dir().with_file_name("topic-0.0123456789abcdef0123456789abcdef-delete");
    log.doom(&to).unwrap();
    assert_eq!(log.dir(), to);
    assert!(!held.bytes().unwrap().is_empty());
    assert_eq!(spans(&log, 0, 20).len(), 10);
    std::fs::remove_dir_all(&to).unwrap();
    assert!(put(&log, &batch(1)).is_err());
    assert!(!log.is_dirty() && log.begin_sync().unwrap().is_none());
    assert_eq!(log.close().unwrap(), 20);
}

#[test]
fn a_folder_with_a_log_is_not_made_again() {
    let rig = Rig::new(|_| {});
    rig.create().close().unwrap();
    let again = Log::create(Arc::clone(&rig.disk), rig.dir(), rig.config(), 0, NOW_MS).unwrap_err();
    assert!(matches!(again, LogError::Foreign { .. }), "{again}");
}

#[test]
fn a_log_may_begin_above_zero() {
    let rig = Rig::new(|_| {});
    let log = Log::create(Arc::clone(&rig.disk), rig.dir(), rig.config(), 500, NOW_MS).unwrap();
    assert_eq!((log.start(), log.end(), log.recovery_point()), (500, 500, 500));
    assert_eq!(put(&log, &batch(1)).unwrap().base_offset, 500);
}

/// M2: ten thousand partitions have to be cheap.
#[test]
fn an_idle_log_keeps_little_in_memory() {
    let fixed = size_of::<Log>() + size_of::<Segment>();
    assert!(fixed < 1400, "{fixed} bytes before anything is written");
}
