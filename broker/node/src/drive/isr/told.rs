//! ISRs that were put in place, told together: a broker that stops or comes back changes those of all that it holds.

use ballast_wire::{BrokerId, PartitionIndex};

use crate::drive::named::Named;

/// What was not told yet.
#[derive(Debug, Default)]
pub(super) struct Told {
    shrunk: Named,
    grown: Named,
}

impl Told {
    /// The ISR of a partition is `isr` now; it was `before`.
    pub(super) fn updated(&mut self, topic: &str, index: PartitionIndex, before: &[BrokerId], isr: &[BrokerId]) {
        let named = if isr.len() < before.len() { &mut self.shrunk } else { &mut self.grown };
        named.push(|| format!("{topic}-{index} {before:?} to {isr:?}"));
    }

    /// One line for each of the two ways, if there is something to tell.
    pub(super) fn tell(&mut self) {
        let Told { shrunk, grown } = std::mem::take(self);
        if !shrunk.is_empty() {
            tracing::info!(partitions = shrunk.count(), named = %shrunk, "ISRs have shrunk");
        }
        if !grown.is_empty() {
            tracing::info!(partitions = grown.count(), named = %grown, "ISRs have grown");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_left_and_who_came_are_two_lines_however_many_partitions_they_have() {
        let mut told = Told::default();
        for index in 0..20 {
            told.updated("t", index, &[1, 2, 3], &[1, 2]);
        }
        told.updated("u", 0, &[1], &[1, 3]);
        assert_eq!((told.shrunk.count(), told.grown.to_string().as_str()), (20, "u-0 [1] to [1, 3]"));
        assert!(told.shrunk.to_string().starts_with("t-0 [1, 2, 3] to [1, 2], t-1 "), "{}", told.shrunk);
        told.tell();
        assert!(told.shrunk.is_empty() && told.grown.is_empty(), "nothing is told twice");
    }
}
