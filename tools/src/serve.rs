//! `ballast serve`: a broker, in the foreground; or a whole cluster that is gone with the process (`cluster`).
//!
//! Settings come from four places, a later one winning: `--config FILE`, the environment (`KAFKA_<KEY>`), the flags, and
//! `--set key=value`. Without any of them: node 1, data in `./data`, `127.0.0.1:9092`, HTTP on `127.0.0.1:9644`.

mod cluster;
mod logging;
mod settings;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_broker::embed::Harness;
use ballast_broker::loggers::Loggers;
use ballast_broker::session::AllowAll;
use ballast_broker::{Broker, BrokerConfig, Interceptor, World};
use ballast_log::disk::{Disk, DiskLimits, DiskOptions, RealDisk, set_limits};
use ballast_net::{OsEntropy, SystemClock, TcpTransport};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Failure;

/// Descriptors that are kept free for connections and for what the process opens itself.
const DESCRIPTORS_FOR_OTHERS: u64 = 2_048;
/// All maps of the process; the system allows 65,530 by default.
const MAPS_MAX: usize = 8_192;

/// What `ballast serve` is told on the command line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ballast serve
  ballast serve --data-dir /var/lib/ballast --listen 0.0.0.0:9092 --advertise kafka.example.org:9092
  ballast serve --config server.properties --set num.partitions=3
  ballast serve --ephemeral --listen 127.0.0.1:0 --ready-file /tmp/ready
  ballast serve --ephemeral --cluster 3")]
pub(crate) struct Serve {
    /// Reads settings from a Kafka properties file.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Keeps data in this folder [default: ./data].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Accepts clients here; port 0 takes a free one [default: 127.0.0.1:9092].
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Tells clients to connect here [default: where it listens].
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) advertise: Option<String>,
    /// Serves metrics and health here, or `off` [default: 127.0.0.1:9644].
    #[arg(long, value_name = "HOST:PORT|off")]
    pub(crate) http: Option<String>,
    /// Takes part in a metadata quorum of several nodes, and listens for the others here.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) controller: Option<String>,
    /// Voters of the metadata quorum, each with its controller address; the same on every node.
    #[arg(long, value_name = "ID@HOST:PORT,…")]
    pub(crate) quorum: Option<String>,
    /// Id of this node [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) node_id: Option<u32>,
    /// Rack that this node stands in.
    #[arg(long, value_name = "R")]
    pub(crate) rack: Option<String>,
    /// Sets any of Kafka's broker settings; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Keeps data in a temporary folder that goes with the process, without syncing.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Runs so many brokers with a quorum of their own in this process, on ports one after another.
    #[arg(long, value_name = "N", requires = "ephemeral", conflicts_with_all = ["controller", "quorum", "node_id", "advertise"],
          value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) cluster: Option<u16>,
    /// Writes where the broker listens to this file, once it does.
    #[arg(long, value_name = "PATH")]
    pub(crate) ready_file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Serve) -> Result<(), Failure> {
    let loggers = logging::start();
    let resolved = settings::resolve(arguments)?;
    for notice in &resolved.notices {
        tracing::warn!("{notice}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    match arguments.cluster {
        Some(brokers) => runtime.block_on(cluster::serve(arguments, brokers, resolved)),
        None => runtime.block_on(serve(arguments, resolved, loggers)),
    }
}

async fn serve(arguments: &Serve, resolved: settings::Resolved, loggers: Loggers) -> Result<(), Failure> {
    let mut disk = disk(arguments.ephemeral);
    let harness = resolved.faults.then(|| Harness::new(Arc::default()));
    if let Some(harness) = &harness {
        tracing::warn!("test.faults.enable is set: whoever reaches HTTP can make this broker fail");
        disk = harness.disk(disk);
    }
    let world = World {
        disk,
        transport: Arc::new(TcpTransport),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        authorizer: Arc::new(AllowAll),
        loggers,
    };
    let settings::Resolved { statics, log_dirs, http, temporary, .. } = resolved;
    let interceptor = harness.as_ref().map(Interceptor::from);
    let config = BrokerConfig { statics, log_dirs: log_dirs.clone(), http, interceptor };
    let broker = Broker::start(config, world).await.map_err(|error| Failure::new(error.to_string()))?;
    let (kafka, http) = (broker.bootstrap(), broker.http());
    let http = http.map(|address| address.to_string());
    announce(&kafka, http.as_deref(), &log_dirs);
    if let Some(path) = &arguments.ready_file {
        write_ready_file(path, &kafka, http.as_deref(), broker.controller())?;
    }
    let outcome = wait(&broker).await;
    if outcome.is_ok() {
        stop(broker).await;
    } else {
        // What failed cannot be closed in order: the next start recovers it.
        broker.kill();
    }
    drop(temporary);
    outcome
}

/// Until a signal asks to stop (`Ok`) or the broker cannot go on.
async fn wait(broker: &Broker) -> Result<(), Failure> {
    let (mut term, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::select! {
        biased;
        cause = broker.failed() => Err(Failure::new(cause)),
        _ = term.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

fn listen(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Failure> {
    signal(kind).map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))
}

/// Stops in order; a second signal ends the process at once.
async fn stop(broker: Broker) {
    tracing::info!("stopping");
    let again = async {
        if let (Ok(mut term), Ok(mut interrupt)) = (listen(SignalKind::terminate()), listen(SignalKind::interrupt())) {
            tokio::select! {
                biased;
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
    };
    tokio::select! {
        biased;
        () = broker.stop() => tracing::info!("stopped"),
        () = again => tracing::warn!("stopped at once: the next start recovers the logs"),
    }
}

fn disk(ephemeral: bool) -> Arc<dyn Disk> {
    if ephemeral {
        return RealDisk::ephemeral();
    }
    let descriptors = raise_descriptor_limit();
    let max_open_files = usize::try_from(descriptors.saturating_sub(DESCRIPTORS_FOR_OTHERS)).unwrap_or(usize::MAX);
    set_limits(DiskLimits { max_open_files: max_open_files.max(64), max_maps: MAPS_MAX });
    RealDisk::new(DiskOptions::default())
}

/// Takes as many descriptors as the system gives, and says how many.
fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current.unwrap_or(u64::MAX);
    limit.current = limit.maximum;
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current.unwrap_or(u64::MAX),
        Err(error) => {
            tracing::warn!(%error, limit = before, "cannot raise the limit of open files");
            before
        }
    }
}

fn announce(kafka: &str, http: Option<&str>, log_dirs: &[PathBuf]) {
    let http = http.unwrap_or("off");
    let data: Vec<String> = log_dirs.iter().map(|path| path.display().to_string()).collect();
    tracing::info!(kafka, http, data = data.join(","), version = env!("CARGO_PKG_VERSION"), "ready");
}

/// Appears whole or not at all: whoever waits for it may read it at once.
fn write_ready_file(path: &Path, kafka: &str, http: Option<&str>, controller: Option<&str>) -> Result<(), Failure> {
    let mut text = format!("{kafka}\n");
    if let Some(address) = http {
        text.push_str(&format!("http={address}\n"));
    }
    if let Some(address) = controller {
        text.push_str(&format!("controller={address}\n"));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
