//! Carries out a plan: every fault strikes at its time and is mended at its end.

use std::collections::BTreeMap;

use ballast_wire::BrokerId;

use super::Class;
use super::plan::{Action, Plan, Who};
use super::watch::Watch;
use crate::disk::{Crash, Repeat, Trouble};
use crate::sim::cluster::Cluster;
use crate::sim::history::{BrokerEvent, Event, Recorder};
use crate::sim::load::group::member_name;
use crate::sim::machine::{State, host_name};

/// Room that a full disk still has, in bytes.
const FULL_ROOM_BYTES: u64 = 16 << 10;

/// What is to be mended later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mend {
    Boot(BrokerId),
    Disk(BrokerId),
    Clock(BrokerId),
    Link(BrokerId, BrokerId),
    Latency(BrokerId, BrokerId),
    Release(BrokerId, BrokerId),
    Pace(BrokerId),
    Member(u32),
}

/// A plan at work.
pub struct Faults {
    pub(super) recorder: Recorder,
    pub(super) ahead: Vec<(i64, Class, Action)>,
    mends: Vec<(i64, Mend)>,
    /// Machines whose disk has failed: somebody has to start their brokers again.
    troubled: Vec<BrokerId>,
    /// What waits for somebody to do something, and how much of the history was looked through for that.
    pub(super) watches: Vec<Watch>,
    pub(super) seen: usize,
    /// How many of each class have struck.
    struck: BTreeMap<Class, u64>,
}

impl Faults {
    /// The faults of `plan`, ready to [begin](Faults::begin).
    #[must_use]
    pub fn new(plan: &Plan, recorder: Recorder) -> Faults {
        let mut ahead: Vec<_> = plan.actions.iter().map(|(at, class, action)| (*at, *class, action.clone())).collect();
        ahead.reverse();
        Faults {
            recorder,
            ahead,
            mends: Vec::new(),
            troubled: Vec::new(),
            watches: Vec::new(),
            seen: 0,
            struck: BTreeMap::new(),
        }
    }

    /// The times of the plan are counted from now on.
    pub fn begin(&mut self) {
        let now = self.recorder.now_ms();
        self.ahead.iter_mut().for_each(|(at, ..)| *at += now);
    }

    /// How many of each class have struck.
    #[must_use]
    pub fn struck(&self) -> &BTreeMap<Class, u64> {
        &self.struck
    }

    /// Does what is due.
    pub fn step(&mut self, cluster: &mut Cluster) {
        let now = self.recorder.now_ms();
        while let Some(at) = self.mends.iter().position(|(at, _)| *at <= now) {
            let (_, mend) = self.mends.remove(at);
            self.mend(cluster, &mend);
        }
        while self.ahead.last().is_some_and(|(at, ..)| *at <= now) {
            let (_, class, action) = self.ahead.pop().expect("just seen");
            *self.struck.entry(class).or_default() += 1;
            self.strike(cluster, action);
        }
        if !self.watches.is_empty() {
            self.look(cluster);
        }
    }

    /// Mends everything at once, and lets nothing more happen.
    pub fn heal(&mut self, cluster: &mut Cluster) {
        self.ahead.clear();
        for (_, mend) in std::mem::take(&mut self.mends) {
            self.mend(cluster, &mend);
        }
        self.troubled.sort_unstable();
        self.troubled.dedup();
        for id in std::mem::take(&mut self.troubled) {
            // An operator has looked after the disk, and starts the broker again.
            cluster.kill(id, Crash::Process);
            cluster.boot(id);
        }
    }

    /// Starts what has ended: nothing is to be down any more.
    pub fn keep_up(&mut self, cluster: &mut Cluster) {
        for id in ids(cluster) {
            if is_down(&cluster.machines()[&id].state()) {
                self.mend(cluster, &Mend::Boot(id));
            }
        }
    }

    pub(super) fn later(&mut self, ms: i64, mend: Mend) {
        self.mends.push((self.recorder.now_ms() + ms, mend));
    }

