//! How long a partition takes no writes when its leader is lost, in simulated time.
//!
//! Three brokers, each leading a partition of one topic (acks=all, two replicas have to have a record). One of them is lost in
//! one of four ways and stays lost; writers ask again and again, without patience, so that what is measured is the cluster's
//! time and not a client's.
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
    let mut cluster = Cluster::new(seed, Shape::Three, Mistake::None);
    let recorder = cluster.recorder().clone();
    let _listening = trace::listen(recorder.clone());
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
    let all_written =
        |recorder: &Recorder| TOPIC.places().iter().all(|place| first_written(recorder, place, 0).is_some());
    run_until(&mut cluster, &recorder, SETUP_MS_MAX, all_written);
    assert!(all_written(&recorder), "seed {seed}: the cluster took no writes within {SETUP_MS_MAX} ms");
    let calm_ms = CALM_MS + around.dice("the moment").between(0, 1_000) as i64;
    run_until(&mut cluster, &recorder, calm_ms, |_| false);

    let controller = recorder.last(|event| said(event, |what| *what == BrokerEvent::Controls)).expect("one leads");
    let leaders: Vec<(Place, BrokerId)> =
        TOPIC.places().into_iter().filter_map(|place| Some((place.clone(), leader(&recorder, &place)?))).collect();
    let is_wanted = |id: BrokerId| (id == controller) == (victim == Victim::Controller);
    let (_, id) = *leaders.iter().find(|(_, id)| is_wanted(*id)).expect("each broker leads one of three partitions");
    let lost_ms = recorder.now_ms();
    recorder.note(Event::Fault(format!("broker {id} is lost: {loss:?}")));
    strike(&mut cluster, id, loss, &clients);

    let led: Vec<Place> = leaders.into_iter().filter(|(_, leader)| *leader == id).map(|(place, _)| place).collect();
    let back = |recorder: &Recorder| led.iter().all(|place| first_written(recorder, place, lost_ms).is_some());
    run_until(&mut cluster, &recorder, GIVEN_UP_MS, back);
    let gap = |at: Place| Gap { ms: first_written(&recorder, &at, lost_ms).map(|ms| ms - lost_ms), at };
    (led.into_iter().map(gap).collect(), recorder)
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

fn run_until(cluster: &mut Cluster, recorder: &Recorder, ms: i64, done: impl Fn(&Recorder) -> bool) {
    let end = recorder.now_ms() + ms;
    while recorder.now_ms() < end && !done(recorder) {
        cluster.step();
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
