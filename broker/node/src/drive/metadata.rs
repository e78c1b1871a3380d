//! The metadata as this broker has taken it in: the image that handlers read, and how far it has come.
//!
//! ```text
//! quorum applies an entry -> MetadataMachine (image + delta) -> channel -> publisher: open, close, lead partitions
//!                                                                          -> Metadata: image() and applied()
//! ```
//! Holds: when an image is published, the partitions that it gives to this broker are open. A handler that waits for an
//! index therefore sees everything that the entry said, done.

use std::sync::Arc;

use ballast_core::image::Image;
use parking_lot::RwLock;
use tokio::sync::watch;

/// The published image.
pub(crate) struct Metadata {
    image: RwLock<Arc<Image>>,
    applied: watch::Sender<u64>,
}

impl Metadata {
    pub(crate) fn new() -> Metadata {
        Metadata { image: RwLock::default(), applied: watch::Sender::new(0) }
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
        *self.image.write() = image;
        self.applied.send_replace(index);
    }
}
