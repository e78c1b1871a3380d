//! Bytes that change on a disk while nobody looks.
//!
//! What a start after a crash reads is hit: the end of a log, what lies beside it, and the checkpoints of the log directory. A
//! file with checksums loses a bit, one without them a sector: a wrong digit in a checkpoint is told by nothing, to Apache
//! Kafka either. Nor is the leader epoch of a batch, which no checksum covers: it is spared.
//!
//! Holds: a log is hit only while another broker that is up has all that is committed of it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use ballast_log::disk::Disk as _;
use ballast_wire::BrokerId;
use ballast_wire::batch::batches;

use super::apply::Faults;
use crate::sim::cluster::Cluster;
use crate::sim::history::{BrokerEvent, Event, Place};
use crate::sim::machine::{DATA_DIR, Machine, State};

/// Whose partitions are hit.
const TOPICS: [(&str, i32); 3] = [("d1", 2), ("d2", 2), ("plain", 1)];
/// Checkpoints of a log directory.
const CHECKPOINTS: [&str; 3] =
    ["recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"];
/// What a disk loses at once, in bytes.
const SECTOR_BYTES: usize = 512;

/// What is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The segment that ends a log.
    Log,
    /// The newest file beside it with this ending.
    Beside(&'static str),
    /// The epochs beside it.
    Epochs,
    /// A checkpoint of the log directory.
    Checkpoint,
}

const TARGETS: [Target; 8] = [
    Target::Log,
    Target::Log,
    Target::Log,
    Target::Beside(".index"),
    Target::Beside(".timeindex"),
    Target::Beside(".snapshot"),
    Target::Epochs,
    Target::Checkpoint,
];

impl Faults {
    /// Changes bytes of the broker `id`, which is down; `number` says of which file, and which.
    pub(super) fn rot(&mut self, cluster: &Cluster, id: BrokerId, mut number: u64) {
        let mut take = |count: usize| {
            let taken = number % count as u64;
            number /= count as u64;
            taken as usize
        };
        let target = TARGETS[take(TARGETS.len())];
        let places: Vec<Place> = TOPICS
            .iter()
            .flat_map(|(topic, count)| (0..*count).map(|partition| Place::new(topic, partition)))
            .collect();
        let place = &places[take(places.len())];
        if target == Target::Log && !self.others_have(cluster, place, id) {
            return;
        }
        let machine = &cluster.machines()[&id];
        let folder = Path::new(DATA_DIR).join(place.to_string());
        let path = match target {
            Target::Log => newest(machine, &folder, ".log"),
            Target::Beside(ending) => newest(machine, &folder, ending),
            Target::Epochs => Some(folder.join("leader-epoch-checkpoint")),
            Target::Checkpoint => Some(Path::new(DATA_DIR).join(CHECKPOINTS[take(CHECKPOINTS.len())])),
        };
        let Some(path) = path else { return };
        let bytes = machine.disk().peek(&path).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        let mut at = take(bytes.len());
        if target == Target::Log && is_in_an_epoch(&bytes, at) {
            at += EPOCH_BYTES.len();
        }
        let (at, changed) = match target {
            Target::Log | Target::Beside(_) => (at, vec![bytes[at] ^ (1 << take(8))]),
            Target::Epochs | Target::Checkpoint => (0, vec![0; bytes.len().min(SECTOR_BYTES)]),
        };
        if machine.disk().rot(&path, at as u64, &changed).is_ok() {
            let what = format!("{} of broker {id} rots: {} bytes at {at}", path.display(), changed.len());
            self.recorder.note(Event::Fault(what));
            if target == Target::Log {
                self.recorder.note(Event::Broker { broker: id, what: BrokerEvent::Rots { at: place.clone() } });
            }
        }
    }

    /// Is another member of the ISR up?
    fn others_have(&self, cluster: &Cluster, place: &Place, id: BrokerId) -> bool {
        let is_up = |other: &BrokerId| cluster.machines()[other].state() == State::Up;
        self.last_isr(place).iter().any(|other| *other != id && is_up(other))
    }
}

/// Where a batch says which leader wrote it.
const EPOCH_BYTES: Range<usize> = 12..16;

/// Is the byte at `at` of these batches one of a leader epoch?
fn is_in_an_epoch(bytes: &[u8], at: usize) -> bool {
    let mut begin = 0;
    for batch in batches(bytes).map_while(Result::ok) {
        if (begin..begin + batch.len()).contains(&at) {
            return EPOCH_BYTES.contains(&(at - begin));
        }
        begin += batch.len();
    }
    false
}

/// The last file of a folder with this ending, by name.
fn newest(machine: &Machine, folder: &Path, ending: &str) -> Option<PathBuf> {
    let files = machine.disk().list(folder).ok()?;
    let names = files.into_iter().map(|file| file.name).filter(|name| name.ends_with(ending));
    names.max().map(|name| folder.join(name))
}