    fn strike(&mut self, cluster: &mut Cluster, action: Action) {
        self.recorder.note(Event::Fault(format!("{action:?}")));
        match action {
            Action::Kill { who, how, down_ms } => {
                let id = self.find(cluster, who);
                self.kill(cluster, id, how, down_ms);
            }
            Action::KillAfter { who, calls } => {
                let id = self.find(cluster, who);
                cluster.machines()[&id].disk().kill_after(calls);
            }
            Action::KillAt { who, steps, calls, how } => {
                let id = self.find(cluster, who);
                cluster.machines()[&id].will_die_at(steps, calls, how);
            }
            Action::KillAll { how, down_ms } => {
                for id in ids(cluster) {
                    self.kill(cluster, id, how, down_ms);
                }
            }
            Action::Restart { who, down_ms } => {
                let id = self.find(cluster, who);
                cluster.machines()[&id].ask_to_stop();
                self.later(down_ms + 2_000, Mend::Boot(id));
            }
            Action::Fill { who, ms } => {
                let id = self.trouble(cluster, who);
                let disk = cluster.machines()[&id].disk();
                disk.set_capacity(Some(disk.used_bytes() + FULL_ROOM_BYTES));
                self.later(ms, Mend::Disk(id));
            }
            Action::Fail { who, call, part, ms } => {
                let id = self.trouble(cluster, who);
                let repeat = if ms.is_some() { Repeat::Always } else { Repeat::Once };
                cluster.machines()[&id].disk().fail(call, part, Trouble::Io, repeat);
                self.later(ms.unwrap_or(2_000), Mend::Disk(id));
            }
            Action::Clock { who, error_ms, ms } => {
                let id = self.find(cluster, who);
                cluster.machines()[&id].clock().set_error(error_ms);
                self.later(ms, Mend::Clock(id));
            }
            Action::Slow { who, extra_ms, ms } => {
                let id = self.find(cluster, who);
                cluster.machines()[&id].pace().set_extra_ms(extra_ms);
                self.later(ms, Mend::Pace(id));
            }
            Action::CutJoining { deaf, ms } => self.watch(Watch::Joining { deaf, ms }),
            Action::KillNextLeader { number, after_ms, down_ms } => {
                self.watch(Watch::NextLeader { topic: topic_of(number), after_ms, down_ms });
            }
            Action::Rot { who, number, down_ms } => {
                let id = self.find(cluster, who);
                let was_up = cluster.machines()[&id].state() == State::Up;
                self.kill(cluster, id, Crash::Process, down_ms);
                // After a clean stop a start believes what was closed, as it says.
                if was_up {
                    self.rot(cluster, id, number);
                }
            }
            Action::SilentMember { member, ms } => {
                for id in ids(cluster) {
                    cluster.network().hold(member_name(member), host_name(id));
                }
                self.later(ms, Mend::Member(member));
            }
            Action::Split { side, bridge, ms } => self.split(cluster, side, bridge, ms),
            Action::Cut { .. } | Action::CutOneWay { .. } | Action::BadLinks { .. } | Action::Silence { .. } => {
                self.strike_network(cluster, action);
            }
        }
    }

    fn split(&mut self, cluster: &mut Cluster, side: u64, bridge: Option<BrokerId>, ms: i64) {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (at, id) in ids(cluster).into_iter().enumerate().filter(|(_, id)| bridge != Some(*id)) {
            if side >> at & 1 == 1 { here.push(id) } else { there.push(id) }
        }
        for (a, b) in here.iter().flat_map(|a| there.iter().map(move |b| (*a, *b))) {
            cluster.network().partition(host_name(a), host_name(b));
            self.later(ms, Mend::Link(a, b));
        }
    }

