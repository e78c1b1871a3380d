//! What can be chosen before an embedded broker starts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_core::controller::NewTopic;
use ballast_core::settings::{BrokerSettings, Layers, Notice, Statics};
use ballast_log::disk::Disk;
use ballast_wire::frame::ApiKey;
use tempfile::TempDir;

use super::broker::{Broker, Parts};
use super::life::Plan;
use super::ports::{HeldPort, hold};
use super::{Error, wait};
use crate::api::TABLE;
use crate::session::{AllowAll, Authorizer};

/// Runtime threads, unless more are asked for: enough for one request to overtake another.
const WORKERS: usize = 2;
/// Where temporary folders go, unless another place is named. `TMPDIR` is not read: no environment variable is.
const TEMP_DIR: &str = "/tmp";

const LISTENERS: &str = "listeners";
const HTTP_LISTENER: &str = "ballast.http.listener";

/// Settings that suit tests, where nothing else is asked for: one node whose groups are settled at once.
const DEFAULTS: [(&str, &str); 5] = [
    ("node.id", "1"),
    (LISTENERS, "PLAINTEXT://127.0.0.1:0"),
    (HTTP_LISTENER, "off"),
    ("group.initial.rebalance.delay.ms", "0"),
    ("offsets.topic.num.partitions", "1"),
];

/// A broker to be. Without any wish it is ephemeral, is node 1, and listens on a free port of 127.0.0.1.
#[must_use = "a builder starts nothing until it is told to"]
pub struct Builder {
    settings: Vec<(String, String)>,
    data_dir: Option<PathBuf>,
    temp_dir: PathBuf,
    durable: bool,
    disk: Option<Arc<dyn Disk>>,
    workers: usize,
    authorizer: Arc<dyn Authorizer>,
    topics: Vec<NewTopic>,
    max_versions: BTreeMap<ApiKey, i16>,
    /// A controllers' listener, and the port that is kept for it.
    controller: Option<(&'static str, HeldPort)>,
}

impl Builder {
    pub(super) fn new() -> Builder {
        Builder {
            settings: Vec::new(),
            data_dir: None,
            temp_dir: PathBuf::from(TEMP_DIR),
            durable: false,
            disk: None,
            workers: WORKERS,
            authorizer: Arc::new(AllowAll),
            topics: Vec::new(),
            max_versions: BTreeMap::new(),
            controller: None,
        }
    }

    /// Keeps data in a temporary folder that goes with the broker, without syncing it. That is the default.
    pub fn ephemeral(mut self) -> Builder {
        self.data_dir = None;
        self.durable = false;
        self
    }

    /// Keeps data in `path`, which stays, and syncs it. Dropping such a broker stops it in order.
    pub fn data_dir(mut self, path: impl AsRef<Path>) -> Builder {
        self.data_dir = Some(path.as_ref().to_owned());
        self.durable = true;
        self
    }

    /// Syncs as a real broker does although the data goes with it: for tests of what a failing sync does.
    pub fn durable(mut self) -> Builder {
        self.durable = true;
        self
    }

    /// Keeps its files on this disk, in every life: a double, for instance.
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Builder {
        self.disk = Some(disk);
        self
    }

    /// Where temporary folders are made [default: `/tmp`].
    pub fn temp_dir(mut self, path: impl AsRef<Path>) -> Builder {
        self.temp_dir = path.as_ref().to_owned();
        self
    }

