//! One run: a cluster, its clients, its faults, and what it leaves behind.
//!
//! ```text
//! setup ── topics are there ──► load, faults strike ── time is up ──► healed: calm ── recovered ──► over ──► evidence
//! ```

use std::collections::BTreeMap;

use ballast_planted::{Bug, plant};

use super::checks;
use super::cluster::Cluster;
use super::disk::Mistake;
use super::evidence::Evidence;
use super::faults::Class;
use super::faults::apply::Faults;
use super::faults::plan::Plan;
use super::history::{Event, Place, Recorder, fingerprint};
use super::load::admin::{Topic, administer, change_settings};
use super::load::audit::audit;
use super::load::group::{member_name, take_part};
use super::load::produce::{Habit, produce};
use super::load::read::{Taste, read};
use super::load::zombie::haunt;
use super::load::{Phase, Surroundings};
use super::shape::{Shape, rack};
use super::trace;

/// How long clients work and faults strike, in ms.
const LOAD_MS: i64 = 16_000;
/// How long a cluster may take to found itself and make its topics, in ms.
const SETUP_MS_MAX: i64 = 60_000;
/// What readers are given to reach the end once all has recovered, in ms.
const READ_ON_MS: i64 = 5_000;

/// The topics of every run: one whose records are not synced before they are acknowledged (D1), one whose records are
/// (D2), and one for producers without idempotence. Segments are small, so that
/// logs have several, and old indexes and snapshots beside them.
pub const TOPICS: [Topic; 3] = [
    Topic { name: "d1", partitions: 2, configs: &[("min.insync.replicas", "2"), SMALL_SEGMENTS, DENSE_INDEX] },
    Topic {
        name: "d2",
        partitions: 2,
        configs: &[("min.insync.replicas", "2"), SMALL_SEGMENTS, DENSE_INDEX, ("flush.messages", "1")],
    },
    Topic { name: PLAIN, partitions: 1, configs: &[("min.insync.replicas", "2")] },
];
const SMALL_SEGMENTS: (&str, &str) = ("internal.segment.bytes", "3000");
const DENSE_INDEX: (&str, &str) = ("index.interval.bytes", "512");
/// Topics whose records are synced before they are acknowledged.
const SYNCED: [&str; 1] = ["d2"];
/// The topic of producers without idempotence, whose records may be there twice.
const PLAIN: &str = "plain";

