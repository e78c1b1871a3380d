//! Where new replicas go: striped over racks, then over the brokers of each rack, from a random start.
//!
//! Holds for every placement:
//!   1. The replicas of a partition are distinct brokers, and no rack gets a second one before every rack has one.
//!   2. The first replica is an unfenced broker. Fenced ones are taken last.
//!   3. The same brokers, counts and seed give the same placement.

use ballast_wire::BrokerId;

/// A broker that replicas can be placed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: BrokerId,
    pub(super) rack: Option<String>,
    pub(super) fenced: bool,
}

/// One list of brokers that is gone round in: each partition starts one further.
struct Ring {
    brokers: Vec<BrokerId>,
    start: usize,
    taken: usize,
}

impl Ring {
    fn begin_partition(&mut self) {
        self.start = (self.start + 1) % self.brokers.len().max(1);
        self.taken = 0;
    }

    fn next(&mut self) -> Option<BrokerId> {
        let at = (self.start + self.taken) % self.brokers.len().max(1);
        if self.taken == self.brokers.len() {
            return None;
        }
        self.taken += 1;
        self.brokers.get(at).copied()
    }
}

struct Rack {
    unfenced: Ring,
    fenced: Ring,
}

/// Places `partitions` partitions of `replication_factor` replicas.
///
/// # Errors
/// Why the replicas cannot be placed, in Kafka's words.
pub(super) fn place(
    candidates: &[Candidate],
    partitions: usize,
    replication_factor: usize,
    seed: u64,
) -> Result<Vec<Vec<BrokerId>>, String> {
    if candidates.len() < replication_factor {
        return Err(format!(
            "The target replication factor of {replication_factor} cannot be reached because only {} broker(s) are registered or some brokers have all their log directories cordoned.",
            candidates.len()
        ));
    }
    if candidates.iter().all(|candidate| candidate.fenced) {
        return Err("All brokers are currently fenced.".to_owned());
    }
    let mut random = SplitMix(seed);
    let mut racks = racks(candidates, &mut random);
    let mut offset = random.below(racks.len());
    Ok((0..partitions)
        .map(|_| {
            let replicas = one_partition(&mut racks, offset, replication_factor);
            offset = (offset + 1) % racks.len();
            replicas
        })
        .collect())
}

/// The first replica comes from the first rack at or after `offset` with an unfenced broker; the others go round from
/// `offset`, skipping that rack the first time.
fn one_partition(racks: &mut [Rack], offset: usize, replication_factor: usize) -> Vec<BrokerId> {
    for rack in racks.iter_mut() {
        rack.unfenced.begin_partition();
        rack.fenced.begin_partition();
    }
    let count = racks.len();
    let round = || (0..count).map(|step| (offset + step) % count);
    let Some((home, leader)) = round().find_map(|at| Some((at, racks[at].unfenced.next()?))) else {
        unreachable!("a placement begins only with an unfenced broker");
    };
    let mut replicas = vec![leader];
    let mut skip = Some(home);
    while replicas.len() < replication_factor {
        let before = replicas.len();
        for at in round() {
            if replicas.len() < replication_factor && skip != Some(at) {
                let rack = &mut racks[at];
                replicas.extend(rack.unfenced.next().or_else(|| rack.fenced.next()));
            }
        }
        assert!(
            replicas.len() > before || skip.is_some(),
            "placed {before} of {replication_factor} replicas and found no further broker in {count} racks"
        );
        skip = None;
    }
    replicas
}

fn racks(candidates: &[Candidate], random: &mut SplitMix) -> Vec<Rack> {
    let mut names: Vec<&Option<String>> = candidates.iter().map(|candidate| &candidate.rack).collect();
    names.sort_unstable();
    names.dedup();
    let mut ring = |rack: &Option<String>, fenced: bool| {
        let here = candidates.iter().filter(|candidate| candidate.rack == *rack && candidate.fenced == fenced);
        let mut brokers: Vec<BrokerId> = here.map(|candidate| candidate.id).collect();
        random.shuffle(&mut brokers);
        Ring { start: random.below(brokers.len()), brokers, taken: 0 }
    };
    names.into_iter().map(|rack| Rack { unfenced: ring(rack, false), fenced: ring(rack, true) }).collect()
}