    /// Sets one of Kafka's broker settings. A name that nobody knows is refused when the broker starts.
    pub fn setting(mut self, name: &str, value: &str) -> Builder {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes a topic before the first start is done. At later starts it is there.
    pub fn topic(self, name: &str, partitions: i32) -> Builder {
        self.topic_with(name, partitions, &[])
    }

    /// As [`Builder::topic`], with topic configs.
    pub fn topic_with(mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Builder {
        let configs = configs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect();
        let topic =
            NewTopic { name: name.to_owned(), partitions, replication_factor: -1, configs, ..NewTopic::default() };
        self.topics.push(topic);
        self
    }

    /// Listens here, `HOST:PORT`; port 0 takes a free one. More listeners are made by the setting `listeners`.
    pub fn listen(self, address: &str) -> Builder {
        self.setting(LISTENERS, &format!("PLAINTEXT://{address}"))
    }

    /// Serves metrics and health over HTTP here, and faults, if the setting `test.faults.enable` is true.
    pub fn http(self, address: SocketAddr) -> Builder {
        self.setting(HTTP_LISTENER, &address.to_string())
    }

    /// Its node id [default: 1].
    pub fn node_id(self, id: i32) -> Builder {
        self.setting("node.id", &id.to_string())
    }

    /// The rack that it stands in.
    pub fn rack(self, rack: &str) -> Builder {
        self.setting("broker.rack", rack)
    }

    /// Speaks no version of `api` above `version`, and does not advertise any: an older broker. Below the oldest that
    /// Ballast speaks, -1 for instance, the API is gone.
    pub fn max_version(mut self, api: ApiKey, version: i16) -> Builder {
        self.max_versions.insert(api, version);
        self
    }

    /// Asks `authorizer` who may do what.
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Builder {
        self.authorizer = authorizer;
        self
    }

    /// Adds a listener for controllers, by name, on a port that is kept for it already.
    pub(super) fn controller(mut self, name: &'static str, port: HeldPort) -> Builder {
        self.controller = Some((name, port));
        self.setting("controller.listener.names", name)
    }

    /// Threads of its runtime, at least one [default: 2].
    pub fn worker_threads(mut self, count: usize) -> Builder {
        self.workers = count.max(1);
        self
    }

    /// Starts it, and waits until it serves. Works on any runtime.
    ///
    /// # Errors
    /// One line that says what stands in the way. Nothing is left behind then.
    pub async fn start(self) -> Result<Broker, Error> {
        let parts = self.parts()?;
        Broker::start(parts).await
    }

    /// As [`Builder::start`], for tests that are plain functions.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn start_blocking(self) -> Result<Broker, Error> {
        wait::block_on(self.start())
    }

    fn parts(self) -> Result<Parts, Error> {
        self.check_versions()?;
        let statics = merge(&self.settings)?;
        let layers = Layers { broker: None, cluster: None, statics: &statics };
        let settings = BrokerSettings::resolve(&layers).map_err(|error| Error::Settings(error.to_string()))?;
        let mut ports = Vec::new();
        let mut listeners = Vec::new();
        for mut endpoint in settings.node.listeners {
            let host = if endpoint.host.is_empty() { "0.0.0.0" } else { &endpoint.host };
            endpoint.port = take(&mut ports, host, endpoint.port)?;
            listeners.push(endpoint);
        }
        let http = match settings.node.http_listener.as_deref().map(str::parse::<SocketAddr>) {
            None => None,
            Some(Ok(address)) => {
                let port = take(&mut ports, &address.ip().to_string(), address.port())?;
                Some(SocketAddr::new(address.ip(), port))
            }
            Some(Err(_)) => return Err(Error::Settings(format!("{HTTP_LISTENER}: expected IP:PORT or off"))),
        };
        let pairs = statics.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut texts: Vec<String> = listeners.iter().map(ToString::to_string).collect();
        if let Some((name, port)) = self.controller {
            texts.push(format!("{name}://{}", port.address));
            ports.push(port);
        }
        let statics = merge_all(pairs.chain([(LISTENERS.to_owned(), texts.join(","))]))?;
        let folder = if self.data_dir.is_some() { None } else { Some(temporary(&self.temp_dir)?) };
        let data = self.data_dir.or(folder.as_ref().map(|folder| folder.path().join("data"))).unwrap_or_default();
        let plan = Plan {
            statics,
            log_dirs: vec![data],
            http,
            durable: self.durable,
            disk: self.disk,
            workers: self.workers,
            authorizer: self.authorizer,
            topics: self.topics,
        };
        Ok(Parts { plan, max_versions: self.max_versions, listeners, ports, folder })
    }

    fn check_versions(&self) -> Result<(), Error> {
        for (api, version) in &self.max_versions {
            let Some(row) = TABLE.iter().find(|row| row.key == *api) else {
                return Err(Error::Settings(format!("{api} is not served by this broker")));
            };
            if *api == ApiKey::API_VERSIONS && *version < row.min {
                return Err(Error::Settings("without ApiVersions no client connects".to_owned()));
            }
        }
        Ok(())
    }
}

/// The settings over the defaults. What nobody knows is refused: in a test nobody reads warnings.
fn merge(settings: &[(String, String)]) -> Result<Statics, Error> {
    let own = |name: &str| name == "log.dirs" || name == "log.dir";
    if let Some((name, _)) = settings.iter().find(|(name, _)| own(name)) {
        return Err(Error::Settings(format!("{name}: say data_dir(…) instead")));
    }
    let has_id = settings.iter().any(|(name, _)| name == "broker.id");
    let defaults = DEFAULTS.iter().filter(|(name, _)| !(has_id && *name == "node.id"));
    let defaults = defaults.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    merge_all(defaults.chain(settings.iter().cloned()))
}

fn merge_all(pairs: impl Iterator<Item = (String, String)>) -> Result<Statics, Error> {
    let joined = |lines: Vec<String>| Error::Settings(lines.join("; "));
    let (statics, notices) =
        Statics::merge(pairs).map_err(|errors| joined(errors.iter().map(ToString::to_string).collect()))?;
    let unknown: Vec<String> =
        notices.iter().filter(|notice| matches!(notice, Notice::Unknown { .. })).map(ToString::to_string).collect();
    if unknown.is_empty() { Ok(statics) } else { Err(joined(unknown)) }
}

fn take(ports: &mut Vec<HeldPort>, host: &str, port: u16) -> Result<u16, Error> {
    let held = hold(host, port).map_err(|source| Error::Port { address: format!("{host}:{port}"), source })?;
    let port = held.address.port();
    ports.push(held);
    Ok(port)
}

fn temporary(parent: &Path) -> Result<TempDir, Error> {
    let folder = tempfile::Builder::new().prefix("ballast-").tempdir_in(parent);
    folder.map_err(|source| Error::Folder { parent: parent.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(builder: Builder) -> String {
        builder.start_blocking().map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_setting_that_nobody_knows_is_refused_with_the_nearest_name() {
        let error = refused(Builder::new().setting("num.partition", "3"));
        assert!(error.contains("num.partitions"), "{error}");
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused() {
        let error = refused(Builder::new().setting("num.partitions", "many"));
        assert!(error.contains("num.partitions"), "{error}");
    }

    #[test]
    fn a_version_of_an_api_that_is_not_served_cannot_be_limited() {
        let error = refused(Builder::new().max_version(ApiKey::SHARE_FETCH, 0));
        assert!(error.contains("ShareFetch"), "{error}");
        let error = refused(Builder::new().max_version(ApiKey::API_VERSIONS, -1));
        assert!(error.contains("no client"), "{error}");
    }

    #[test]
    fn a_topic_that_cannot_be_made_stops_the_start_and_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let error = refused(Builder::new().temp_dir(parent.path()).topic("no/slash", 1));
        assert!(error.contains("no/slash"), "{error}");
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
