//! Where the last writes to the active segment began, so that whoever reads at the end of a log (its followers, consumers that
//! keep up) finds them without a look at an index or at a batch's header.
//!
//! Holds: every entry is the base offset and the position of a batch of the active segment that is there as it was written.
//! Whatever replaces the segment or cuts it begins a new tail.

use ballast_wire::Offset;

/// How many writes are known. Followers lag behind by one or two.
const WRITES: usize = 4;

/// The readable bytes of the active segment, and how the last of them came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    bytes: u64,
    /// First offset and position of the last writes, in a ring; an offset below 0 is no entry.
    writes: [(Offset, u64); WRITES],
    next: usize,
}

impl Tail {
    /// A segment of so many bytes, of which nothing more is known.
    pub(crate) fn new(bytes: u64) -> Tail {
        Tail { bytes, writes: [(-1, 0); WRITES], next: 0 }
    }

    /// Bytes that may be read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A write whose first batch has this offset and position has made it so long.
    pub(crate) fn grew(&mut self, first: Offset, position: u64, bytes: u64) {
        assert!(position == self.bytes && bytes > position, "a write of {position}..{bytes} behind {}", self.bytes);
        self.writes[self.next] = (first, position);
        self.next = (self.next + 1) % WRITES;
        self.bytes = bytes;
    }

    /// Where the batch begins whose first offset this is, if it began one of the last writes.
    pub(crate) fn position_of(&self, first: Offset) -> Option<u64> {
        self.writes.iter().find(|(offset, _)| *offset == first).map(|(_, position)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginnings_of_the_last_writes_are_known_and_nothing_else() {
        let mut tail = Tail::new(100);
        (0..6).for_each(|i| tail.grew(10 * i, 100 + 50 * i as u64, 150 + 50 * i as u64));
        assert_eq!((tail.bytes(), tail.position_of(50), tail.position_of(20)), (400, Some(350), Some(200)));
        assert_eq!((tail.position_of(10), tail.position_of(51)), (None, None));
    }
}
