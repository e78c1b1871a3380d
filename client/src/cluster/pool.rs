//! Open connections: one for each broker and lane, made when first needed and again when one has broken.
//!
//! Holds: two callers that need the same connection wait for one attempt, not for two; an attempt at one broker never
//! makes a caller of another wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::BrokerId;
use parking_lot::Mutex;

use crate::config::ClientConfig;
use crate::{ClientError, Connection, World};

/// What a connection is used for. Requests on one connection are answered in order, so a fetch that waits for records
/// must not stand before a question that could be answered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Metadata, administration, look-ups.
    Control,
    /// Produce alone: the order of a partition's batches is the order on this connection.
    Produce,
    /// Fetch alone.
    Fetch,
}

/// A peer by number: one of the bootstrap list, or a broker whose id we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    Bootstrap(usize),
    Broker(BrokerId),
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

#[derive(Default)]
pub(super) struct Pool {
    slots: Mutex<BTreeMap<(Node, Lane), Slot>>,
}

impl Pool {
    /// The connection to `node`, which listens on `host:port`.
    pub(super) async fn get(
        &self,
        (node, lane): (Node, Lane),
        (host, port): (&str, u16),
        world: &World,
        config: &ClientConfig,
    ) -> Result<Arc<Connection>, ClientError> {
        let slot = self.slots.lock().entry((node, lane)).or_default().clone();
        let mut slot = slot.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| !open.is_broken() && open.is_to(host, port)) {
            return Ok(open.clone());
        }
        *slot = None;
        let opened = Connection::open(&*world.transport, host, port, &config.connection).await?;
        let opened = Arc::new(opened);
        *slot = Some(opened.clone());
        Ok(opened)
    }

    /// Some connection of the control lane that is open now.
    pub(super) fn any_open(&self) -> Option<Arc<Connection>> {
        let slots = self.slots.lock();
        slots.iter().filter(|((_, lane), _)| *lane == Lane::Control).find_map(|(_, slot)| {
            let slot = slot.try_lock().ok()?;
            slot.as_ref().filter(|open| !open.is_broken()).cloned()
        })
    }
}
