//! The log of `serve`: lines on standard error, with levels that can be changed while it runs.
//!
//! `RUST_LOG` sets the first levels, in the form that Rust programs share: `warn,ballast_broker::net=debug`.

use ballast_broker::loggers::{LogFilter, Loggers};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, reload};

/// What is logged unless `RUST_LOG` says something else.
const DEFAULT: &str = "info,openraft=off";

struct Reloadable(reload::Handle<EnvFilter, Registry>);

impl LogFilter for Reloadable {
    fn replace(&self, directives: &str) -> Result<(), String> {
        let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
        self.0.reload(filter).map_err(|error| error.to_string())
    }
}

/// Starts logging. Once in a process.
pub(super) fn start() -> Loggers {
    let given = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    let given = given.and_then(|text| Some((EnvFilter::try_new(&text).ok()?, text)));
    let (filter, directives) = given.unwrap_or_else(|| (EnvFilter::new(DEFAULT), DEFAULT.to_owned()));
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(filter).with(lines).init();
    Loggers::new(Box::new(Reloadable(handle)), &directives)
}
