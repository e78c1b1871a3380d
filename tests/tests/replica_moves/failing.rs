//! A target directory that fails while a replica moves there: the move ends, and the replica goes on where it is.

use ballast_tests::raw::batch;
use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::unique;
use kafka_protocol::messages::DescribeLogDirsRequest;

use crate::rig::{Rig, alter, await_home, home, places, set_rate};

const KAFKA_STORAGE_ERROR: i16 = 56;
const BATCHES: i64 = 10;
const BYTES: usize = 500_000;

#[test]
fn a_target_directory_that_vanishes_ends_the_move_and_the_replica_goes_on_where_it_is() {
    let rig = Rig::start();
    if rig.serve.is_none() {
        return;
    }
    let topic = unique("vanished");
    let mut connection = rig.connect();
    connection.create_topic(&topic, 1, &[]);
    // The first directory has the metadata: it is the one that stays.
    if home(&mut connection, &topic, 0) == rig.dirs[1] {
        assert_eq!(alter(&mut connection, 2, &topic, 0, &rig.dirs[0]), 0);
        await_home(&mut connection, &topic, 0, &rig.dirs[0]);
    }
    for n in 0..BATCHES {
        assert_eq!(connection.append(&topic, 0, batch_of_bytes(BYTES)), n);
    }
    set_rate(&mut connection, "2000000");
    let target = rig.dirs[1].clone();
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
    eventually("some of it is copied", || {
        places(&mut connection, &topic, 0).get(1).is_some_and(|(_, _, bytes, _)| *bytes > 0).then_some(())
    });
    // As when a disk is pulled out: nothing can be made, renamed or synced by name any more.
    std::fs::rename(&target, format!("{target}.gone")).expect("it can be taken away");
    set_rate(&mut connection, "9223372036854775807");
    eventually("the directory is told as failed, without a copy", || {
        let all = connection.call(4, &DescribeLogDirsRequest::default().with_topics(None)).results;
        let row = all.iter().find(|row| row.log_dir.as_str() == target)?;
        (row.error_code == KAFKA_STORAGE_ERROR && row.topics.is_empty()).then_some(())
    });
    let here = places(&mut connection, &topic, 0);
    assert_eq!(here.iter().map(|place| (&*place.0, place.1)).collect::<Vec<_>>(), [(&*rig.dirs[0], false)]);
    assert_eq!(connection.append(&topic, 0, batch(&["after"])), BATCHES);
    assert_eq!(connection.bounds(&topic, 0), (0, BATCHES + 1));
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), KAFKA_STORAGE_ERROR, "nobody moves there now");
}
