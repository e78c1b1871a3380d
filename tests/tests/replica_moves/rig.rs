//! A broker with two log directories, and what is asked of it.

use std::path::{Path, PathBuf};

use ballast_tests::process::Serve;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, name, text};
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{
    AlterReplicaLogDirsRequest, DescribeClusterRequest, DescribeLogDirsRequest, IncrementalAlterConfigsRequest,
};
use tempfile::TempDir;

/// Which rate a move has.
const RATE: &str = "replica.alter.log.dirs.io.max.bytes.per.second";
const BROKER_RESOURCE: i8 = 4;

/// The broker.
pub(crate) struct Rig {
    pub(crate) bootstrap: String,
    /// The process, when it is ours.
    pub(crate) serve: Option<Serve>,
    /// As DescribeLogDirs names them.
    pub(crate) dirs: [String; 2],
    _folder: TempDir,
}

/// A replica in a directory: which directory, future?, bytes, lag.
pub(crate) type Place = (String, bool, i64, i64);

impl Rig {
    /// Ours, or the one that the tests were sent to.
    pub(crate) fn start() -> Rig {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let serve = std::env::var("BALLAST_TEST_BOOTSTRAP").is_err().then(|| {
            let [a, b] = ["a", "b"].map(|name| folder.path().join(name).display().to_string());
            Serve::start_in(&folder.path().join("data"), "127.0.0.1:0", &[&format!("log.dirs={a},{b}")])
        });
        let bootstrap = match &serve {
            Some(serve) => serve.bootstrap.clone(),
            None => std::env::var("BALLAST_TEST_BOOTSTRAP").expect("it is there"),
        };
        let all = Connection::open(&bootstrap).call(1, &DescribeLogDirsRequest::default().with_topics(None));
        let dirs: Vec<String> = all.results.iter().map(|dir| dir.log_dir.to_string()).collect();
        let dirs = dirs.try_into().expect("the broker has two log directories");
        Rig { bootstrap, serve, dirs, _folder: folder }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.bootstrap)
    }

    /// The directory that is not this one.
    pub(crate) fn other(&self, dir: &str) -> String {
        self.dirs.iter().find(|other| *other != dir).expect("there are two").clone()
    }

    /// Folders of a topic's partition, by directory.
    pub(crate) fn folders(&self, topic: &str) -> Vec<PathBuf> {
        let of = |dir: &String| {
            let entries =
                std::fs::read_dir(dir).expect("it can be listed").map(|entry| entry.expect("an entry").path());
            entries.filter(|path| file_name(path).starts_with(&format!("{topic}-"))).collect::<Vec<_>>()
        };
        self.dirs.iter().flat_map(of).collect()
    }

    /// Kills the broker and starts it again.
    pub(crate) fn kill_and_restart(&mut self) {
        let serve = self.serve.as_mut().expect("only what is ours is killed");
        serve.kill();
        serve.restart();
    }
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Asks for a move; the code.
pub(crate) fn alter(connection: &mut Connection, version: i16, topic: &str, index: i32, dir: &str) -> i16 {
    let row = AlterReplicaLogDirTopic::default().with_name(name(topic)).with_partitions(vec![index]);
    let dir = AlterReplicaLogDir::default().with_path(text(dir)).with_topics(vec![row]);
    let response = connection.call(version, &AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]));
    let [row] = &response.results[..] else { panic!("{response:?}") };
    let [partition] = &row.partitions[..] else { panic!("{response:?}") };
    assert_eq!((row.topic_name.as_str(), partition.partition_index), (topic, index));
    partition.error_code
}

/// Where a replica is, and its copy. The replica comes first.
pub(crate) fn places(connection: &mut Connection, topic: &str, index: i32) -> Vec<Place> {
    let response = connection.call(2, &DescribeLogDirsRequest::default().with_topics(None));
    let mut places = Vec::new();
    for dir in &response.results {
        let rows = dir.topics.iter().filter(|row| row.name.as_str() == topic).flat_map(|row| &row.partitions);
        let rows = rows.filter(|row| row.partition_index == index);
        places.extend(rows.map(|r| (dir.log_dir.to_string(), r.is_future_key, r.partition_size, r.offset_lag)));
    }
    places.sort_by_key(|(_, is_future, ..)| *is_future);
    places
}

/// Where the replica is.
pub(crate) fn home(connection: &mut Connection, topic: &str, index: i32) -> String {
    places(connection, topic, index).swap_remove(0).0
}

/// Waits until the replica is in `dir` and nowhere else.
pub(crate) fn await_home(connection: &mut Connection, topic: &str, index: i32, dir: &str) {
    eventually(&format!("{topic}-{index} is in {dir} alone"), || {
        let places = places(connection, topic, index);
        (places.len() == 1 && places[0].0 == dir).then_some(())
    });
}

/// Sets the rate of moves, in bytes per second.
pub(crate) fn set_rate(connection: &mut Connection, bytes_per_second: &str) {
    let broker = connection.call(0, &DescribeClusterRequest::default()).brokers[0].broker_id.0.to_string();
    let config = AlterableConfig::default().with_name(text(RATE)).with_value(Some(text(bytes_per_second)));
    let resource = AlterConfigsResource::default().with_resource_type(BROKER_RESOURCE);
    let resource = resource.with_resource_name(text(&broker)).with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    assert_eq!(connection.call(1, &request).responses[0].error_code, 0);
}
