//! The state machine: committed entries make an image, and whoever listens is told of each step.
//!
//! ```text
//! entry ── decode ── Image::apply ──┬─► image()
//!                                   └─► (image, what changed) to every listener, in order
//! ```
//! Holds:
//!   1. The image is what all entries up to `last` say; so are the images of every other node that has come so far.
//!   2. A listener first gets the whole image, then every change that comes after it, each once.
//!   3. An entry that is not understood stops the quorum: metadata is never skipped.
//!   4. A snapshot from the leader is on disk before openraft hears of it: openraft drops the entries that it covers while
//!      it is installed.
//!
//! Read next: snapshots (files), diff (images without the entries between them).

mod diff;
mod snapshots;

pub(super) use self::snapshots::describe as snapshot_meta;

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use ballast_core::image::{Delta, Image, decode_records, decode_snapshot};
use ballast_log::disk::Disk;
use openraft::storage::RaftStateMachine;
use openraft::{OptionalSend, RaftSnapshotBuilder, Snapshot};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use self::snapshots::{Snapshots, Taken};
use super::TOLD;
use super::entry::{Entry, Payload};
use super::error::{Fault, QuorumError};
use super::store::on_disk;
use super::types::{LogId, SnapshotMeta, StorageError, StoredMembership, TypeConfig};

/// An image, and what differs from the one before it.
pub type Publication = (Arc<Image>, Delta);

/// See the module. A clone is another handle.
#[derive(Clone)]
pub struct Machine(Arc<Inner>);

struct Inner {
    disk: Arc<dyn Disk>,
    snapshots: Arc<Snapshots>,
    applied: Mutex<Applied>,
    fault: Fault,
}

#[derive(Default)]
struct Applied {
    image: Arc<Image>,
    last: Option<LogId>,
    membership: StoredMembership,
    listeners: Vec<mpsc::UnboundedSender<Publication>>,
}

impl Machine {
    /// Starts from the newest snapshot in `dir`, or empty. Blocks.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, fault: Fault) -> Result<Machine, QuorumError> {
        let (snapshots, newest) = Snapshots::open(Arc::clone(&disk), dir.to_owned())?;
        let applied = match newest {
            Some((meta, image)) => Applied {
                image: Arc::new(image),
                last: meta.last_log_id,
                membership: meta.last_membership,
                listeners: Vec::new(),
            },
            None => Applied::default(),
        };
        Ok(Machine(Arc::new(Inner { disk, snapshots: Arc::new(snapshots), applied: Mutex::new(applied), fault })))
    }

    /// The image with everything applied so far.
    #[must_use]
    pub fn image(&self) -> Arc<Image> {
        Arc::clone(&self.0.applied.lock().image)
    }

    /// The last entry that was applied.
    #[must_use]
    pub fn last(&self) -> Option<LogId> {
        self.0.applied.lock().last
    }

    /// Why the newest snapshot did not open at the start, if it did not.
    pub(super) fn unreadable(&self) -> Option<QuorumError> {
        self.0.snapshots.unreadable.clone()
    }

    /// A listener: the whole image first, then every change.
    #[must_use]
    pub fn listen(&self) -> mpsc::UnboundedReceiver<Publication> {
        let (listener, publications) = mpsc::unbounded_channel();
        let mut applied = self.0.applied.lock();
        let whole = diff::between(&Image::default(), &applied.image);
        // The receiver is right here.
        let _ = listener.send((Arc::clone(&applied.image), whole));
        applied.listeners.push(listener);
        publications
    }

    /// Lets every listener hear the end.
    pub(super) fn hush(&self) {
        self.0.applied.lock().listeners.clear();
    }

    fn apply_all(&self, entries: impl IntoIterator<Item = Entry>) -> Result<Vec<()>, QuorumError> {
        let mut applied = self.0.applied.lock();
        entries.into_iter().map(|entry| applied.apply(entry)).collect()
    }

    /// Keeps a snapshot that came whole, unless what it says is applied here already. It survives a crash once this returns,
    /// and a start may take it: a leader sends only what was committed.
    ///
    /// # Errors
    /// It does not decode, and nothing was done; the disk failed.
    pub(super) async fn keep(&self, meta: &SnapshotMeta, bytes: Vec<u8>) -> Result<Vec<u8>, QuorumError> {
        // Large ones take their time; a thread of the disk is there for that.
        let (snapshots, meta, applied) = (Arc::clone(&self.0.snapshots), meta.clone(), self.last());
        let check_and_save = move || {
            decode(&meta, &bytes)?;
            let taken = Taken { meta, image: bytes };
            if taken.meta.last_log_id > applied {
                snapshots.save(&taken)?;
            }
            Ok(taken.image)
        };
        on_disk(&*self.0.disk, check_and_save).await
    }

    async fn install(&self, meta: &SnapshotMeta, bytes: Vec<u8>) -> Result<(), QuorumError> {
        let image = decode(meta, &bytes)?;
        let (snapshots, taken) = (Arc::clone(&self.0.snapshots), Taken { meta: meta.clone(), image: bytes });
        on_disk(&*self.0.disk, move || snapshots.save(&taken)).await?;
        let mut applied = self.0.applied.lock();
        let delta = diff::between(&applied.image, &image);
        applied.last = meta.last_log_id;
        applied.membership = meta.last_membership.clone();
        applied.publish(image, delta);
        Ok(())
    }

    async fn current(&self) -> Result<Option<Snapshot<TypeConfig>>, QuorumError> {
        let snapshots = Arc::clone(&self.0.snapshots);
        let taken = on_disk(&*self.0.disk, move || snapshots.load()).await?;
        Ok(taken.map(handed_over))
    }

    #[expect(clippy::result_large_err, reason = "what openraft's traits return")]
    fn raise<T>(&self, result: Result<T, QuorumError>) -> Result<T, StorageError> {
        result.map_err(|error| self.0.fault.raise(error))
    }
}

