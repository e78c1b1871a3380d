//! A broker in the test's own process, on a runtime of its own: for what a process does not let one choose.

use std::sync::Arc;

use ballast_broker::session::Authorizer;
use ballast_broker::{Broker, BrokerConfig, World};
use ballast_core::settings::Statics;
use ballast_log::disk::{Disk, RealDisk};
use ballast_net::{OsEntropy, SystemClock, TcpTransport};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A running broker. Dropping it ends it as a crash would.
pub struct Embedded {
    broker: Option<Broker>,
    runtime: Runtime,
    // Keeps the folder while the broker may use it.
    _folder: TempDir,
}

impl Embedded {
    /// A broker with these settings (`key=value`) and this authorizer.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(settings: &[&str], authorizer: Arc<dyn Authorizer>) -> Embedded {
        Embedded::start_on(RealDisk::ephemeral(), settings, authorizer)
    }

    /// As [`Embedded::start`], on this disk.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start_on(disk: Arc<dyn Disk>, settings: &[&str], authorizer: Arc<dyn Authorizer>) -> Embedded {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let pairs = settings.iter().map(|pair| pair.split_once('=').expect("key=value"));
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let (statics, _) = Statics::merge(pairs).expect("the settings are good");
        let config = BrokerConfig { statics, log_dirs: vec![folder.path().join("data")], http: None };
        let world = World {
            disk,
            transport: Arc::new(TcpTransport),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy),
            authorizer,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let broker = runtime.block_on(Broker::start(config, world)).unwrap_or_else(|error| panic!("{error}"));
        Embedded { broker: Some(broker), runtime, _folder: folder }
    }

    /// The broker.
    ///
    /// # Panics
    /// If it has been stopped.
    #[must_use]
    pub fn broker(&self) -> &Broker {
        self.broker.as_ref().expect("it runs until it is stopped")
    }

    /// Stops it in order.
    pub fn stop(mut self) {
        if let Some(broker) = self.broker.take() {
            self.runtime.block_on(broker.stop());
        }
    }
}
