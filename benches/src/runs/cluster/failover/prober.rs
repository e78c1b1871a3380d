//! A producer of one record at a time that never gives up: it asks every node for the leader until one takes the record.
//!
//! It asks again after milliseconds where clients wait for a tenth of a second, so that a pause is the cluster's own.

use bytes::Bytes;

use crate::client::{Client, Topic};
use crate::clock::{SECOND_NS, now_ns, rest, seconds_between};
use crate::{Failure, records};

/// Between two records, and between two questions for the leader, in seconds.
const PACE_SECONDS: f64 = 0.002;
/// A cluster that acknowledges nothing for so long, in seconds, has failed.
const PAUSE_SECONDS_MAX: u64 = 120;

/// See the module.
pub(super) struct Prober {
    topic: Topic,
    record: Bytes,
    addresses: Vec<String>,
    /// The node that took the latest record.
    leader: Option<Client>,
    acknowledged: u64,
    latest_ns: u64,
    longest_ns: u64,
}

impl Prober {
    /// For the one partition of a topic, on nodes at these addresses.
    pub(super) fn new(topic: &Topic, addresses: Vec<String>) -> Prober {
        let record = records::batch(0, records::wall_ms()).bytes;
        Prober {
            topic: topic.clone(),
            record,
            addresses,
            leader: None,
            acknowledged: 0,
            latest_ns: now_ns(),
            longest_ns: 0,
        }
    }

    /// Sends records for so long.
    pub(super) fn drive(&mut self, seconds: f64) -> Result<(), Failure> {
        let since = now_ns();
        while seconds_between(since, now_ns()) < seconds {
            self.send()?;
        }
        Ok(())
    }

    /// Sends until one more record is acknowledged.
    pub(super) fn drive_until_acknowledged(&mut self) -> Result<(), Failure> {
        let before = self.acknowledged;
        while self.acknowledged == before {
            self.send()?;
        }
        Ok(())
    }

    /// Records that were acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The longest time between two acknowledgements, in seconds.
    pub(super) fn longest_pause_seconds(&self) -> f64 {
        self.longest_ns as f64 / SECOND_NS as f64
    }

    /// One try with one record.
    fn send(&mut self) -> Result<(), Failure> {
        let leader = self.leader.take().or_else(|| self.find_leader());
        if let Some(mut leader) = leader
            // A refusal or a broken connection: somebody else leads now, or nobody yet.
            && leader.produce(&self.topic, &self.record).is_ok_and(|refused| refused.is_empty())
        {
            self.count();
            self.leader = Some(leader);
        } else if now_ns() > self.latest_ns + PAUSE_SECONDS_MAX * SECOND_NS {
            return Err(Failure::new(format!("nothing was acknowledged for {PAUSE_SECONDS_MAX} s")));
        }
        rest(PACE_SECONDS);
        Ok(())
    }

    fn count(&mut self) {
        let now = now_ns();
        if self.acknowledged > 0 {
            self.longest_ns = self.longest_ns.max(now - self.latest_ns);
        }
        self.acknowledged += 1;
        self.latest_ns = now;
    }

    /// The leader that the first node names which names one.
    fn find_leader(&self) -> Option<Client> {
        let named = |address: &String| {
            let view = Client::connect(address).ok()?.view(std::slice::from_ref(&self.topic)).ok()?;
            let leader = *view.by_leader(&self.topic.name).keys().next()?;
            Client::connect(view.brokers.get(&leader)?).ok()
        };
        self.addresses.iter().find_map(named)
    }
}
