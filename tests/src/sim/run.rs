//! One run: a cluster, its clients, its faults, and what it leaves behind.
//!
//! ```text
//! setup ── topics are there ──► load, faults strike ── time is up ──► healed: calm ── recovered ──► over ──► evidence
//! ```

use ballast_planted::{Bug, plant};

use super::checks;
use super::cluster::Cluster;
use super::disk::Mistake;
use super::evidence::Evidence;
use super::faults::apply::Faults;
use super::faults::plan::Plan;
use super::history::{BrokerEvent, Event, Place, Recorder, fingerprint};
use super::load::admin::{Topic, administer};
use super::load::audit::audit;
use super::load::group::{member_name, take_part};
use super::load::produce::produce;
use super::load::read::{Taste, read};
use super::load::{Phase, Surroundings};
use super::machine::State;
use super::trace;
use crate::disk::Crash;

/// How long clients work and faults strike, in ms.
const LOAD_MS: i64 = 12_000;
/// How long a cluster may take to found itself and make its topics, in ms.
const SETUP_MS_MAX: i64 = 60_000;
/// What readers are given to reach the end once all has recovered, in ms.
const READ_ON_MS: i64 = 3_000;

/// The topics of every run: one whose records are synced before they are acknowledged (D2), and one whose are not (D1). Their
/// segments are small, so that logs have several, and old indexes and snapshots beside them.
pub const TOPICS: [Topic; 2] = [
    Topic { name: "d1", partitions: 2, configs: &[("min.insync.replicas", "2"), SMALL_SEGMENTS, DENSE_INDEX] },
    Topic {
        name: "d2",
        partitions: 2,
        configs: &[("min.insync.replicas", "2"), ("flush.messages", "1"), SMALL_SEGMENTS, DENSE_INDEX],
    },
];
const SMALL_SEGMENTS: (&str, &str) = ("internal.segment.bytes", "8192");
const DENSE_INDEX: (&str, &str) = ("index.interval.bytes", "512");

/// What a run is like.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Everything that is drawn, is drawn from it.
    pub seed: u64,
    /// Machines, each with a broker that votes.
    pub brokers: usize,
    /// Replicas of each partition.
    pub replicas: i16,
    /// How long clients work and faults strike, in ms.
    pub load_ms: i64,
    /// What goes wrong.
    pub plan: Plan,
    /// What every broker does wrong with its disk, to see that it is found.
    pub mistake: Mistake,
    /// What every broker does wrong otherwise.
    pub planted: Option<Bug>,
}

impl Scenario {
    /// One broker, which dies, loses power and meets a bad disk, and clients that cannot do without it.
    #[must_use]
    pub fn alone(seed: u64) -> Scenario {
        Scenario::of(seed, 1, 1)
    }

    /// Three brokers that all vote, three replicas of everything.
    #[must_use]
    pub fn of_three(seed: u64) -> Scenario {
        Scenario::of(seed, 3, 3)
    }

    fn of(seed: u64, brokers: usize, replicas: i16) -> Scenario {
        Scenario {
            seed,
            brokers,
            replicas,
            load_ms: LOAD_MS,
            plan: Plan::draw(seed, brokers, LOAD_MS),
            mistake: Mistake::None,
            planted: None,
        }
    }
}

/// What became of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Everything that is wrong; empty if all holds.
    pub violations: Vec<String>,
    /// Equal for equal runs.
    pub fingerprint: u64,
    /// How long it lasted, in simulated ms.
    pub lasted_ms: i64,
    /// What it left behind.
    pub evidence: Evidence,
}

