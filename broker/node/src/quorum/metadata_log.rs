//! The quorum as the controller's driver sees it.

use ballast_core::image::Image;
use ballast_net::BoxFuture;
use tokio::sync::watch;

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

    fn image(&self) -> Image {
        Image::clone(&Quorum::image(self))
    }
}
