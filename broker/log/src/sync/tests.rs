//! What is synced when, and that a failed sync is final.

use super::*;
use crate::config::LogConfig;
use crate::testing::{NOW_MS, Rig, batch, put};

#[test]
fn one_sync_serves_everything_published_before_it_began() {
    let rig = Rig::new(|config| config.segment_bytes = 300);
    let log = rig.create();
    for _ in 0..10 {
        put(&log, &batch(2)).unwrap();
    }
    let point = log.begin_sync().unwrap().unwrap();
    assert_eq!(point.end(), 20);
    put(&log, &batch(2)).unwrap();
    let result = point.run();
    assert_eq!(log.finish_sync(point, result, NOW_MS).unwrap(), 20);
    assert!(log.is_dirty());
    assert_eq!(log.sync(NOW_MS).unwrap(), 22);
    assert!(!log.is_dirty());
    assert!(log.begin_sync().unwrap().is_none());
}

#[test]
fn a_later_sync_may_finish_first() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(2)).unwrap();
    let first = log.begin_sync().unwrap().unwrap();
    put(&log, &batch(2)).unwrap();
    let second = log.begin_sync().unwrap().unwrap();
    assert_eq!(log.finish_sync(second, Ok(()), NOW_MS).unwrap(), 4);
    assert_eq!(log.finish_sync(first, Ok(()), NOW_MS).unwrap(), 4, "it does not go back");
}

#[test]
fn what_is_owed_stays_so_until_a_sync_has_covered_it() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    assert!(log.is_dirty(), "a new log owes its names");
    let first = log.begin_sync().unwrap().unwrap();
    let second = log.begin_sync().unwrap().expect("the first has not ended");
    assert!(second.dir && second.parent);
    log.finish_sync(second, Ok(()), NOW_MS).unwrap();
    assert!(!log.is_dirty(), "the second covered it");
    log.owe_sync(Vec::new());
    log.finish_sync(first, Ok(()), NOW_MS).unwrap();
    assert!(log.is_dirty(), "what came later is not covered by what began before");
}

#[test]
fn syncs_are_due_by_number_and_by_age() {
    let rig = Rig::new(|config| config.flush_messages = 5);
    let log = rig.create();
    assert!(!log.needs_sync(NOW_MS));
    put(&log, &batch(4)).unwrap();
    assert!(!log.needs_sync(i64::MAX), "flush.ms is off");
    put(&log, &batch(1)).unwrap();
    assert!(log.needs_sync(NOW_MS));
    log.sync(NOW_MS).unwrap();
    assert!(!log.needs_sync(NOW_MS));

    log.update_config(LogConfig { flush_ms: 1000, ..LogConfig::default() }.into());
    put(&log, &batch(1)).unwrap();
    assert!(!log.needs_sync(NOW_MS + 999));
    assert!(log.needs_sync(NOW_MS + 1000));
}

#[test]
fn a_failed_sync_is_final() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(2)).unwrap();
    let point = log.begin_sync().unwrap().unwrap();
    let source = std::io::Error::from_raw_os_error(5).into();
    let failed = Err(DiskError { doing: "cannot sync", path: rig.dir(), source });
    let error = log.finish_sync(point, failed, NOW_MS).unwrap_err();
    assert!(matches!(error, LogError::SyncFailed(_)), "{error}");
    assert!(matches!(log.sync(NOW_MS), Err(LogError::SyncFailed(_))));
    assert!(matches!(put(&log, &batch(1)), Err(crate::AppendError::SyncFailed(_))));
    assert!(matches!(log.close(), Err(LogError::SyncFailed(_))), "it does not count as a clean stop");
    assert!(matches!(log.failure(), Some(LogError::SyncFailed(_))));
    assert_eq!(log.recovery_point(), 0);
}

#[test]
fn a_sync_that_found_no_descriptor_is_done_later() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(2)).unwrap();
    for code in [23, 24] {
        let point = log.begin_sync().unwrap().unwrap();
        let source = std::io::Error::from_raw_os_error(code).into();
        let without = Err(DiskError { doing: "cannot open", path: rig.dir(), source });
        let error = log.finish_sync(point, without, NOW_MS).unwrap_err();
        assert!(matches!(&error, LogError::Disk(error) if error.is_passing()), "{error}");
        assert!(log.is_dirty());
        put(&log, &batch(1)).unwrap();
    }
    assert_eq!(log.sync(NOW_MS).unwrap(), 4);
}
