//! Brokers that are killed while replicas move.

use std::path::Path;

use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::unique;

use crate::rig::{Rig, alter, await_home, file_name, home, places, set_rate};

const BATCHES: i64 = 20;
const BYTES: i64 = 500_000;

/// A topic with records in it; where it is.
fn filled(rig: &Rig, topic: &str) -> String {
    let mut connection = rig.connect();
    connection.create_topic(topic, 1, &[]);
    for n in 0..BATCHES {
        assert_eq!(connection.append(topic, 0, batch_of_bytes(BYTES as usize)), n);
    }
    home(&mut connection, topic, 0)
}

#[test]
fn a_move_goes_on_after_the_broker_was_killed() {
    let mut rig = Rig::start();
    if rig.serve.is_none() {
        return;
    }
    let topic = unique("killed");
    let here = filled(&rig, &topic);
    let target = rig.other(&here);
    let mut connection = rig.connect();
    set_rate(&mut connection, "2000000");
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
    let mut copied = 0;
    for _ in 0..2 {
        eventually("some of it is copied", || {
            let found = places(&mut connection, &topic, 0);
            let at = found.get(1).map_or(copied + 1, |(_, _, bytes, _)| *bytes);
            (at > copied).then(|| copied = at)
        });
        rig.kill_and_restart();
        connection = rig.connect();
    }
    set_rate(&mut connection, "9223372036854775807");
    await_home(&mut connection, &topic, 0, &target);
    assert_eq!(places(&mut connection, &topic, 0), [(target.clone(), false, BATCHES * BYTES, 0)]);
    assert_eq!(connection.bounds(&topic, 0), (0, BATCHES));
    rig.kill_and_restart();
    assert_eq!(home(&mut rig.connect(), &topic, 0), target);
}

#[test]
fn an_exchange_of_names_that_a_crash_cut_short_is_finished_by_the_next_start() {
    let mut rig = Rig::start();
    if rig.serve.is_none() {
        return;
    }
    let topic = unique("between");
    let here = filled(&rig, &topic);
    let target = rig.other(&here);
    let serve = rig.serve.as_mut().expect("it is ours");
    assert!(serve.stop().success());
    // As it is between the two renames: the old folder has gone for good, the copy has not yet its name.
    let id = "0123456789abcdef0123456789abcdef";
    let (old, copy) = (format!("{here}/{topic}-0.{id}-delete"), format!("{target}/{topic}-0.{id}-future"));
    copy_folder(Path::new(&format!("{here}/{topic}-0")), Path::new(&copy));
    std::fs::rename(format!("{here}/{topic}-0"), &old).expect("it can be renamed");
    serve.restart();
    let mut connection = rig.connect();
    assert_eq!(places(&mut connection, &topic, 0), [(target, false, BATCHES * BYTES, 0)]);
    assert_eq!(connection.append(&topic, 0, batch_of_bytes(BYTES as usize)), BATCHES);
    eventually("the old folder goes", || (!Path::new(&old).exists()).then_some(()));
}

#[test]
fn a_copy_whose_replica_is_nowhere_is_not_taken_for_it() {
    let mut rig = Rig::start();
    if rig.serve.is_none() {
        return;
    }
    let topic = unique("alone");
    let here = filled(&rig, &topic);
    let target = rig.other(&here);
    let serve = rig.serve.as_mut().expect("it is ours");
    assert!(serve.stop().success());
    let id = "0123456789abcdef0123456789abcdef";
    std::fs::rename(format!("{here}/{topic}-0"), format!("{target}/{topic}-0.{id}-future")).expect("it is renamed");
    serve.restart();
    assert_eq!(rig.connect().bounds(&topic, 0), (0, 0), "its records are not there");
    let strays = rig.folders(&topic);
    assert!(strays.iter().any(|path| file_name(path).ends_with("-stray")), "{strays:?}");
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("it can be made");
    for entry in std::fs::read_dir(from).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, to.join(file_name(&path))).expect("it can be copied");
    }
}
