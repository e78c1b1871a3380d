//! The quorum as the controller's driver sees it.

use ballast_core::image::Image;
use ballast_net::BoxFuture;
use ballast_wire::BrokerId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::handle::Quorum;
use crate::drive::controller::MetadataLog;

impl MetadataLog for Quorum {
    fn propose(&self, entry: Vec<u8>) -> BoxFuture<'static, Result<u64, String>> {
        let proposed = Quorum::propose(self, entry);
        Box::pin(async move { proposed.await.map_err(|error| error.to_string()) })
    }

    fn leads(&self) -> watch::Receiver<bool> {
        Quorum::leads(self)
    }

    fn deposed(&self) -> Option<(BrokerId, Instant)> {
        self.signs.take_heard().map(|(leader, at)| (leader.node, at))
    }

    fn image(&self) -> Image {
        Image::clone(&Quorum::image(self))
    }
}
