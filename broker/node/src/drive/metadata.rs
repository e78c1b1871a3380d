//! The metadata as this broker has taken it in: the image that handlers read, and how far it has come.
//!
//! ```text
//! quorum applies an entry -> MetadataMachine (image + delta) -> channel -> publisher: open, close, lead partitions
//!                                                                          -> Metadata: image() and applied()
//! ```
//! Holds: when an image is published, the partitions that it gives to this broker are open. A handler that waits for an
//! index therefore sees everything that the entry said, done.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ballast_core::image::Image;
use ballast_net::Clock;
use parking_lot::RwLock;
use tokio::sync::watch;

/// The published image.
pub(crate) struct Metadata {
    image: RwLock<Arc<Image>>,
    applied: watch::Sender<u64>,
    clock: Arc<dyn Clock>,
    applied_at_ms: AtomicI64,
    controllers_seen: AtomicU64,
}

impl Metadata {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Metadata {
        Metadata {
            image: RwLock::default(),
            applied: watch::Sender::new(0),
            clock,
            applied_at_ms: AtomicI64::new(-1),
            controllers_seen: AtomicU64::new(0),
        }
    }

    /// When an image was last published, in milliseconds since 1970; -1 before the first.
    pub(crate) fn applied_at_ms(&self) -> i64 {
        self.applied_at_ms.load(Ordering::Relaxed)
    }

    /// How many controllers became active, as far as published images show it.
    pub(crate) fn controllers_seen(&self) -> u64 {
        self.controllers_seen.load(Ordering::Relaxed)
    }

    /// The newest image.
    pub(crate) fn image(&self) -> Arc<Image> {
        Arc::clone(&self.image.read())
    }

    /// Tells of every publication.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    /// Waits until the entry at `index` is published.
    pub(crate) async fn wait_for(&self, index: u64) {
        // The sender lives as long as `self`.
        let _ = self.watch().wait_for(|applied| *applied >= index).await;
    }

    /// Shows an image to the handlers.
    pub(crate) fn publish(&self, image: Arc<Image>) {
        let index = image.index();
        self.applied_at_ms.store(self.clock.now_ms(), Ordering::Relaxed);
        if image.controller() != self.image.read().controller() {
            self.controllers_seen.fetch_add(1, Ordering::Relaxed);
        }
        *self.image.write() = image;
        self.applied.send_replace(index);
    }
}
