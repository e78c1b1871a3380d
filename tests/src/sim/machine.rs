//! A simulated machine: a disk that outlives the processes on it, a wall clock, and the broker that is started on it.
//!
//! ```text
//! Starting ──► Up ──► Stopped        in order, when asked to
//!     └────────┴────► Failed         the broker gave up by itself: a supervisor starts it again
//! any ──► Dead                       killed, or without power; boot makes it Starting again
//! ```
//! Holds: every start draws from dice of its own, so that a run can be repeated from its seed.

use std::path::PathBuf;
use std::sync::Arc;

use ballast_broker::loggers::Loggers;
use ballast_broker::session::AllowAll;
use ballast_broker::{Broker, BrokerConfig, World};
use ballast_core::settings::Statics;
use ballast_net::SeededEntropy;
use ballast_wire::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::clock::WallClock;
use super::dice::Dice;
use super::disk::{HostDisk, Mistake, Pace};
use super::history::{BrokerEvent, Event, Recorder};
use super::life::Life;
use super::net::SimTransport;
use crate::disk::{Call, Crash, SimDisk};

/// Port of the listener for clients, on every machine.
pub const CLIENT_PORT: u16 = 9092;
/// Port of the controller listener, on every machine.
pub const CONTROLLER_PORT: u16 = 9093;
/// Where a broker keeps its data on its machine.
pub const DATA_DIR: &str = "/data";

/// What a machine's broker does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It starts.
    Starting,
    /// It serves.
    Up,
    /// It has stopped in order.
    Stopped,
    /// It has ended by itself, with this cause.
    Failed(String),
    /// It was killed.
    Dead,
}

/// One machine. Clones share it.
#[derive(Clone)]
pub struct Machine(Arc<Inner>);

struct Inner {
    id: BrokerId,
    seed: u64,
    settings: Vec<(String, String)>,
    mistake: Mistake,
    recorder: Recorder,
    clock: WallClock,
    pace: Pace,
    now: Mutex<Now>,
    stop: watch::Sender<bool>,
}

struct Now {
    disk: SimDisk,
    life: Life,
    state: State,
    boots: u64,
    /// What becomes of the disk if the process meets an end that was ordered ahead.
    fate: Crash,
}

impl Machine {
    /// A machine with an empty disk. `settings` go to its broker, which makes `mistake`; its ends are noted in `recorder`.
    #[must_use]
    pub fn new(
        id: BrokerId,
        seed: u64,
        recorder: &Recorder,
        settings: Vec<(String, String)>,
        mistake: Mistake,
    ) -> Machine {
        let disk = SimDisk::new(Dice::new(seed, &format!("disk {id}")).any());
        let life = Life::on(disk.clone());
        let now = Mutex::new(Now { disk, life, state: State::Dead, boots: 0, fate: Crash::Process });
        let clock = WallClock::new(recorder.time().clone());
        Machine(Arc::new(Inner {
            id,
            seed,
            settings,
            mistake,
            recorder: recorder.clone(),
            clock,
            pace: Pace::default(),
            now,
            stop: watch::Sender::new(false),
        }))
    }

    /// The broker's id.
    #[must_use]
    pub fn id(&self) -> BrokerId {
        self.0.id
    }

    /// The machine's name on the network.
    #[must_use]
    pub fn name(&self) -> String {
        host_name(self.0.id)
    }

