//! The dice of the double: SplitMix64, the whole of it in a `u64`, so that a seed replays a run.

/// Seeded dice.
#[derive(Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Any of `0..=most`.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        if most == u64::MAX { self.next() } else { self.next() % (most + 1) }
    }

    pub(super) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}
