//! What a run is like: drawn from its seed, so that every seed has its own mixture of settings and faults.

use super::random::Random;

/// `Plan::metadata` of a cluster that is well.
const METADATA_PER_MILLE: u64 = 400;

#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// D2: `flush.messages=1`.
    pub(super) durable: bool,
    pub(super) min_isr: usize,
    pub(super) elr: bool,
    /// Messages in a thousand that are lost.
    pub(super) lost: u64,
    /// Answers of controllers in a thousand that are lost: what was asked may have been done.
    pub(super) answers_lost: u64,
    /// Chances in a thousand that metadata goes out to a broker that lacks it, at each opportunity.
    pub(super) metadata: u64,
    /// Messages in a thousand that come twice.
    pub(super) doubled: u64,
    /// Faults in ten thousand steps, by kind.
    pub(super) clean_stops: u64,
    pub(super) kills: u64,
    pub(super) power_losses: u64,
    pub(super) partitions: u64,
    pub(super) failovers: u64,
    pub(super) preferred_elections: u64,
    pub(super) deletions: u64,
}

impl Plan {
    /// Each kind of fault is in a run or not, like the toss of a coin.
    pub(super) fn draw(random: &mut Random) -> Plan {
        let durable = random.chance(500);
        let min_isr = if random.chance(750) { 2 } else { 1 };
        let elr = random.chance(750);
        // D1 promises that fewer than min ISR may lose power at once, and only the rules of KIP-966 keep that promise.
        let survives_power_loss = durable || (elr && min_isr > 1);
        let mut rate = |max: u64| if random.chance(500) { 1 + random.below(max) } else { 0 };
        let power = rate(30);
        let slow_metadata = rate(1) > 0;
        Plan {
            durable,
            min_isr,
            elr,
            lost: rate(200),
            answers_lost: rate(400),
            metadata: if slow_metadata { 30 } else { METADATA_PER_MILLE },
            doubled: rate(200),
            clean_stops: rate(60),
            kills: rate(60),
            power_losses: if survives_power_loss { power } else { 0 },
            partitions: rate(80),
            failovers: rate(60),
            preferred_elections: rate(40),
            deletions: rate(80),
        }
    }

    /// The same cluster without any faults.
    pub(super) fn calm(&self) -> Plan {
        Plan {
            lost: 0,
            answers_lost: 0,
            metadata: METADATA_PER_MILLE,
            clean_stops: 0,
            kills: 0,
            power_losses: 0,
            partitions: 0,
            failovers: 0,
            preferred_elections: 0,
            deletions: 0,
            ..self.clone()
        }
    }
}
