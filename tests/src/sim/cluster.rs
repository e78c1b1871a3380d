//! A simulated cluster: machines on turmoil's network, the clients beside them, and the steps that move them on.
//!
//! Holds: nothing here, nor anything that runs in it, knows real time, a real socket, a thread or an unseeded number. One seed
//! therefore gives one run.
//!
//! Read next: `machine` (one broker), `net` and `disk` (what the brokers see of the world), `faults`, `load`.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use ballast_wire::BrokerId;
use turmoil::{Builder, Sim};

use super::clock::TrueTime;
use super::disk::Mistake;
use super::history::Recorder;
use super::machine::{CLIENT_PORT, CONTROLLER_PORT, Machine, State, host_name};
use super::shape::{Shape, rack};
use crate::disk::Crash;

/// What one step lasts, in ms. Time within a step is exact; messages travel and processes die between steps.
pub const STEP_MS: u64 = 5;
/// Longest that a healthy link delays a packet, in ms.
const LATENCY_MS_MAX: u64 = 10;
/// `broker.session.timeout.ms`: so long nobody knows that a broker has died.
pub const SESSION_MS: i64 = 3_000;
/// Packets that a connection holds for a slow reader.
const PACKETS_MAX: usize = 1024;
/// A supervisor starts a broker again that ended by itself, after so many ms.
const SUPERVISOR_MS: i64 = 1_000;

/// A cluster that is about to run.
pub struct Cluster {
    sim: Sim<'static>,
    shape: Shape,
    recorder: Recorder,
    time: TrueTime,
    machines: BTreeMap<BrokerId, Machine>,
    /// When the supervisor starts a broker again.
    restarts: BTreeMap<BrokerId, i64>,
}

impl Cluster {
    /// The machines of `shape`, each of which makes `mistake`. Their software begins to start with the first step.
    #[must_use]
    pub fn new(seed: u64, shape: Shape, mistake: Mistake) -> Cluster {
        let time = TrueTime::default();
        let recorder = Recorder::new(time.clone());
        let mut sim = Builder::new()
            .rng_seed(seed)
            .tick_duration(Duration::from_millis(STEP_MS))
            .simulation_duration(Duration::from_secs(3_600))
            .min_message_latency(Duration::ZERO)
            .max_message_latency(Duration::from_millis(LATENCY_MS_MAX))
            .tcp_capacity(PACKETS_MAX)
            .enable_random_order()
            .build();
        let mut machines = BTreeMap::new();
        for id in shape.machines() {
            let machine = Machine::new(id, seed, &recorder, node_settings(id, shape), mistake);
            let software = machine.clone();
            sim.host(machine.name(), move || {
                let machine = software.clone();
                async move {
                    machine.run().await;
                    Ok(())
                }
            });
            machines.insert(id, machine);
        }
        Cluster { sim, shape, recorder, time, machines, restarts: BTreeMap::new() }
    }

    /// Adds a client, a host of its own.
    pub fn client(&mut self, name: &str, software: impl Future<Output = ()> + 'static) {
        self.sim.client(name, async move {
            software.await;
            Ok(())
        });
    }

    /// The clock that the steps move.
    #[must_use]
    pub fn time(&self) -> &TrueTime {
        &self.time
    }

    /// Where machines note how they end, and everybody else what they do.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The machines by id.
    #[must_use]
    pub fn machines(&self) -> &BTreeMap<BrokerId, Machine> {
        &self.machines
    }

    /// The network, to be cut, held and mended.
    pub fn network(&mut self) -> &mut Sim<'static> {
        &mut self.sim
    }

    /// The links between two machines lose nothing and are as quick as at first.
    pub fn mend_latency(&mut self, a: BrokerId, b: BrokerId) {
        let (a, b) = (host_name(a), host_name(b));
        self.sim.set_link_max_message_latency(a.as_str(), b.as_str(), Duration::from_millis(LATENCY_MS_MAX));
        self.sim.set_link_fail_rate(a.as_str(), b.as_str(), 0.0);
        self.sim.repair(a, b);
    }

    /// What clients bootstrap from.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let address = |id: &BrokerId| format!("{}:{CLIENT_PORT}", host_name(*id));
        self.shape.brokers().iter().map(address).collect::<Vec<_>>().join(",")
    }

    /// Runs everything for [`STEP_MS`].
    ///
    /// # Panics
    /// If anything that runs does.
    pub fn step(&mut self) {
        self.sim.step().unwrap_or_else(|error| panic!("the simulation ended: {error}"));
        let now_ms = self.sim.elapsed().as_millis() as i64;
        self.time.set(now_ms);
        let machines: Vec<Machine> = self.machines.values().cloned().collect();
        for machine in machines {
            let id = machine.id();
            if let Some(how) = machine.has_just_died() {
                self.kill(id, how);
                self.restarts.insert(id, now_ms + SUPERVISOR_MS);
            }
            if matches!(machine.state(), State::Failed(_)) && !self.restarts.contains_key(&id) {
                self.restarts.insert(id, now_ms + SUPERVISOR_MS);
            }
            if self.restarts.get(&id).is_some_and(|at| *at <= now_ms) {
                self.boot(id);
            }
        }
    }

    /// Ends the process on a machine; `how` says what becomes of its disk.
    pub fn kill(&mut self, id: BrokerId, how: Crash) {
        self.restarts.remove(&id);
        self.machines[&id].die(how);
        self.sim.crash(host_name(id));
    }

    /// Starts a broker again, on what its disk holds.
    pub fn boot(&mut self, id: BrokerId) {
        if self.machines[&id].state() != State::Dead {
            self.kill(id, Crash::Process);
        }
        self.restarts.remove(&id);
        self.sim.bounce(host_name(id));
    }
}

/// What every simulated node is told: its place, and patience that fits a run of a minute.
fn node_settings(id: BrokerId, shape: Shape) -> Vec<(String, String)> {
    let voters: Vec<String> =
        shape.voters().iter().map(|id| format!("{id}@{}:{CONTROLLER_PORT}", host_name(*id))).collect();
    let roles = shape.roles(id);
    // Named, not 0.0.0.0: what others dial must not be the name of the machine that simulates.
    let mut listeners = vec![format!("CONTROLLER://{}:{CONTROLLER_PORT}", host_name(id))];
    let mut own = Vec::new();
    if roles.contains("broker") {
        listeners.insert(0, format!("PLAINTEXT://{}:{CLIENT_PORT}", host_name(id)));
        own.push(("broker.rack", rack(id)));
    }
    own.extend([
        ("node.id", id.to_string()),
        ("process.roles", roles.to_owned()),
        ("listeners", listeners.join(",")),
        ("controller.listener.names", "CONTROLLER".to_owned()),
        ("controller.quorum.voters", voters.join(",")),
        ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector".to_owned()),
        ("broker.session.timeout.ms", SESSION_MS.to_string()),
        ("broker.heartbeat.interval.ms", "500".to_owned()),
        ("replica.lag.time.max.ms", "3000".to_owned()),
        ("offsets.topic.num.partitions", "2".to_owned()),
        ("group.min.session.timeout.ms", "1000".to_owned()),
    ]);
    own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