    fn strike_network(&mut self, cluster: &mut Cluster, action: Action) {
        let (who, from, ms) = match &action {
            Action::Cut { who, from, ms } | Action::CutOneWay { who, from, ms, .. } => (*who, *from, *ms),
            Action::BadLinks { who, ms, .. } | Action::Silence { who, ms } => (*who, None, *ms),
            _ => return,
        };
        let id = self.find(cluster, who);
        let others: Vec<BrokerId> =
            ids(cluster).into_iter().filter(|other| *other != id && from.is_none_or(|from| from == *other)).collect();
        for other in others {
            let (a, b) = (host_name(id), host_name(other));
            let network = cluster.network();
            let mend = match &action {
                Action::Cut { .. } => {
                    network.partition(a, b);
                    Mend::Link(id, other)
                }
                Action::CutOneWay { speaks, .. } => {
                    if *speaks {
                        network.partition_oneway(b, a);
                    } else {
                        network.partition_oneway(a, b);
                    }
                    Mend::Link(id, other)
                }
                Action::BadLinks { latency_ms, loss_percent, .. } => {
                    let latency = std::time::Duration::from_millis(*latency_ms);
                    network.set_link_max_message_latency(a.as_str(), b.as_str(), latency);
                    network.set_link_fail_rate(a.as_str(), b.as_str(), *loss_percent as f64 / 1_000.0);
                    Mend::Latency(id, other)
                }
                _ => {
                    network.hold(a, b);
                    Mend::Release(id, other)
                }
            };
            self.later(ms, mend);
        }
    }

    fn kill(&mut self, cluster: &mut Cluster, id: BrokerId, how: Crash, down_ms: i64) {
        cluster.kill(id, how);
        self.mends.retain(|(_, mend)| *mend != Mend::Boot(id));
        self.later(down_ms, Mend::Boot(id));
    }

    fn trouble(&mut self, cluster: &Cluster, who: Who) -> BrokerId {
        let id = self.find(cluster, who);
        self.troubled.push(id);
        self.recorder.note(Event::Broker { broker: id, what: BrokerEvent::DiskTrouble });
        id
    }

    pub(super) fn find(&self, cluster: &Cluster, who: Who) -> BrokerId {
        let any = |number: u64| ids(cluster)[(number % cluster.machines().len() as u64) as usize];
        let last_broker = |wanted: &dyn Fn(&BrokerEvent) -> bool| {
            self.recorder.last(|event| match event {
                Event::Broker { broker, what } if wanted(what) => Some(*broker),
                _ => None,
            })
        };
        match who {
            Who::Broker(id) => id,
            Who::Controller => last_broker(&|what| *what == BrokerEvent::Controls).unwrap_or_else(|| any(0)),
            Who::Leader(number) => {
                let topic = topic_of(number);
                last_broker(&|what| matches!(what, BrokerEvent::Leads { at, .. } if *at.topic == *topic))
                    .unwrap_or_else(|| any(number))
            }
        }
    }

    fn mend(&mut self, cluster: &mut Cluster, mend: &Mend) {
        self.recorder.note(Event::Fault(format!("mended: {mend:?}")));
        match *mend {
            Mend::Boot(id) => {
                let state = cluster.machines()[&id].state();
                if is_down(&state) {
                    cluster.boot(id);
                }
            }
            Mend::Disk(id) => {
                let disk = cluster.machines()[&id].disk();
                disk.set_capacity(None);
                disk.heal();
            }
            Mend::Clock(id) => cluster.machines()[&id].clock().set_error(0),
            Mend::Pace(id) => cluster.machines()[&id].pace().set_extra_ms(0),
            Mend::Link(a, b) => cluster.network().repair(host_name(a), host_name(b)),
            Mend::Release(a, b) => cluster.network().release(host_name(a), host_name(b)),
            Mend::Member(member) => {
                for id in ids(cluster) {
                    cluster.network().release(member_name(member), host_name(id));
                }
            }
            Mend::Latency(a, b) => cluster.mend_latency(a, b),
        }
    }
}

/// Whose leaders are aimed at.
pub(super) const TOPICS: [&str; 4] = ["d1", "d2", "plain", "__consumer_offsets"];

/// The topic that a number of [`Who::Leader`] means.
fn topic_of(number: u64) -> &'static str {
    TOPICS[(number % TOPICS.len() as u64) as usize]
}

fn is_down(state: &State) -> bool {
    matches!(state, State::Dead | State::Stopped)
}

fn ids(cluster: &Cluster) -> Vec<BrokerId> {
    cluster.machines().keys().copied().collect()
}
