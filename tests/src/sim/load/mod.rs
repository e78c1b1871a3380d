//! The clients of a simulated cluster: hosts of their own, with this repository's client library over simulated sockets.
//!
//! Every client notes what it asks before it asks, and what it hears as it hears it. Outcomes it cannot know stay unknown
//! for ever.
//!
//! Read next: `produce`, `read`, `group`, `admin`, `audit` (what is asked when all is over), `probe` (when is a leader back?).

pub mod admin;
pub mod audit;
pub mod group;
pub mod probe;
pub mod produce;
pub mod read;
pub mod zombie;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ballast_client::{ClientConfig, Cluster, World};
use ballast_net::SeededEntropy;

use super::clock::{TrueTime, WallClock};
use super::dice::Dice;
use super::history::Recorder;
use super::life::Life;
use super::net::SimTransport;

/// How far a run is. Whoever drives it moves it on, and twice a client: when topics are there, and when all has recovered.
#[derive(Debug, Clone, Default)]
pub struct Phase(Arc<AtomicU32>);

impl Phase {
    /// Clients wait for their topics.
    pub const SETUP: u32 = 0;
    /// Clients work, faults strike.
    pub const LOAD: u32 = 1;
    /// All is mended, nothing new is sent; readers read on.
    pub const CALM: u32 = 2;
    /// The auditor found all well; readers read on.
    pub const RECOVERED: u32 = 3;
    /// Clients end.
    pub const OVER: u32 = 4;

    /// The present one.
    #[must_use]
    pub fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Moves on.
    pub fn set(&self, phase: u32) {
        self.0.store(phase, Ordering::Relaxed);
    }

    /// Waits until it is `phase` or a later one.
    pub async fn reached(&self, phase: u32) {
        while self.now() < phase {
            tokio::time::sleep(PHASE_LOOK).await;
        }
    }
}

/// Between two looks at the phase.
const PHASE_LOOK: Duration = Duration::from_millis(50);

/// What every client needs.
#[derive(Clone)]
pub struct Surroundings {
    /// The run's seed.
    pub seed: u64,
    /// Where brokers are.
    pub bootstrap: String,
    /// The clock of the simulation.
    pub time: TrueTime,
    /// Where everything is noted.
    pub recorder: Recorder,
    /// How far the run is.
    pub phase: Phase,
}

impl Surroundings {
    /// Dice for one client.
    #[must_use]
    pub fn dice(&self, purpose: &str) -> Dice {
        Dice::new(self.seed, purpose)
    }

    /// The cluster as a new client sees it.
    ///
    /// # Panics
    /// If the bootstrap list is malformed.
    #[must_use]
    pub fn cluster(&self, dice: &Dice) -> Cluster {
        self.cluster_with(dice, |_| {})
    }

    /// As [`Surroundings::cluster`], with settings changed by `change`.
    ///
    /// # Panics
    /// If the bootstrap list is malformed.
    #[must_use]
    pub fn cluster_with(&self, dice: &Dice, change: impl FnOnce(&mut ClientConfig)) -> Cluster {
        let mut config = ClientConfig::new(&self.bootstrap).expect("the simulation writes it");
        config.connection.setup_timeout = Duration::from_secs(1);
        config.request_timeout = Duration::from_secs(2);
        config.api_timeout = Duration::from_secs(6);
        config.retry_backoff = Duration::from_millis(50);
        config.retry_backoff_max = Duration::from_millis(400);
        change(&mut config);
        let world = World {
            transport: Arc::new(SimTransport::new(Life::without_disk())),
            clock: Arc::new(WallClock::new(self.time.clone())),
            entropy: Arc::new(SeededEntropy::new(dice.any())),
        };
        Cluster::new(config, world)
    }
}

/// Waits for a random time, in ms.
async fn pause(dice: &Dice, from_ms: u64, upto_ms: u64) {
    tokio::time::sleep(Duration::from_millis(dice.between(from_ms, upto_ms))).await;
}
