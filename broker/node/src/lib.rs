//! What a broker does: listeners, API handlers, the drivers of `ballast-core`'s machines, the metadata quorum, HTTP.
//!
//! Read next: `broker` (how the parts are put together), `net` (bytes), `api` (one file per request), `drive` (machines).

#![forbid(unsafe_code)]

mod net;
pub mod session;
