//! Record batches, format v2: the bytes that producers send, logs store and consumers read.
//!
//! Read next: `view` (the 61-byte header, borrowed).

pub mod view;

pub use view::{Attributes, BatchError, BatchView, Compression, HEADER_BYTES, LOG_OVERHEAD_BYTES, TimestampType};
