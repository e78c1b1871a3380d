//! Takes in metadata entries one after another: first settings, store, fetchers and coordinators do what they say, then the
//! handlers see them.

use std::sync::Arc;

use ballast_core::image::{Delta, Image, ResourceKind};
use tokio::sync::mpsc;

use crate::drive::coordinator::Coordinators;
use crate::drive::fetcher::Fetchers;
use crate::drive::metadata::Metadata;
use crate::drive::settings::LiveSettings;
use crate::drive::store::{Store, on_disk};

/// Entries as the quorum applied them.
pub(super) type Entries = mpsc::UnboundedReceiver<(Arc<Image>, Delta)>;

/// Runs until the quorum is gone.
pub(super) async fn publish(
    mut entries: Entries,
    settings: Arc<LiveSettings>,
    store: Arc<Store>,
    fetchers: Arc<Fetchers>,
    coordinators: Arc<Coordinators>,
    metadata: Arc<Metadata>,
) {
    while let Some((mut image, mut delta)) = entries.recv().await {
        // What came meanwhile is taken in at once: a topic of many partitions is one walk over the store.
        while let Ok((newer, more)) = entries.try_recv() {
            image = newer;
            delta.merge(more);
        }
        if delta.configs_changed.iter().any(|resource| resource.kind == ResourceKind::Broker) {
            settings.apply(&image);
        }
        let (this, at_image) = (Arc::clone(&store), Arc::clone(&image));
        let delta = on_disk(&store.disk(), move || {
            this.apply(&at_image, &delta);
            delta
        })
        .await;
        fetchers.apply(&image, &delta);
        coordinators.apply(&image, &delta);
        metadata.publish(image);
    }
}

/// The same on a node that is no broker: there is nothing to open or to lead.
pub(super) async fn publish_alone(mut entries: Entries, settings: Arc<LiveSettings>, metadata: Arc<Metadata>) {
    while let Some((image, delta)) = entries.recv().await {
        if delta.configs_changed.iter().any(|resource| resource.kind == ResourceKind::Broker) {
            settings.apply(&image);
        }
        metadata.publish(image);
    }
}
