//! What brokers show of themselves when they are looked at: whether they answer, and their log directories.
//!
//! Holds: all are looked at at once, and none for longer than it takes to tell that it is silent.

use std::collections::{BTreeMap, BTreeSet};

use ballast_client::admin::{BrokerDescription, LogDir};
use ballast_client::{Admin, Cluster, ErrorCode};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::fenced::Why;
use crate::probe::{self, ANSWERS_WITHIN};

/// What one broker shows.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// Why it does not answer; `None` if it does.
    pub(super) unheard: Option<String>,
    /// Its log directories; `None` if it does not tell.
    pub(super) dirs: Option<Vec<LogDir>>,
}

/// Looks at every broker that is not fenced.
pub(super) async fn at_all(cluster: &Cluster, brokers: &[BrokerDescription]) -> BTreeMap<i32, Look> {
    let mut looks = JoinSet::new();
    for broker in brokers.iter().filter(|broker| !broker.fenced) {
        let (cluster, broker) = (cluster.clone(), broker.clone());
        looks.spawn(async move { (broker.id, at(&cluster, &broker).await) });
    }
    looks.join_all().await.into_iter().collect()
}

async fn at(cluster: &Cluster, broker: &BrokerDescription) -> Look {
    if let Err(reason) = probe::answers(cluster, (&broker.host, broker.port)).await {
        return Look { unheard: Some(reason), dirs: None };
    }
    let admin = Admin::new(cluster.clone());
    let dirs = timeout(ANSWERS_WITHIN, admin.describe_log_dirs(broker.id)).await;
    Look { unheard: None, dirs: dirs.ok().and_then(Result::ok) }
}

impl Look {
    /// Bytes of all logs.
    pub(super) fn log_bytes(&self) -> Option<u64> {
        let partitions = self.dirs.as_ref()?.iter().flat_map(|dir| &dir.partitions);
        Some(partitions.map(|partition| partition.size_bytes.max(0) as u64).sum())
    }

    /// Free bytes of its file systems. Two directories on one, that is with the same room, count once.
    pub(super) fn usable_bytes(&self) -> Option<u64> {
        let rooms = self.dirs.as_ref()?.iter().map(|dir| (dir.total_bytes, dir.usable_bytes.max(0) as u64));
        Some(rooms.collect::<BTreeSet<_>>().into_iter().map(|(_, usable)| usable).sum())
    }

    /// Directories that it cannot use any more.
    pub(super) fn failed_dirs(&self) -> Vec<String> {
        let failed = self.dirs.iter().flatten().filter(|dir| dir.error != ErrorCode::NONE);
        failed.map(|dir| dir.path.clone()).collect()
    }

    /// What is wrong with a broker that is not fenced.
    pub(super) fn trouble(&self) -> Option<Why> {
        if let Some(reason) = &self.unheard {
            let why = format!("it does not answer here ({reason})");
            let help =
                "look at its process and at the way to it; if the controllers do not hear it either, it is fenced soon";
            return Some(Why { why, help: help.to_owned() });
        }
        let failed = self.failed_dirs();
        (!failed.is_empty()).then(|| Why {
            why: format!("{} failed, its log says why", failed.join(" and ")),
            help: "what is in there is led elsewhere or by nobody; replace the disk and start the broker again"
                .to_owned(),
        })
    }

    /// The words between "broker 2" and what is wrong with it.
    pub(super) fn state(&self) -> &'static str {
        if self.unheard.is_some() { "is silent" } else { "has lost a log directory" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(path: &str, error: i16, total_bytes: i64, usable_bytes: i64) -> LogDir {
        LogDir { path: path.to_owned(), error: ErrorCode(error), total_bytes, usable_bytes, partitions: Vec::new() }
    }

    #[test]
    fn a_file_system_counts_once_and_a_failed_directory_is_named() {
        let dirs = vec![dir("/a", 0, 100, 7), dir("/b", 0, 100, 7), dir("/c", 0, 200, 7), dir("/d", 56, -1, -1)];
        let look = Look { unheard: None, dirs: Some(dirs) };
        assert_eq!(look.usable_bytes(), Some(14));
        let trouble = look.trouble().expect("a directory is lost");
        assert_eq!((look.state(), trouble.why.as_str()), ("has lost a log directory", "/d failed, its log says why"));
        assert_eq!(Look { unheard: None, dirs: None }.usable_bytes(), None);
        assert_eq!(Look { dirs: Some(vec![dir("/a", 0, 1, 1)]), ..Look::default() }.trouble(), None);
    }

    #[test]
    fn a_broker_that_does_not_answer_is_silent_whatever_else_is_known() {
        let look = Look { unheard: Some("Connection refused".to_owned()), dirs: None };
        let trouble = look.trouble().expect("it is silent");
        assert_eq!((look.state(), look.log_bytes()), ("is silent", None));
        assert!(trouble.why.contains("(Connection refused)"), "{}", trouble.why);
    }
}
