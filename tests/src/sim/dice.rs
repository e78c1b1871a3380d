//! The dice of a simulation: everything that is drawn comes from its seed, through one of these.

use ballast_net::{SeededEntropy, random_below, random_u64};

/// Seeded dice.
#[derive(Debug)]
pub struct Dice(SeededEntropy);

impl Dice {
    /// The dice of `seed` for one purpose: another purpose draws other numbers, and adding one changes none of the others'.
    #[must_use]
    pub fn new(seed: u64, purpose: &str) -> Dice {
        let mixed = purpose
            .bytes()
            .fold(seed, |mixed, byte| (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(17));
        Dice(SeededEntropy::new(mixed))
    }

    /// Any number.
    pub fn any(&self) -> u64 {
        random_u64(&self.0)
    }

    /// One of `from..=upto`.
    ///
    /// # Panics
    /// If `upto` is below `from`.
    pub fn between(&self, from: u64, upto: u64) -> u64 {
        assert!(from <= upto, "nothing lies between {from} and {upto}");
        from + random_below(&self.0, upto - from + 1)
    }

    /// True in `percent` of a hundred throws.
    pub fn percent(&self, percent: u64) -> bool {
        random_below(&self.0, 100) < percent
    }

    /// One of `all`.
    ///
    /// # Panics
    /// If there is none.
    pub fn one_of<'a, T>(&self, all: &'a [T]) -> &'a T {
        &all[random_below(&self.0, all.len() as u64) as usize]
    }
}
