//! What recovery goes by, and what it makes of a folder.

use std::sync::Arc;

use ballast_wire::Offset;

use crate::segment::{Indexer, Segment};

/// What is known about a log from outside its folder when it is opened: the checkpoints of its log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFrom {
    /// Did the broker stop cleanly? Then nothing is read but the tail behind the last index entry.
    pub clean: bool,
    /// Everything below it is known to be on disk. 0 when unknown.
    pub recovery_point: Offset,
    /// First offset that may be read. 0 when unknown.
    pub log_start: Offset,
}

/// What scanning and walking made of a folder.
pub(crate) struct Opened {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) end: Offset,
    pub(crate) indexer: Indexer,
    /// Is it what a clean stop left, untouched?
    pub(crate) is_as_closed: bool,
}
