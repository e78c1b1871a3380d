//! What a broker does: listeners, API handlers, the drivers of `ballast-core`'s machines, the metadata quorum, HTTP.
//!
//! Read next: `broker` (how the parts are put together), `net` (bytes), `api` (one file per request), `drive` (machines),
//! `embed` (a broker inside a test).

#![forbid(unsafe_code)]

mod api;
mod broker;
mod config;
mod drive;
pub mod embed;
mod features;
mod http;
mod hush;
pub mod loggers;
mod net;
mod node;
#[doc(hidden)]
pub mod quorum;
pub mod session;

pub use api::intercept::Interceptor;
pub use broker::{Broker, BrokerConfig, StartError, World};
