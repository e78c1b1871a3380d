//! Producer ids: handed out one by one from a block that the controller gave to this broker.
//!
//! Holds: no id is handed out twice, whatever crashes: a block is this broker's only once the metadata says so, and what is
//! left of one is forgotten with the process.

use std::ops::Range;

use ballast_core::controller::{Request, Response};
use ballast_wire::{BrokerId, ProducerId};
use tokio::sync::Mutex;

use super::controller::ControllerHandle;

/// The rest of the present block.
#[derive(Default)]
pub(crate) struct ProducerIds {
    block: Mutex<Range<ProducerId>>,
}

impl ProducerIds {
    /// A fresh id for a producer of broker `me`, registered under `epoch`; `None` when the block is used up and the
    /// controller gives no other.
    pub(crate) async fn next(&self, controller: &ControllerHandle, me: BrokerId, epoch: i64) -> Option<ProducerId> {
        let mut block = self.block.lock().await;
        if block.is_empty() {
            let request = Request::AllocateProducerIds { broker: me, broker_epoch: epoch };
            let Response::AllocateProducerIds(Ok(ids)) = controller.ask(request).await.response else {
                return None;
            };
            *block = ids.first..ids.first + i64::from(ids.len);
        }
        block.next()
    }
}
