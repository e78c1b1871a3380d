//! How long a partition takes no writes when its leader is lost, in simulated time.
//!
//! Three brokers, each leading a partition of one topic (acks=all, two replicas have to have a record). One of them is lost in
//! one of four ways and stays lost; writers ask again and again, without patience, so that what is measured is the cluster's
//! time and not a client's.
//!
//! The same scene shows what a broker does to the others that was cut off from them and comes back.
//!
//! Read next: `load/probe` (the writers).

use ballast_wire::BrokerId;

use super::cluster::Cluster;
use super::disk::Mistake;
use super::history::{BrokerEvent, Event, Place, Recorder};
use super::load::admin::{Topic, administer};
use super::load::probe::probe;
use super::load::{Phase, Surroundings};
use super::machine::host_name;
use super::shape::Shape;
use super::trace;
use crate::disk::Crash;

/// Three partitions, so that each broker leads one.
const TOPIC: Topic = Topic { name: "led", partitions: 3, configs: &[("min.insync.replicas", "2")] };
/// How long a cluster may take until all its partitions take writes, in ms.
const SETUP_MS_MAX: i64 = 60_000;
/// How long it then runs undisturbed at least, in ms: leaders settle, ISRs are whole. A seed adds up to a second.
const CALM_MS: i64 = 4_000;
/// After so many ms without a write a partition counts as lost for good.
const GIVEN_UP_MS: i64 = 60_000;

/// How long a broker that is back is watched, in ms: longer than any wait of a voter.
const SETTLED_MS: i64 = 15_000;

/// How a leader is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its process is killed.
    Killed,
    /// The other brokers hear nothing of it; clients still reach it.
    CutFromBrokers,
    /// Nobody hears anything of it: what is sent to it is gone.
    CutFromAll,
    /// Nothing that is sent to it or by it arrives, for as long as it lasts: a frozen machine.
    Frozen,
}

/// All ways.
pub const LOSSES: [Loss; 4] = [Loss::Killed, Loss::CutFromBrokers, Loss::CutFromAll, Loss::Frozen];

/// Which broker is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// One that leads partitions and not the quorum.
    Leader,
    /// The active controller, which leads partitions too.
    Controller,
}

/// A partition that had no leader for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Which one.
    pub at: Place,
    /// From the loss of its leader to the first acknowledgement of a write that was sent afterwards, in ms; `None` if there
    /// was none within a minute.
    pub ms: Option<i64>,
}

/// Loses `victim` in the run of `seed` and measures the partitions that it led. The history says where the time went.
///
/// # Panics
/// If the cluster does not come to its feet, or a broker or a client panics.
#[must_use]
pub fn lose(seed: u64, loss: Loss, victim: Victim) -> (Vec<Gap>, Recorder) {
    let mut scene = Scene::set(seed);
    let leaders: Vec<(Place, BrokerId)> = TOPIC
        .places()
        .into_iter()
        .filter_map(|place| Some((place.clone(), leader(&scene.recorder, &place)?)))
        .collect();
    let is_wanted = |id: BrokerId| (id == scene.controller) == (victim == Victim::Controller);
    let (_, id) = *leaders.iter().find(|(_, id)| is_wanted(*id)).expect("each broker leads one of three partitions");
    let lost_ms = scene.strike(id, loss);

    let led: Vec<Place> = leaders.into_iter().filter(|(_, leader)| *leader == id).map(|(place, _)| place).collect();
    let back = |recorder: &Recorder| led.iter().all(|place| first_written(recorder, place, lost_ms).is_some());
    scene.run_until(GIVEN_UP_MS, back);
    let recorder = scene.recorder.clone();
    let gap = |at: Place| Gap { ms: first_written(&recorder, &at, lost_ms).map(|ms| ms - lost_ms), at };
    (led.into_iter().map(gap).collect(), recorder)
}

/// Cuts a broker that does not lead the quorum off from the others for `away_ms`, and lets it come back: gives the
/// votes and reigns that were told since, which a healthy leader should not see, and the history.
///
/// # Panics
/// As [`lose`].
#[must_use]
pub fn cut_off_and_come_back(seed: u64, away_ms: i64) -> (Vec<BrokerEvent>, Recorder) {
    let mut scene = Scene::set(seed);
    let is_other = |id: &&BrokerId| **id != scene.controller;
    let id = *scene.cluster.machines().keys().find(is_other).expect("two of three do not lead");
    let cut_ms = scene.strike(id, Loss::CutFromBrokers);
    scene.run_until(away_ms, |_| false);
    let others: Vec<BrokerId> = scene.cluster.machines().keys().copied().filter(|other| *other != id).collect();
    others.iter().for_each(|other| scene.cluster.mend_latency(id, *other));
    scene.recorder.note(Event::Fault(format!("broker {id} is back")));
    scene.run_until(SETTLED_MS, |_| false);
    let told = scene.recorder.look(|entries| {
        let since = entries.iter().filter(|entry| entry.ms >= cut_ms);
        let told = since.filter_map(|entry| match &entry.event {
            Event::Broker { what: what @ (BrokerEvent::Votes { .. } | BrokerEvent::Controls), .. } => {
                Some(what.clone())
            }
            _ => None,
        });
        told.collect()
    });
    (told, scene.recorder)
}

