//! The entropy seam: random bytes from the system, or from a seed so that a run can be repeated.
//!
//! Holds: two `SeededEntropy` of one seed give the same bytes for the same sequence of calls, on every platform.

use ballast_wire::Uuid;
use parking_lot::Mutex;

/// Gives random bytes.
pub trait Entropy: Send + Sync {
    /// Overwrites all of `bytes` with random ones.
    fn fill(&self, bytes: &mut [u8]);
}

/// The system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system's random generator does not fail once it is seeded at boot");
    }
}

/// A generator that repeats itself: xoshiro256**, its state spread from the seed by splitmix64. Not for secrets.
#[derive(Debug)]
pub struct SeededEntropy {
    state: Mutex<[u64; 4]>,
}

impl SeededEntropy {
    /// Starts from `seed`; every value is a good one.
    #[must_use]
    pub fn new(seed: u64) -> SeededEntropy {
        let mut counter = seed;
        SeededEntropy { state: Mutex::new(std::array::from_fn(|_| splitmix64(&mut counter))) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.state.lock();
        for piece in bytes.chunks_mut(8) {
            let word = xoshiro256(&mut state).to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
    }
}

/// A random number of 64 bits.
#[must_use]
pub fn random_u64(entropy: &dyn Entropy) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A random number from 0 up to but not including `bound` (0 if `bound` is 0). The bias is below `bound` in 2^64.
#[must_use]
pub fn random_below(entropy: &dyn Entropy, bound: u64) -> u64 {
    ((u128::from(random_u64(entropy)) * u128::from(bound)) >> 64) as u64
}

/// A random id for a topic, a directory or a cluster.
#[must_use]
pub fn random_uuid(entropy: &dyn Entropy) -> Uuid {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    Uuid::from_random(bytes)
}

fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn xoshiro256(s: &mut [u64; 4]) -> u64 {
    let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
    let t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3].rotate_left(45);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_matches_its_published_vector() {
        let mut counter = 1_234_567;
        let got: Vec<u64> = (0..3).map(|_| splitmix64(&mut counter)).collect();
        assert_eq!(got, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn one_seed_gives_one_sequence_and_another_seed_another() {
        let draw = |seed| {
            let entropy = SeededEntropy::new(seed);
            let mut bytes = [0; 20];
            entropy.fill(&mut bytes);
            (bytes, random_u64(&entropy), random_uuid(&entropy))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn numbers_below_a_bound_stay_below_it_and_reach_both_ends() {
        let entropy = SeededEntropy::new(1);
        let drawn: Vec<u64> = (0..200).map(|_| random_below(&entropy, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&0), Some(&4)));
        assert_eq!(random_below(&entropy, 0), 0);
    }

    #[test]
    fn the_systems_ids_differ() {
        assert_ne!(random_uuid(&OsEntropy), random_uuid(&OsEntropy));
    }
}
