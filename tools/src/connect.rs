//! What every client command takes: where the cluster is, client properties, and the form of the output.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use ballast_client::{ClientConfig, ClientError, Cluster, World};
use clap::Args;

use crate::error::Failure;
use crate::properties;

pub(crate) const BOOTSTRAP_DEFAULT: &str = "localhost:9092";
/// How long a call may take where `default.api.timeout.ms` does not say.
const API_TIMEOUT: Duration = Duration::from_secs(10);

/// Options of every client command.
#[derive(Args, Debug)]
pub(crate) struct ConnectArgs {
    /// Brokers to ask first, HOST:PORT separated by commas [default: localhost:9092].
    #[arg(short = 'b', long, global = true, value_name = "LIST", help_heading = "Connection")]
    bootstrap_server: Option<String>,
    /// Client properties, by Kafka's names.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Connection")]
    command_config: Option<PathBuf>,
    /// Print one JSON document instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The file is read once: its warnings shall not come twice.
    #[arg(skip)]
    file: OnceLock<BTreeMap<String, String>>,
}

impl ConnectArgs {
    /// The properties of `--command-config`, empty without one.
    pub(crate) fn properties(&self) -> Result<&BTreeMap<String, String>, Failure> {
        if let Some(read) = self.file.get() {
            return Ok(read);
        }
        let read = self.command_config.as_deref().map_or_else(|| Ok(BTreeMap::new()), properties::read)?;
        Ok(self.file.get_or_init(|| read))
    }

    /// Lets a configuration take what it knows of the properties. Its complaints name the file.
    pub(crate) fn apply(
        &self,
        take: impl FnOnce(&BTreeMap<String, String>) -> Result<(), ClientError>,
    ) -> Result<(), Failure> {
        let taken = take(self.properties()?);
        taken.map_err(|e| self.command_config.as_ref().map_or_else(|| Failure::new(&e), |path| Failure::at(path, &e)))
    }

    /// The cluster; nothing is connected yet. The option wins over the file.
    pub(crate) fn cluster(&self) -> Result<Cluster, Failure> {
        let mut config = ClientConfig::new(BOOTSTRAP_DEFAULT)?;
        config.connection.client_id = "ballast-cli".to_owned();
        // Somebody sits in front of it: Kafka's minute is too long to learn that no broker is there.
        config.api_timeout = API_TIMEOUT;
        self.apply(|properties| config.apply(properties))?;
        if let Some(list) = &self.bootstrap_server {
            config.bootstrap_servers = ClientConfig::new(list).map_err(usage)?.bootstrap_servers;
        }
        Ok(Cluster::new(config, World::real()))
    }
}

fn usage(error: ClientError) -> Failure {
    Failure::Usage(format!("--bootstrap-server: {error}"))
}
