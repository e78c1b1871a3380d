//! Why a log directory was refused. Each message is one line that names the folder and the way out.

use std::path::PathBuf;

use ballast_wire::{BrokerId, Uuid};

use super::FORMAT_VERSION;
use crate::error::DiskError;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Malformed {
    /// Counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// What was expected and what was found.
    pub what: String,
}

impl Malformed {
    pub(super) fn at(line: usize, what: impl Into<String>) -> Malformed {
        Malformed { line, what: what.into() }
    }

    pub(super) fn not_text() -> Malformed {
        Malformed::at(0, "it is not UTF-8 text")
    }
}

/// Why a log directory, or one of its files, cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DirError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Another process, or another broker in this one, has it open.
    #[error("{} is in use by another broker: stop that one, or give this one a folder of its own", .0.display())]
    Locked(PathBuf),
    /// It belongs to another node.
    #[error(
        "{} belongs to node {found}, this is node {ours}: start with that node id, or choose another folder",
        path.display()
    )]
    WrongNode {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        found: BrokerId,
        /// Who wanted it.
        ours: BrokerId,
    },
    /// It belongs to another cluster.
    #[error(
        "{} belongs to cluster {found}, this is cluster {ours}: choose another folder, or empty this one to join anew",
        path.display()
    )]
    WrongCluster {
        /// The folder.
        path: PathBuf,
        /// Its cluster.
        found: Uuid,
        /// The cluster that it was to serve.
        ours: Uuid,
    },
    /// It has no `ballast.format`.
    #[error(
        "{} was written by Apache Kafka, whose folders cannot be taken over: choose an empty folder and copy the topics",
        .0.display()
    )]
    WrittenByKafka(PathBuf),
    /// It is in a format from the future.
    #[error(
        "{} is in format {found}, this Ballast knows up to {FORMAT_VERSION}: use the newer one that wrote it",
        path.display()
    )]
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It holds logs, but nothing says whose.
    #[error(
        "{} holds {partition} but no meta.properties: restore that file, or choose an empty folder",
        path.display()
    )]
    NoIdentity {
        /// The folder.
        path: PathBuf,
        /// One of the partitions in it.
        partition: String,
    },
    /// One of our files says something that we would not write.
    #[error("{}, {why}: restore the file, or remove it ({without_it})", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Malformed,
        /// What removing it costs.
        without_it: &'static str,
    },
}