/// A small random sequence from one seed (SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, or 0 if that is 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).expect("a number below a usize fits one")
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = self.below(at + 1);
            items.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn brokers(racks: &[&str]) -> Vec<Candidate> {
        let rack_of = |rack: &&str| if rack.is_empty() { None } else { Some((*rack).to_owned()) };
        racks.iter().zip(1..).map(|(rack, id)| Candidate { id, rack: rack_of(rack), fenced: false }).collect()
    }

    #[test]
    fn leaders_and_replicas_are_spread_evenly() {
        let placed = place(&brokers(&["", "", ""]), 30, 2, 7).expect("three brokers for two replicas");
        let mut leads: BTreeMap<BrokerId, usize> = BTreeMap::new();
        for replicas in &placed {
            *leads.entry(replicas[0]).or_default() += 1;
        }
        assert_eq!(leads.values().copied().collect::<Vec<_>>(), [10, 10, 10]);
    }

    #[test]
    fn each_rack_gets_one_replica_before_any_gets_two() {
        let candidates = brokers(&["a", "a", "a", "b", "b", "c"]);
        let rack = |id: &BrokerId| candidates[usize::try_from(*id - 1).expect("ids begin at 1")].rack.clone();
        for replicas in place(&candidates, 50, 3, 1).expect("six brokers for three replicas") {
            let racks: BTreeSet<_> = replicas.iter().map(rack).collect();
            assert_eq!(racks.len(), 3, "{replicas:?}");
        }
    }

    #[test]
    fn a_fenced_broker_holds_replicas_but_never_the_first() {
        let mut candidates = brokers(&["", "", ""]);
        candidates[0].fenced = true;
        for replicas in place(&candidates, 20, 3, 3).expect("three brokers for three replicas") {
            assert_eq!(replicas[2], 1, "{replicas:?}");
        }
        for replicas in place(&candidates, 20, 2, 3).expect("three brokers for two replicas") {
            assert!(!replicas.contains(&1), "{replicas:?}");
        }
    }

    #[test]
    fn too_few_brokers_and_only_fenced_ones_are_refused() {
        let error = place(&brokers(&[""]), 1, 3, 0).expect_err("one broker for three replicas");
        assert!(error.contains("only 1 broker(s) are registered"), "{error}");
        let mut fenced = brokers(&[""]);
        fenced[0].fenced = true;
        assert_eq!(place(&fenced, 1, 1, 0), Err("All brokers are currently fenced.".to_owned()));
    }

    proptest! {
        #[test]
        fn replicas_are_always_distinct_and_lead_by_an_unfenced_one(
            racks in prop::collection::vec((0..4u8, any::<bool>()), 1..12),
            partitions in 1..20usize,
            wanted in 1..6usize,
            seed in any::<u64>(),
        ) {
            let candidates: Vec<Candidate> = racks
                .iter()
                .zip(1..)
                .map(|((rack, fenced), id)| Candidate { id, rack: Some(rack.to_string()), fenced: *fenced })
                .collect();
            let enough = wanted <= candidates.len() && candidates.iter().any(|candidate| !candidate.fenced);
            let placed = place(&candidates, partitions, wanted, seed);
            prop_assert_eq!(placed.is_ok(), enough);
            for replicas in placed.into_iter().flatten() {
                let distinct: BTreeSet<_> = replicas.iter().collect();
                prop_assert_eq!(distinct.len(), wanted);
                let leader = candidates.iter().find(|candidate| candidate.id == replicas[0]);
                prop_assert!(leader.is_some_and(|leader| !leader.fenced));
            }
        }
    }
}