/// Three brokers at work, undisturbed so far.
struct Scene {
    cluster: Cluster,
    recorder: Recorder,
    clients: Vec<String>,
    /// Who leads the quorum.
    controller: BrokerId,
    _listening: trace::Listening,
}

impl Scene {
    fn set(seed: u64) -> Scene {
        let mut cluster = Cluster::new(seed, Shape::Three, Mistake::None);
        let recorder = cluster.recorder().clone();
        let listening = trace::listen(recorder.clone());
        let around = Surroundings {
            seed,
            bootstrap: cluster.bootstrap(),
            time: cluster.time().clone(),
            recorder: recorder.clone(),
            phase: Phase::default(),
        };
        let mut clients = vec!["admin".to_owned()];
        cluster.client("admin", administer(around.clone(), vec![TOPIC], Shape::Three.replicas()));
        for place in TOPIC.places() {
            let name = format!("writer{}", place.partition);
            cluster.client(&name, probe(around.clone(), place));
            clients.push(name);
        }
        let mut scene = Scene { cluster, recorder, clients, controller: 0, _listening: listening };
        let all_written =
            |recorder: &Recorder| TOPIC.places().iter().all(|place| first_written(recorder, place, 0).is_some());
        scene.run_until(SETUP_MS_MAX, all_written);
        assert!(all_written(&scene.recorder), "seed {seed}: the cluster took no writes within {SETUP_MS_MAX} ms");
        scene.run_until(CALM_MS + around.dice("the moment").between(0, 1_000) as i64, |_| false);
        let controls = |event: &Event| said(event, |what| *what == BrokerEvent::Controls);
        scene.controller = scene.recorder.last(controls).expect("one leads");
        scene
    }

    /// Gives the time of the loss, in ms.
    fn strike(&mut self, id: BrokerId, loss: Loss) -> i64 {
        self.recorder.note(Event::Fault(format!("broker {id} is lost: {loss:?}")));
        strike(&mut self.cluster, id, loss, &self.clients);
        self.recorder.now_ms()
    }

    fn run_until(&mut self, ms: i64, done: impl Fn(&Recorder) -> bool) {
        let end = self.recorder.now_ms() + ms;
        while self.recorder.now_ms() < end && !done(&self.recorder) {
            self.cluster.step();
        }
    }
}

fn strike(cluster: &mut Cluster, id: BrokerId, loss: Loss, clients: &[String]) {
    let brokers: Vec<String> =
        cluster.machines().keys().filter(|other| **other != id).map(|id| host_name(*id)).collect();
    let (me, network) = (host_name(id), cluster.network());
    match loss {
        Loss::Killed => cluster.kill(id, Crash::Process),
        Loss::CutFromBrokers => brokers.iter().for_each(|other| network.partition(me.as_str(), other.as_str())),
        Loss::CutFromAll => {
            brokers.iter().chain(clients).for_each(|other| network.partition(me.as_str(), other.as_str()));
        }
        Loss::Frozen => brokers.iter().chain(clients).for_each(|other| network.hold(me.as_str(), other.as_str())),
    }
}

fn said(event: &Event, wanted: impl Fn(&BrokerEvent) -> bool) -> Option<BrokerId> {
    match event {
        Event::Broker { broker, what } if wanted(what) => Some(*broker),
        _ => None,
    }
}

fn leader(recorder: &Recorder, place: &Place) -> Option<BrokerId> {
    recorder.last(|event| said(event, |what| matches!(what, BrokerEvent::Leads { at, .. } if at == place)))
}

/// When the first write to `place` was acknowledged of those that were sent at `since_ms` or later.
fn first_written(recorder: &Recorder, place: &Place, since_ms: i64) -> Option<i64> {
    recorder.look(|entries| {
        let since = entries.partition_point(|entry| entry.ms < since_ms);
        let mut sent = Vec::new();
        entries[since..].iter().find_map(|entry| match &entry.event {
            Event::Sent { at, value } if at == place => {
                sent.push(*value);
                None
            }
            Event::Acked { at, value, .. } if at == place && sent.contains(value) => Some(entry.ms),
            _ => None,
        })
    })
}
