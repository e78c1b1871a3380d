//! The handle of an embedded broker.
//!
//! It has a life or it has none: stopping, killing and restarting change which. The port, the data, the faults and the
//! record of requests belong to the handle and survive them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use ballast_core::endpoint::Endpoint;
use ballast_wire::frame::ApiKey;
use parking_lot::Mutex;
use tempfile::TempDir;

use super::builder::Builder;
use super::faults::{Fault, FaultError, FaultId, Faults, Planted, Recorded};
use super::harness::Harness;
use super::life::{End, Life, Plan};
use super::ports::HeldPort;
use super::{Error, wait};

/// What a builder puts together.
pub(super) struct Parts {
    pub(super) plan: Plan,
    pub(super) max_versions: BTreeMap<ApiKey, i16>,
    pub(super) listeners: Vec<Endpoint>,
    pub(super) ports: Vec<HeldPort>,
    pub(super) folder: Option<TempDir>,
}

/// A broker in this process. Dropping it ends it and waits until nothing of it is left: an ephemeral one at once, one with
/// a `data_dir` in order.
pub struct Broker {
    plan: Arc<Plan>,
    faults: Arc<Faults>,
    max_versions: BTreeMap<ApiKey, i16>,
    life: Mutex<Option<Life>>,
    listeners: Vec<Endpoint>,
    bootstrap: String,
    _ports: Vec<HeldPort>,
    // Goes last: by then nothing of the broker uses it.
    folder: Option<TempDir>,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.is_running() { "running" } else { "down" };
        write!(f, "Broker({}, {state})", self.bootstrap)
    }
}

impl Broker {
    /// A broker to be.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(super) async fn start(parts: Parts) -> Result<Broker, Error> {
        let Parts { plan, max_versions, listeners, ports, folder } = parts;
        // The first port is that of the first listener.
        let bootstrap = ports.first().map(|port| reachable(port.address).to_string()).unwrap_or_default();
        let broker = Broker {
            plan: Arc::new(plan),
            faults: Arc::default(),
            max_versions,
            life: Mutex::new(None),
            listeners,
            bootstrap,
            _ports: ports,
            folder,
        };
        broker.begin().await?;
        Ok(broker)
    }

    async fn begin(&self) -> Result<(), Error> {
        let harness = Harness::with_versions(Arc::clone(&self.faults), self.max_versions.clone());
        let life = Life::start(Arc::clone(&self.plan), harness).await?;
        *self.life.lock() = Some(life);
        Ok(())
    }

    /// `HOST:PORT` of the first listener: what clients bootstrap from. The same in every life.
    #[must_use]
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Every listener with its port, in the settings' order. The same in every life.
    #[must_use]
    pub fn listeners(&self) -> &[Endpoint] {
        &self.listeners
    }

    /// Where HTTP is served, if it is. The same in every life.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.plan.http
    }

    /// Where its data is.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.plan.log_dirs[0]
    }

    /// Is there a life in it? Not after a stop, a kill, or a failure that ended it.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.life.lock().as_ref().is_some_and(|life| life.failure().is_none())
    }

    /// Why the broker ended by itself, if it did: its storage or its metadata failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.life.lock().as_ref().and_then(Life::failure)
    }

    /// Does its data outlive it?
    pub(super) fn keeps_its_data(&self) -> bool {
        self.folder.is_none()
    }

    /// Runs `task` on the broker's own runtime; `None` if it has none, or loses it meanwhile.
    pub(super) async fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let running = self.life.lock().as_ref().and_then(|life| life.spawn(task));
        running?.await.ok()
    }

    fn take_life(&self) -> Option<Life> {
        self.life.lock().take()
    }

    /// Stops it in order: what was asked is answered, logs are closed and marked clean.
    pub async fn stop(&self) {
        let life = self.take_life();
        if let Some(life) = life {
            life.end(End::Stop).await;
        }
    }

    /// As [`Broker::stop`], for tests that are plain functions.
    pub fn stop_blocking(&self) {
        wait::block_on(self.stop());
    }

    /// Ends it as `kill -9` ends a process: from now on nothing is answered, written or flushed. What was written before is
    /// in the files and is recovered by the next life.
    pub fn kill(&self) {
        if let Some(life) = self.take_life() {
            life.end_blocking(End::Kill);
        }
    }

    /// Stops it in order, if it runs, and starts it again on the same port and the same data. After a kill: starts it.
    ///
    /// # Errors
    /// It does not come up; it is then down, and may be restarted again.
    pub async fn restart(&self) -> Result<(), Error> {
        self.stop().await;
        self.begin().await
    }

    /// As [`Broker::restart`], for tests that are plain functions.
    ///
    /// # Errors
    /// As [`Broker::restart`].
    pub fn restart_blocking(&self) -> Result<(), Error> {
        wait::block_on(self.restart())
    }

    /// Makes it stand still, as `SIGSTOP` does: connections are taken but nothing is answered, and time passes. Returns once
    /// it stands.
    pub fn pause(&self) {
        if let Some(life) = &*self.life.lock() {
            life.pause();
        }
    }

    /// Lets it go on.
    pub fn resume(&self) {
        if let Some(life) = &*self.life.lock() {
            life.resume();
        }
    }

    /// Plants a fault. It acts from now on, in this life and the next.
    ///
    /// # Errors
    /// It could never happen to this broker.
    pub fn fault(&self, fault: Fault) -> Result<FaultId, FaultError> {
        self.faults.plant(fault)
    }

    /// Every fault that was planted and not removed, with how often it has happened.
    #[must_use]
    pub fn faults(&self) -> Vec<Planted> {
        self.faults.planted()
    }

    /// How often a fault has happened; 0 for one that was removed.
    #[must_use]
    pub fn fired(&self, id: FaultId) -> u64 {
        self.faults.fired(id)
    }

    /// Removes a fault, and says what has become of it.
    pub fn remove_fault(&self, id: FaultId) -> Option<Planted> {
        self.faults.remove(id)
    }

    /// Removes every fault.
    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// Writes requests down from now on, and forgets those of before.
    pub fn record(&self) {
        self.faults.record();
    }

    /// The requests since [`Broker::record`], oldest first; the newest 65,536 are kept.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.faults.requests()
    }
}

/// Where clients on this machine reach a listener: one on every interface is reached on the loopback one.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

impl Drop for Broker {
    fn drop(&mut self) {
        let is_kept = self.keeps_its_data();
        if let Some(life) = self.take_life() {
            life.end_blocking(if is_kept { End::Stop } else { End::Kill });
        }
    }
}
