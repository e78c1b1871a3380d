//! Where records without a key go: one partition for about a batch, then another (KIP-480, KIP-794).
//!
//! Holds: a turn ends after one to two `batch.size` of bytes, whatever the size of the records, so slow partitions do not
//! get more; and not while a batch is open, so that no part-filled batches are left behind (KAFKA-14156).

use ballast_net::{Entropy, random_below};

/// One topic's turn.
#[derive(Debug, Default)]
pub(super) struct Sticky {
    partition: Option<usize>,
    bytes: usize,
}

impl Sticky {
    /// The partition whose turn it is; `pick` chooses one when a turn begins.
    pub(super) fn partition(&mut self, pick: impl FnOnce() -> usize) -> usize {
        *self.partition.get_or_insert_with(pick)
    }

    /// Takes note of a record that went there. `open`: the partition's batch still takes records.
    pub(super) fn count(&mut self, bytes: usize, batch_bytes: usize, open: bool) {
        self.bytes += bytes;
        if self.bytes >= 2 * batch_bytes || (self.bytes >= batch_bytes && !open) {
            *self = Sticky::default();
        }
    }
}

/// Chooses among partitions, given for each with a leader its number and the batches that wait for it. `None` if no
/// partition has a leader. With `adaptive`, short queues are chosen more often.
pub(super) fn choose(backlogs: &[(usize, usize)], adaptive: bool, entropy: &dyn Entropy) -> Option<usize> {
    let longest = backlogs.iter().map(|(_, waiting)| *waiting).max()?;
    let weight = |waiting: usize| if adaptive { (longest + 1 - waiting) as u64 } else { 1 };
    let total: u64 = backlogs.iter().map(|(_, waiting)| weight(*waiting)).sum();
    let mut left = random_below(entropy, total);
    backlogs.iter().find_map(|(partition, waiting)| match left.checked_sub(weight(*waiting)) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(*partition),
    })
}

#[cfg(test)]
mod tests {
    use ballast_net::SeededEntropy;

    use super::*;

    #[test]
    fn a_turn_lasts_one_to_two_batches() {
        let mut sticky = Sticky::default();
        let mut next = 0..;
        let mut turn = |sticky: &mut Sticky| sticky.partition(|| next.next().unwrap());
        assert_eq!(turn(&mut sticky), 0);
        sticky.count(90, 100, true);
        sticky.count(20, 100, true);
        assert_eq!(turn(&mut sticky), 0, "its batch is open");
        sticky.count(10, 100, false);
        assert_eq!(turn(&mut sticky), 1);
        sticky.count(199, 100, true);
        assert_eq!(turn(&mut sticky), 1);
        sticky.count(1, 100, true);
        assert_eq!(turn(&mut sticky), 2, "two batches are enough in any case");
    }

    #[test]
    fn long_queues_are_chosen_less_as_kip_794_weighs_them() {
        let entropy = SeededEntropy::new(5);
        let mut chosen = [0u32; 3];
        for _ in 0..8_000 {
            chosen[choose(&[(0, 0), (1, 3), (2, 1)], true, &entropy).unwrap()] += 1;
        }
        for (count, expected) in chosen.into_iter().zip([4_000, 1_000, 3_000]) {
            assert!(count.abs_diff(expected) < 200, "{chosen:?}");
        }
    }

    #[test]
    fn without_load_data_the_choice_is_uniform_and_without_leaders_there_is_none() {
        let entropy = SeededEntropy::new(5);
        let mut chosen = [0u32; 2];
        for _ in 0..2_000 {
            chosen[choose(&[(0, 9), (1, 0)], false, &entropy).unwrap()] += 1;
        }
        assert!(chosen[0].abs_diff(1_000) < 100, "{chosen:?}");
        assert_eq!(choose(&[], true, &entropy), None);
    }
}