    /// What its broker does.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.now.lock().state.clone()
    }

    /// The disk, as the present life sees it.
    #[must_use]
    pub fn disk(&self) -> SimDisk {
        self.0.now.lock().disk.clone()
    }

    /// How slow the disk is.
    #[must_use]
    pub fn pace(&self) -> &Pace {
        &self.0.pace
    }

    /// The clock on its wall.
    #[must_use]
    pub fn clock(&self) -> &WallClock {
        &self.0.clock
    }

    /// The process dies `calls` calls after these `steps` of its disk (see [`SimDisk::kill_at`]); `how` says what
    /// becomes of the disk then.
    pub fn will_die_at(&self, steps: &[(Call, &'static str)], calls: u64, how: Crash) {
        let mut now = self.0.now.lock();
        now.disk.kill_at(steps, calls);
        now.fate = how;
    }

    /// If the process has met an end that was ordered ahead, and nobody has seen to it: what becomes of the disk.
    #[must_use]
    pub fn has_just_died(&self) -> Option<Crash> {
        let now = self.0.now.lock();
        (now.state != State::Dead && now.life.is_over()).then_some(now.fate)
    }

    /// The process ends here; `how` says what becomes of its disk.
    pub fn die(&self, how: Crash) {
        let mut now = self.0.now.lock();
        now.life.end();
        now.disk = now.disk.crash(how);
        now.life = Life::on(now.disk.clone());
        now.state = State::Dead;
        now.fate = Crash::Process;
        self.note(BrokerEvent::Died { of_power: how != Crash::Process });
    }

    fn note(&self, what: BrokerEvent) {
        self.0.recorder.note(Event::Broker { broker: self.0.id, what });
    }

    /// Replaces the disk by an empty one.
    pub fn wipe(&self) {
        let mut now = self.0.now.lock();
        let boots = now.boots;
        now.disk = SimDisk::new(Dice::new(self.0.seed, &format!("disk {} after {boots}", self.0.id)).any());
    }

    /// Asks the broker to stop in order.
    pub fn ask_to_stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Runs a broker until its end. The future is the machine's software: one for each start.
    pub async fn run(self) {
        let (disk, life, boot) = {
            let mut now = self.0.now.lock();
            now.boots += 1;
            now.life = Life::on(now.disk.clone());
            now.state = State::Starting;
            (now.disk.clone(), now.life.clone(), now.boots)
        };
        self.0.stop.send_replace(false);
        let end = self.serve(disk, life.clone(), boot).await;
        let mut now = self.0.now.lock();
        if !life.is_over() {
            if let State::Failed(cause) = &end {
                self.note(BrokerEvent::GaveUp { cause: cause.clone() });
            }
            now.state = end;
        }
    }

    async fn serve(&self, disk: SimDisk, life: Life, boot: u64) -> State {
        let Inner { id, seed, settings, mistake, clock, pace, .. } = &*self.0;
        let dice = |what: &str| Dice::new(*seed, &format!("{what} of {id}, boot {boot}"));
        let world = World {
            disk: Arc::new(HostDisk::new(disk, pace.clone(), dice("jobs"), *mistake)),
            transport: Arc::new(SimTransport::new(life.clone())),
            clock: Arc::new(clock.clone()),
            entropy: Arc::new(SeededEntropy::new(dice("entropy").any())),
            authorizer: Arc::new(AllowAll),
            loggers: Loggers::none(),
        };
        let (statics, _) = Statics::merge(settings.iter().cloned()).expect("the simulation gives valid settings");
        let config = BrokerConfig { statics, log_dirs: vec![PathBuf::from(DATA_DIR)], http: None, interceptor: None };
        let mut stop = self.0.stop.subscribe();
        let asked = async { stop.wait_for(|stop| *stop).await.map(drop) };
        tokio::pin!(asked);
        let broker = tokio::select! {
            biased;
            _ = &mut asked => return State::Stopped,
            started = Broker::start(config, world) => match started {
                Ok(broker) => broker,
                Err(error) => return State::Failed(error.to_string()),
            },
        };
        if !life.is_over() {
            self.0.now.lock().state = State::Up;
        }
        let cause = tokio::select! {
            biased;
            _ = asked => None,
            cause = broker.failed() => Some(cause),
        };
        match cause {
            None => {
                broker.stop().await;
                State::Stopped
            }
            Some(cause) => {
                broker.kill();
                State::Failed(cause)
            }
        }
    }
}

/// Name of the machine of broker `id`.
#[must_use]
pub fn host_name(id: BrokerId) -> String {
    format!("broker{id}")
}