/// Plays a scenario from its beginning to its end.
///
/// # Panics
/// If a broker or a client does.
#[must_use]
pub fn play(scenario: &Scenario) -> Outcome {
    let _planting = plant(scenario.planted);
    let mut cluster = Cluster::new(scenario.seed, scenario.brokers, &[], scenario.mistake);
    let recorder = Recorder::new(cluster.time().clone());
    let listening = trace::listen(recorder.clone());
    let places: Vec<Place> = TOPICS.iter().flat_map(Topic::places).collect();
    let phase = Phase::default();
    let around = Surroundings {
        seed: scenario.seed,
        bootstrap: cluster.bootstrap(),
        time: cluster.time().clone(),
        recorder: recorder.clone(),
        phase: phase.clone(),
    };
    add_clients(&mut cluster, &around, &places, scenario.replicas);

    let mut run = Run { cluster, recorder, phase, down: Vec::new(), ends_met: Vec::new() };
    let mut evidence = Evidence::default();
    if run.until(SETUP_MS_MAX, |run| run.phase.now() >= Phase::LOAD) {
        let mut faults = Faults::new(&scenario.plan, run.recorder.clone());
        run.load(scenario.load_ms, &mut faults);
        faults.heal(&mut run.cluster);
        run.recorder.note(Event::Healed);
        run.phase.set(Phase::CALM);
        run.until(checks::RECOVERY_MS_MAX, |run| {
            faults.keep_up(&mut run.cluster);
            run.recorder.last(is_recovered).is_some()
        });
        run.until(READ_ON_MS, |_| false);
        if !faults.spared_unsynced(scenario.replicas, &run.ends_met) {
            evidence.fragile.extend(["d1".into(), "__consumer_offsets".into()]);
        }
    }
    run.phase.set(Phase::OVER);
    let read = evidence.read_disks(run.cluster.machines().values(), &places);
    let lasted_ms = run.recorder.now_ms();
    evidence.history = run.recorder.entries();
    drop(run);
    drop(listening);
    let mut violations = checks::all(&evidence);
    violations.extend(read.err().map(|error| format!("C9: {error}")));
    Outcome { violations, fingerprint: fingerprint(&evidence.history), lasted_ms, evidence }
}

fn is_recovered(event: &Event) -> Option<()> {
    (*event == Event::Recovered).then_some(())
}

fn add_clients(cluster: &mut Cluster, around: &Surroundings, places: &[Place], replicas: i16) {
    cluster.client("admin", administer(around.clone(), TOPICS.to_vec(), replicas));
    for number in 1..=2 {
        cluster.client(&format!("producer{number}"), produce(around.clone(), number, places.to_vec()));
    }
    cluster.client("reader1", read(around.clone(), 1, places.to_vec(), Taste::default()));
    for number in 1..=2 {
        cluster.client(&member_name(number), take_part(around.clone(), number, vec!["d1", "d2"]));
    }
    cluster.client("auditor", audit(around.clone(), places.to_vec()));
}

struct Run {
    cluster: Cluster,
    recorder: Recorder,
    phase: Phase,
    /// Brokers that have ended by themselves, as far as that is noted.
    down: Vec<i32>,
    /// What became of the disks of those that met an end that was ordered ahead.
    ends_met: Vec<Crash>,
}

impl Run {
    fn step(&mut self) {
        self.cluster.step();
        for (broker, how) in self.cluster.take_deaths() {
            self.ends_met.push(how);
            self.recorder.note(Event::Broker { broker, what: BrokerEvent::Died });
        }
        for machine in self.cluster.machines().values() {
            let id = machine.id();
            match machine.state() {
                State::Failed(cause) if !self.down.contains(&id) => {
                    self.down.push(id);
                    self.recorder.note(Event::Broker { broker: id, what: BrokerEvent::GaveUp { cause } });
                }
                State::Failed(_) => {}
                _ => self.down.retain(|other| *other != id),
            }
        }
    }

    /// Steps until `done`, for at most `ms`; says whether it was.
    fn until(&mut self, ms: i64, mut done: impl FnMut(&mut Run) -> bool) -> bool {
        let end = self.recorder.now_ms() + ms;
        while self.recorder.now_ms() < end {
            self.step();
            if done(self) {
                return true;
            }
        }
        false
    }

    fn load(&mut self, ms: i64, faults: &mut Faults) {
        let end = self.recorder.now_ms() + ms;
        while self.recorder.now_ms() < end {
            faults.step(&mut self.cluster);
            self.step();
        }
    }
}

/// The seeds that a run of the tests plays: `BALLAST_SEED` alone, or `BALLAST_SEEDS` many, or `usual` many.
#[must_use]
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("BALLAST_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("BALLAST_SEEDS").unwrap_or(usual),
    }
}
