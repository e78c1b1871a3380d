//! The log of `serve`: lines on standard error, with levels that can be changed while it runs.
//!
//! `RUST_LOG` sets the first levels, in the form that Rust programs share: `warn,ballast_broker::net=debug`. Lines have
//! colours on a terminal only, and nowhere with `NO_COLOR`: a file that is searched holds no escapes.

use std::ffi::OsStr;
use std::io::IsTerminal as _;

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
    let colours = is_coloured(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR").as_deref());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    tracing_subscriber::registry().with(filter).with(lines).init();
    Loggers::new(Box::new(Reloadable(handle)), &directives)
}

/// `no_color` as <https://no-color.org> has it: anything but the empty text counts.
fn is_coloured(terminal: bool, no_color: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_owner_did_not_say_no() {
        let no = |text: &'static str| Some(OsStr::new(text));
        assert_eq!([None, no(""), no("1")].map(|said| is_coloured(true, said)), [true, true, false]);
        assert_eq!([None, no(""), no("1")].map(|said| is_coloured(false, said)), [false; 3]);
    }
}
