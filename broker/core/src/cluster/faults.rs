//! What goes wrong: brokers stop, die and lose power, links are cut, controllers change, records are deleted.
//!
//! Holds: no run goes beyond what the durability level promises. At D1 a broker loses power only while all others are
//! whole, and while one has lost it, no other stops uncleanly: the controllers cannot tell the one from the other
//! (KIP-966), and fewer than min ISR (2) may go at once. At D2, and without power losses, anything may happen to all of
//! them at once.

use ballast_wire::Offset;

use super::broker::{Role, Unclean};
use super::network::QUORUM;
use super::world::{BROKERS, World};
use crate::controller::Request;
use crate::machine::Machine as _;

/// How long a broker that wants to stop waits for leave.
const PATIENCE_MS: u64 = 400;

impl World {
    /// Perhaps something goes wrong. Brokers that are down come back sooner or later.
    pub(super) fn fault(&mut self) {
        self.forgive();
        if self.network.is_cut() && self.random.chance(40) {
            self.network.unblock_all();
        }
        let at = self.random.index(self.brokers.len());
        if !self.brokers[at].up {
            if self.random.chance(200) {
                self.start(at);
            }
            return;
        }
        // Called in 5 steps of 100: a rate of ten thousand steps is one of five hundred calls.
        let mut lot = self.random.below(500);
        let mut drawn = |rate: u64| {
            let hit = lot < rate;
            lot = lot.wrapping_sub(rate);
            hit
        };
        if drawn(self.plan.clean_stops) {
            // One that does not know its epoch yet cannot prove a clean stop: to the controllers that is an unclean one.
            if self.brokers[at].broker_epoch.is_some() {
                let stops_at = self.now + PATIENCE_MS;
                self.brokers[at].stops_at.get_or_insert(stops_at);
            }
        } else if drawn(self.plan.kills) {
            self.kill(at);
        } else if drawn(self.plan.power_losses) {
            self.lose_power(at);
        } else if drawn(self.plan.partitions) {
            self.cut_links();
        } else if drawn(self.plan.failovers) {
            let commits = self.random.chance(500);
            self.trace(|| format!("another controller takes over; the open proposal is committed: {commits}"));
            self.quorum.fail_over(self.now, commits);
        } else if drawn(self.plan.preferred_elections) {
            self.quorum.ask(self.now, Request::ElectLeaders { unclean: false, partitions: None });
        } else if drawn(self.plan.deletions) {
            self.delete_records(at);
        }
    }

    pub(super) fn start(&mut self, at: usize) {
        self.brokers[at].start(self.now);
        let (id, life) = (self.brokers[at].id, self.brokers[at].life);
        let (end, clean) = (self.brokers[at].log.end(), self.brokers[at].clean_epoch);
        self.trace(|| format!("broker {id} starts life {life}, its log ends at {end}, clean stop: {clean:?}"));
    }

    fn others(&self, at: usize, state: impl Fn(Unclean) -> bool) -> bool {
        self.brokers.iter().enumerate().all(|(other, broker)| other == at || state(broker.unclean))
    }

    fn kill(&mut self, at: usize) {
        if !self.plan.durable && !self.others(at, |unclean| unclean != Unclean::LostPower) {
            return;
        }
        let whole = self.plan.durable || self.brokers[at].unclean != Unclean::LostPower;
        let all = whole && self.random.chance(100);
        for other in 0..self.brokers.len() {
            if (other == at || all) && self.brokers[other].up {
                let id = self.brokers[other].id;
                self.trace(|| format!("broker {id} is killed"));
                self.brokers[other].crash(None);
            }
        }
    }

    fn lose_power(&mut self, at: usize) {
        if !self.plan.durable && !self.others(at, |unclean| unclean == Unclean::No) {
            return;
        }
        let all = self.plan.durable && self.random.chance(200);
        for other in 0..self.brokers.len() {
            if (other == at || all) && self.brokers[other].up {
                let cut = self.cut(other);
                let (id, end) = (self.brokers[other].id, self.brokers[other].log.end());
                self.trace(|| format!("broker {id} loses power, its log is cut from {end} to {cut}"));
                if cut < end {
                    self.history.saw("a power loss takes records");
                }
                self.brokers[other].crash(Some(cut));
            }
        }
    }

    fn cut_links(&mut self) {
        self.network.unblock_all();
        if self.random.chance(500) {
            return;
        }
        let nodes = [QUORUM, BROKERS[0], BROKERS[1], BROKERS[2]];
        let alone = nodes[self.random.index(nodes.len())];
        // All links of one node, or one link; both ways, or one.
        let whole = self.random.chance(500);
        let (to, from) = (self.random.chance(800), self.random.chance(800));
        let one = nodes[self.random.index(nodes.len())];
        for other in nodes.into_iter().filter(|other| *other != alone && (whole || *other == one)) {
            if to {
                self.network.block(other, alone);
            }
            if from {
                self.network.block(alone, other);
            }
        }
        self.trace(|| format!("links of {alone} are cut (all: {whole}, in: {to}, out: {from})"));
    }

    /// A leader deletes records that are committed.
    fn delete_records(&mut self, at: usize) {
        let kept = self.random.below(3) as Offset;
        let broker = &mut self.brokers[at];
        let Role::Leader(leader) = &broker.role else { return };
        let to = leader.high() - kept;
        if to > broker.log.start() {
            broker.log.move_start(to);
            leader.check();
        }
    }
}
