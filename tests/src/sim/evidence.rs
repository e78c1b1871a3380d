//! What a run leaves behind: its history, and the logs on all disks.
//!
//! Read next: `blackouts` (which losses are nobody's fault).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ballast_log::disk::Disk;
use ballast_wire::batch::{BatchView, batches};
use ballast_wire::{BrokerId, LeaderEpoch, Offset, ProducerId};

use super::beside::Beside;
use super::blackouts::Blackouts;
use super::history::{Entry, Place, Value};
use super::machine::{DATA_DIR, Machine};

/// Most bytes of an opened batch.
const OPENED_BYTES_MAX: usize = 16 << 20;

/// One record as it lies on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its offset.
    pub offset: Offset,
    /// The leader that wrote it.
    pub leader_epoch: LeaderEpoch,
    /// Who sent it, as the broker named it.
    pub producer_id: ProducerId,
    /// What it says; `None` for bytes that no producer of ours has sent.
    pub value: Option<Value>,
}

/// Everything that checks look at.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What happened.
    pub history: Vec<Entry>,
    /// The logs on all disks at the end.
    pub logs: BTreeMap<(Place, BrokerId), Vec<Kept>>,
    /// What lies beside them.
    pub beside: BTreeMap<(Place, BrokerId), Beside>,
    /// The batches of the metadata log on each disk, by index.
    pub metadata: BTreeMap<BrokerId, BTreeMap<Offset, Vec<u8>>>,
    /// Topics whose records are synced before they are acknowledged: no loss of power takes one.
    pub synced: BTreeSet<Arc<str>>,
    /// Topics of producers without idempotence: what they send again may be there twice.
    pub plain: BTreeSet<Arc<str>>,
    /// Found when they are first asked for.
    pub(super) blackouts: OnceLock<Blackouts>,
}

impl Evidence {
    /// When acknowledged records may have been lost, by partition.
    #[must_use]
    pub fn blackouts(&self) -> &Blackouts {
        self.blackouts.get_or_init(|| Blackouts::of(&self.history, &self.synced))
    }

    /// Reads the disks of `machines`.
    ///
    /// # Errors
    /// What does not read as Kafka's files.
    pub fn read_disks<'a>(
        &mut self,
        machines: impl Iterator<Item = &'a Machine>,
        places: &[Place],
    ) -> Result<(), String> {
        for machine in machines {
            for place in places {
                let mut records = Vec::new();
                if each_batch(machine, &place.to_string(), |batch| keep(batch, &mut records))? {
                    let folder = Path::new(DATA_DIR).join(place.to_string());
                    self.beside.insert((place.clone(), machine.id()), Beside::read(machine, &folder));
                    self.logs.insert((place.clone(), machine.id()), records);
                }
            }
            let mut entries = BTreeMap::new();
            each_batch(machine, "__cluster_metadata-0", |batch| {
                entries.insert(batch.base_offset(), batch.bytes().to_vec());
                Ok(())
            })?;
            self.metadata.insert(machine.id(), entries);
        }
        Ok(())
    }
}

fn keep(batch: &BatchView<'_>, records: &mut Vec<Kept>) -> Result<(), String> {
    let body = batch.open(OPENED_BYTES_MAX).map_err(|error| error.to_string())?;
    for record in batch.records_in(&body) {
        let record = record.map_err(|error| error.to_string())?;
        records.push(Kept {
            offset: record.offset(batch),
            leader_epoch: batch.leader_epoch(),
            producer_id: batch.producer_id(),
            value: record.value.and_then(Value::decode),
        });
    }
    Ok(())
}

/// False if the machine has no such folder.
fn each_batch(
    machine: &Machine,
    folder: &str,
    mut take: impl FnMut(&BatchView<'_>) -> Result<(), String>,
) -> Result<bool, String> {
    let (disk, folder) = (machine.disk(), Path::new(DATA_DIR).join(folder));
    let Ok(files) = disk.list(&folder) else { return Ok(false) };
    for file in files.iter().filter(|file| file.name.ends_with(".log")) {
        let path = folder.join(&file.name);
        let bytes = disk.peek(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for batch in batches(&bytes) {
            let complain = |what: String| format!("{} of {}: {what}", path.display(), machine.name());
            take(&batch.map_err(|error| complain(error.to_string()))?).map_err(complain)?;
        }
    }
    Ok(true)
}