impl Applied {
    fn apply(&mut self, entry: Entry) -> Result<(), QuorumError> {
        let index = entry.log_id.index;
        let records = match entry.payload {
            Payload::Blank => Vec::new(),
            Payload::Records(records) => {
                decode_records(&records).map_err(|cause| QuorumError::Apply { index, cause })?
            }
            Payload::Membership(membership) => {
                self.membership = StoredMembership::new(Some(entry.log_id), membership);
                Vec::new()
            }
        };
        let mut image = Image::clone(&self.image);
        let delta = image.apply(index, &records);
        self.last = Some(entry.log_id);
        self.publish(image, delta);
        Ok(())
    }

    fn publish(&mut self, image: Image, delta: Delta) {
        tell_isrs(&image, &delta);
        self.image = Arc::new(image);
        self.listeners.retain(|listener| listener.send((Arc::clone(&self.image), delta.clone())).is_ok());
    }
}

/// Tells the ISRs that are in place from now on, for whoever watches a whole cluster.
fn tell_isrs(image: &Image, delta: &Delta) {
    if !tracing::enabled!(target: TOLD, tracing::Level::TRACE) {
        return;
    }
    for (id, partition) in &delta.partitions_changed {
        let Some((topic, state)) = image.topic_by_id(*id).and_then(|topic| Some((topic, topic.partition(*partition)?)))
        else {
            continue;
        };
        let (leader_epoch, partition_epoch, isr) = (state.leader_epoch, state.partition_epoch, &state.isr);
        tracing::trace!(target: TOLD, topic = %topic.name, partition, leader_epoch, partition_epoch, ?isr, "isr");
    }
}

/// The image that a snapshot is said to be.
fn decode(meta: &SnapshotMeta, bytes: &[u8]) -> Result<Image, QuorumError> {
    let image = decode_snapshot(bytes)?;
    let says = meta.last_log_id.map(|last| last.index);
    if says.unwrap_or(0) != image.index() {
        return Err(QuorumError::SnapshotIndex { says, holds: image.index() });
    }
    Ok(image)
}

/// A snapshot that came whole, as openraft takes it.
pub(super) fn received(meta: SnapshotMeta, image: Vec<u8>) -> Snapshot<TypeConfig> {
    handed_over(Taken { meta, image })
}

fn handed_over(taken: Taken) -> Snapshot<TypeConfig> {
    Snapshot { meta: taken.meta, snapshot: Box::new(Cursor::new(taken.image)) }
}

/// An image that stands still while it becomes a snapshot.
pub struct Builder {
    machine: Machine,
    image: Arc<Image>,
    last: Option<LogId>,
    membership: StoredMembership,
}

impl RaftSnapshotBuilder<TypeConfig> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<TypeConfig>, StorageError> {
        let (image, last, membership) = (Arc::clone(&self.image), self.last, self.membership.clone());
        let Inner { disk, snapshots, .. } = &*self.machine.0;
        let snapshots = Arc::clone(snapshots);
        let work = move || {
            let taken = snapshots::take(&image, last, &membership);
            snapshots.save(&taken)?;
            Ok(taken)
        };
        let taken = on_disk(&**disk, work).await;
        self.machine.raise(taken).map(handed_over)
    }
}

impl RaftStateMachine<TypeConfig> for Machine {
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        let applied = self.0.applied.lock();
        Ok((applied.last, applied.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let applied = self.apply_all(entries);
        self.raise(applied)
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let applied = self.0.applied.lock();
        Builder {
            machine: self.clone(),
            image: Arc::clone(&applied.image),
            last: applied.last,
            membership: applied.membership.clone(),
        }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let installed = self.install(meta, snapshot.into_inner()).await;
        self.raise(installed)
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<TypeConfig>>, StorageError> {
        let current = self.current().await;
        self.raise(current)
    }
}