/// What a run is like.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Everything that is drawn, is drawn from it.
    pub seed: u64,
    /// Which machines there are.
    pub shape: Shape,
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
    /// A cluster of any shape, drawn from the seed as all else.
    #[must_use]
    pub fn any(seed: u64) -> Scenario {
        Scenario::of(seed, Shape::draw(seed))
    }

    /// One broker, which dies, loses power and meets a bad disk, and clients that cannot do without it.
    #[must_use]
    pub fn alone(seed: u64) -> Scenario {
        Scenario::of(seed, Shape::Alone)
    }

    /// Three brokers that all vote, three replicas of everything.
    #[must_use]
    pub fn of_three(seed: u64) -> Scenario {
        Scenario::of(seed, Shape::Three)
    }

    /// The same with faults that are aimed, see [`Plan::keen`].
    #[must_use]
    pub fn keenly(self) -> Scenario {
        Scenario { plan: Plan::keen(self.seed, &self.shape.machines(), self.load_ms), ..self }
    }

    /// The same with faults of these classes, all of them, aimed.
    #[must_use]
    pub fn under(self, classes: &[Class]) -> Scenario {
        Scenario { plan: Plan::aimed(self.seed, &self.shape.machines(), self.load_ms, classes), ..self }
    }

    /// A cluster of this shape.
    #[must_use]
    pub fn of(seed: u64, shape: Shape) -> Scenario {
        let plan = Plan::draw(seed, &shape.machines(), LOAD_MS);
        Scenario { seed, shape, load_ms: LOAD_MS, plan, mistake: Mistake::None, planted: None }
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
    /// How many faults of each class have struck.
    pub struck: BTreeMap<Class, u64>,
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
    let mut cluster = Cluster::new(scenario.seed, scenario.shape, scenario.mistake);
    let recorder = cluster.recorder().clone();
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
    add_clients(&mut cluster, &around, &places, scenario.shape.replicas());

    let mut run = Run { cluster, recorder, phase };
    let mut evidence = Evidence {
        synced: SYNCED.iter().map(|topic| (*topic).into()).collect(),
        plain: [PLAIN.into()].into(),
        ..Evidence::default()
    };
    let mut faults = Faults::new(&scenario.plan, run.recorder.clone());
    if run.until(SETUP_MS_MAX, |run| run.phase.now() >= Phase::LOAD) {
        faults.begin();
        run.load(scenario.load_ms, &mut faults);
        faults.heal(&mut run.cluster);
        run.recorder.note(Event::Healed);
        run.phase.set(Phase::CALM);
        run.until(checks::RECOVERY_MS_MAX, |run| {
            faults.keep_up(&mut run.cluster);
            run.phase.now() >= Phase::RECOVERED
        });
        run.until(READ_ON_MS, |_| false);
    }
    run.phase.set(Phase::OVER);
    let read = evidence.read_disks(run.cluster.machines().values(), &places);
    let lasted_ms = run.recorder.now_ms();
    evidence.history = run.recorder.entries();
    drop(run);
    drop(listening);
    let mut violations = checks::all(&evidence);
    violations.extend(read.err().map(|error| format!("C9: {error}")));
    let fingerprint = fingerprint(&evidence.history);
    Outcome { violations, fingerprint, lasted_ms, struck: faults.struck().clone(), evidence }
}

fn add_clients(cluster: &mut Cluster, around: &Surroundings, places: &[Place], replicas: i16) {
    cluster.client("admin", administer(around.clone(), TOPICS.to_vec(), replicas));
    let (plain, kept): (Vec<Place>, Vec<Place>) = places.iter().cloned().partition(|place| &*place.topic == PLAIN);
    for number in 1..=2 {
        cluster.client(&format!("producer{number}"), produce(around.clone(), number, kept.clone(), Habit::Idempotent));
    }
    cluster.client("producer3", produce(around.clone(), 3, plain, Habit::Plain));
    cluster.client("reader1", read(around.clone(), 1, places.to_vec(), Taste::default()));
    let near = Taste { rack: rack(1 + around.dice("rack").between(0, 2) as i32) };
    cluster.client("reader2", read(around.clone(), 2, places.to_vec(), near));
    for number in 1..=2 {
        cluster.client(&member_name(number), take_part(around.clone(), number, vec!["d1", "d2"]));
    }
    for number in 1..=2 {
        cluster.client(&format!("settings{number}"), change_settings(around.clone(), number));
    }
    cluster.client("zombie", haunt(around.clone()));
    cluster.client("auditor", audit(around.clone(), places.to_vec()));
}

struct Run {
    cluster: Cluster,
    recorder: Recorder,
    phase: Phase,
}

impl Run {
    /// Steps until `done`, for at most `ms`; says whether it was.
    fn until(&mut self, ms: i64, mut done: impl FnMut(&mut Run) -> bool) -> bool {
        let end = self.recorder.now_ms() + ms;
        while self.recorder.now_ms() < end {
            self.cluster.step();
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
            self.cluster.step();
        }
    }
}

/// The seeds that a run of the tests plays: `BALLAST_SEED` alone, or from `BALLAST_FROM` on `BALLAST_SEEDS` many, or `usual`
/// many.
#[must_use]
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("BALLAST_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let from = number("BALLAST_FROM").unwrap_or(0);
            from..from + number("BALLAST_SEEDS").unwrap_or(usual)
        }
    }
}
