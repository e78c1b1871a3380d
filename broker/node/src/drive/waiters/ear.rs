//! Where a fetch that waits hears what changed: which of its partitions, by their places in it.
//!
//! Holds: nothing is told twice, and what is told before it is listened for is heard; the memory of an ear is bounded by the
//! partitions that tell it.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    changed: Mutex<BTreeSet<usize>>,
    news: Notify,
}

impl Ear {
    /// The partition at this place has changed.
    pub(crate) fn tell(&self, place: usize) {
        self.changed.lock().insert(place);
        self.news.notify_one();
    }

    /// Until there is something to take, or was.
    pub(crate) async fn hears(&self) {
        self.news.notified().await;
    }

    /// What has changed since it was last asked.
    pub(crate) fn take(&self) -> BTreeSet<usize> {
        std::mem::take(&mut *self.changed.lock())
    }
}
