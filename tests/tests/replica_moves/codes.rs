//! What AlterReplicaLogDirs refuses, and what it makes of replicas that are not there yet.

use ballast_tests::target::unique;

use crate::rig::{Rig, alter, home, places};

#[test]
fn what_cannot_move_is_refused_with_kafkas_codes() {
    let rig = Rig::start();
    let mut connection = rig.connect();
    let topic = unique("codes");
    connection.create_topic(&topic, 1, &[]);
    let here = home(&mut connection, &topic, 0);
    for version in [1, 2] {
        let mut ask = |topic: &str, index, dir: &str| alter(&mut connection, version, topic, index, dir);
        assert_eq!(ask(&topic, 0, "/nowhere"), 57, "v{version}: no such directory");
        assert_eq!(ask(&topic, 0, &format!("{here}/")), 57, "v{version}: not as it was told");
        assert_eq!(ask(&topic, 0, ""), 57, "v{version}: an empty path");
        assert_eq!(ask(&unique("absent"), 0, "/nowhere"), 57, "v{version}: the directory comes first");
        assert_eq!(ask(&unique("absent"), 0, &here), 3, "v{version}: no such topic");
        assert_eq!(ask(&topic, 7, &here), 3, "v{version}: no such partition");
        assert_eq!(ask(&topic, -1, &here), 3, "v{version}: an impossible partition");
        assert_eq!(ask("__cluster_metadata", 0, &here), 3, "v{version}: the metadata does not move");
        assert_eq!(ask(&"n".repeat(240), 0, &here), 17, "v{version}: no room for a copy's name");
        assert_eq!(ask(&topic, 0, &here), 0, "v{version}: it is there already");
    }
    assert_eq!(places(&mut connection, &topic, 0), [(here, false, 0, 0)]);
}

#[test]
fn a_replica_that_is_not_there_yet_is_made_where_it_was_asked_for() {
    let rig = Rig::start();
    let mut connection = rig.connect();
    for dir in &rig.dirs {
        let topic = unique("placed");
        for index in 0..3 {
            assert_eq!(alter(&mut connection, 2, &topic, index, dir), 3);
        }
        connection.create_topic(&topic, 3, &[]);
        for index in 0..3 {
            assert_eq!(home(&mut connection, &topic, index), *dir, "{topic}-{index}");
        }
    }
}
