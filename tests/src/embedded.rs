//! A broker in the test's own process: for what a process does not let one choose.

use std::sync::Arc;

use ballast_broker::embed::{Broker, Builder};
use ballast_broker::session::Authorizer;
use ballast_log::disk::Disk;

/// A running broker with nothing between the test and its settings. Dropping it ends it as a crash would.
pub struct Embedded(Broker);

impl Embedded {
    /// A broker with these settings (`key=value`) and this authorizer.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(settings: &[&str], authorizer: Arc<dyn Authorizer>) -> Embedded {
        Embedded::begin(Broker::builder(), settings, authorizer)
    }

    /// As [`Embedded::start`], on this disk.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start_on(disk: Arc<dyn Disk>, settings: &[&str], authorizer: Arc<dyn Authorizer>) -> Embedded {
        Embedded::begin(Broker::builder().disk(disk), settings, authorizer)
    }

    fn begin(builder: Builder, settings: &[&str], authorizer: Arc<dyn Authorizer>) -> Embedded {
        let pairs = settings.iter().map(|pair| pair.split_once('=').expect("key=value"));
        let builder = pairs.fold(builder, |builder, (name, value)| builder.setting(name, value));
        let broker = builder.authorizer(authorizer).start_blocking();
        Embedded(broker.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The broker.
    #[must_use]
    pub fn broker(&self) -> &Broker {
        &self.0
    }

    /// Stops it in order.
    pub fn stop(self) {
        self.0.stop_blocking();
    }
}
