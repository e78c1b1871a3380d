//! Faults that wait for somebody to do something: a replica to join an ISR, a leader to begin.
//!
//! What happens is looked through at every step; a fault strikes once.

use std::cmp::Reverse;

use ballast_wire::BrokerId;

use super::Class;
use super::apply::{Faults, Mend, TOPICS};
use super::plan::{Action, Who};
use crate::disk::Crash;
use crate::sim::cluster::Cluster;
use crate::sim::history::{BrokerEvent, Event, Place};
use crate::sim::machine::host_name;

/// Who is waited for.
pub(super) enum Watch {
    /// Whoever asks that somebody joins the ISR of a partition that clients write to, and that takes writes without the
    /// joiner.
    Joining { deaf: bool, ms: i64 },
    /// The next leader of a partition of this topic.
    NextLeader { topic: &'static str, after_ms: i64, down_ms: i64 },
}

impl Faults {
    pub(super) fn watch(&mut self, what: Watch) {
        if self.watches.is_empty() {
            self.seen = self.recorder.len();
        }
        self.watches.push(what);
    }

    /// Strikes whoever does what is watched for.
    pub(super) fn look(&mut self, cluster: &mut Cluster) {
        let news = self.recorder.after(self.seen);
        self.seen += news.len();
        for entry in news {
            let Event::Broker { broker, what } = entry.event else { continue };
            let is_it = |watch: &Watch| match (watch, &what) {
                (Watch::Joining { .. }, BrokerEvent::Proposes { at, .. }) => {
                    TOPICS.contains(&&*at.topic) && self.last_isr(at).len() > 1
                }
                (Watch::NextLeader { topic, .. }, BrokerEvent::Leads { at, .. }) => *at.topic == **topic,
                _ => false,
            };
            let Some(at) = self.watches.iter().position(is_it) else { continue };
            match (self.watches.remove(at), what) {
                (Watch::Joining { deaf, ms }, BrokerEvent::Proposes { joiner, .. }) => {
                    self.cut_joining(cluster, broker, joiner, deaf, ms);
                }
                (Watch::NextLeader { after_ms, down_ms, .. }, _) => {
                    let kill = Action::Kill { who: Who::Broker(broker), how: Crash::Process, down_ms };
                    self.ahead.push((self.recorder.now_ms() + after_ms, Class::Leader, kill));
                    self.ahead.sort_by_key(|(at, ..)| Reverse(*at));
                }
                _ => {}
            }
        }
    }

    /// The ISR of a partition, as it was last told.
    pub(super) fn last_isr(&self, place: &Place) -> Vec<BrokerId> {
        let told = self.recorder.last(|event| match event {
            Event::Broker { what: BrokerEvent::Isr { at, isr, .. } | BrokerEvent::High { at, isr, .. }, .. } => {
                (at == place).then(|| isr.clone())
            }
            _ => None,
        });
        told.unwrap_or_default()
    }

    fn cut_joining(&mut self, cluster: &mut Cluster, leader: BrokerId, joiner: BrokerId, deaf: bool, ms: i64) {
        cluster.network().partition(host_name(joiner), host_name(leader));
        self.later(ms, Mend::Link(joiner, leader));
        let controller = self.find(cluster, Who::Controller);
        if deaf && controller != leader && controller != joiner {
            cluster.network().partition_oneway(host_name(controller), host_name(leader));
            self.later(ms, Mend::Link(controller, leader));
        }
        self.recorder.note(Event::Fault(format!("{joiner} is cut off from {leader}, whose ISR it is to join")));
    }
}
