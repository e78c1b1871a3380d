//! Who fetches, what is asked for, and how much of it.

use std::sync::Arc;

use ballast_wire::fetch::FetchPartition;
use ballast_wire::{BrokerId, Uuid};

use crate::api::code::Code;

/// One partition that a fetch asks for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) topic: Arc<str>,
    pub(super) id: Uuid,
    pub(super) by_id: bool,
    pub(super) partition: FetchPartition,
    /// Refused before it is looked for: not allowed, or no topic has the id.
    pub(super) refused: Option<Code>,
}

/// A broker that copies logs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Follower {
    pub(super) id: BrokerId,
    /// Its broker epoch, -1 if it does not say (KIP-903).
    pub(super) epoch: i64,
}

/// Who reads, and how much.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    /// The broker that copies the log; `None` for a consumer.
    pub(super) follower: Option<Follower>,
    /// May a follower answer? Consumers know how to ask one from v11 on (KIP-392).
    pub(super) any_replica: bool,
    /// The consumer's rack, where it may be sent to a nearer replica.
    pub(super) rack: Option<Arc<str>>,
    /// The request's first look, rather than one after a wait?
    pub(super) is_first_pass: bool,
    pub(super) read_committed: bool,
    /// Is there a limit below 0?
    pub(super) makes_no_sense: bool,
    pub(super) max_bytes: usize,
}
