//! What a fetch has found so far, partition by partition, and which of them it looks at again while it waits.
//!
//! A follower may ask for thousands of partitions at once, and each write to one of them wakes it. It is told which, and looks
//! at no other.
//!
//! Holds: rows are in the order asked for; what a row that is not looked at again says was so when something last changed in
//! its partition that the fetch waits for.
//!
//! Read next: `read` (one look), `drive::waiters` (who tells).

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_wire::Chunk;
use ballast_wire::fetch::FetchedPartition;

use crate::drive::partition::{FetchGuard, LeaderHint, Partition};
use crate::drive::waiters::{Awaits, Ear};

/// What there is to tell a replica about the watermark, if it says which one it has (KIP-1166).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum News {
    None,
    /// It has records that will be committed soon: nobody wakes its fetch for that, so it looks again.
    Expected,
    /// It lacks a watermark.
    There,
}

/// What one partition gave.
pub(super) struct Row {
    pub(super) fetched: FetchedPartition,
    /// Whom to ask instead.
    pub(super) hint: Option<LeaderHint>,
    /// Must be told now: an error, a divergence, a nearer replica.
    pub(super) is_urgent: bool,
    /// Of a replica's watermark.
    pub(super) news: News,
    /// What was read from, if anything was.
    pub(super) read: Option<Looked>,
}

/// A partition that was read.
pub(super) struct Looked {
    pub(super) partition: Arc<Partition>,
    /// How many changes it had told before.
    pub(super) changes: u64,
}

impl Row {
    fn bytes(&self) -> usize {
        self.fetched.records.iter().map(Chunk::len).sum()
    }
}

/// Who looks at the partitions of a fetch.
pub(super) trait Look {
    /// What the partition at this place gives now, of which the others have `taken` so many bytes.
    fn look(&mut self, place: usize, taken: usize) -> impl Future<Output = Row> + Send;
}

/// What all partitions gave.
#[derive(Default)]
pub(super) struct Pass {
    /// In the order asked for.
    pub(super) rows: Vec<Row>,
    pub(super) bytes: usize,
    /// The answer goes out at once.
    pub(super) is_urgent: bool,
    /// Places of those whose watermark is, or will soon be, news to a replica: nobody tells of it.
    in_flux: BTreeSet<usize>,
}

impl Pass {
    /// Looks at each of `count` partitions.
    pub(super) async fn first(count: usize, by: &mut impl Look) -> Pass {
        let mut pass = Pass { rows: Vec::with_capacity(count), ..Pass::default() };
        for place in 0..count {
            let row = by.look(place, pass.bytes).await;
            pass.take(place, &row);
            pass.rows.push(row);
        }
        pass
    }

    /// Looks again at those that have changed, and at those of which there is, or may be, news that nobody tells.
    pub(super) async fn again(&mut self, mut changed: BTreeSet<usize>, by: &mut impl Look) {
        changed.append(&mut self.in_flux);
        for place in changed {
            self.bytes -= self.rows[place].bytes();
            let row = by.look(place, self.bytes).await;
            self.take(place, &row);
            self.rows[place] = row;
        }
    }

    fn take(&mut self, place: usize, row: &Row) {
        self.bytes += row.bytes();
        self.is_urgent |= row.is_urgent;
        if row.news != News::None {
            self.in_flux.insert(place);
        }
    }

    /// The most that is to be told of a watermark.
    pub(super) fn news(&self) -> News {
        self.in_flux.iter().map(|place| self.rows[*place].news).max().unwrap_or(News::None)
    }

    /// From now on `ear` hears of each change since a partition was looked at.
    pub(super) fn listen(&self, awaits: Awaits, ear: &Arc<Ear>) -> Vec<FetchGuard> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(place, row)| {
            let Looked { partition, changes } = row.read.as_ref()?;
            Some(partition.await_change(awaits, ear, place, *changes))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use ballast_wire::Offset;

    use super::*;

    fn row(bytes: usize, high: Offset, news: News) -> Row {
        let mut fetched = FetchedPartition::failed(0, 0);
        (fetched.high_watermark, fetched.records) = (high, vec![Chunk::from(vec![0; bytes])]);
        Row { fetched, hint: None, is_urgent: false, news, read: None }
    }

    /// Finds the same in every partition, and writes down where it looked, and with how many bytes taken.
    struct Finds {
        bytes: usize,
        high: Offset,
        news: fn(usize) -> News,
        looked: Vec<(usize, usize)>,
    }

    impl Look for Finds {
        async fn look(&mut self, place: usize, taken: usize) -> Row {
            self.looked.push((place, taken));
            row(self.bytes, self.high, (self.news)(place))
        }
    }

    fn finds(bytes: usize, high: Offset, news: fn(usize) -> News) -> Finds {
        Finds { bytes, high, news, looked: Vec::new() }
    }

    #[tokio::test]
    async fn a_fetch_of_three_thousand_partitions_looks_again_only_at_what_changed() {
        let mut first = finds(0, 5, |_| News::None);
        let mut pass = Pass::first(3_000, &mut first).await;
        assert_eq!((first.looked.len(), pass.bytes), (3_000, 0));
        let mut again = finds(100, 6, |_| News::None);
        pass.again(BTreeSet::from([7, 1_234]), &mut again).await;
        assert_eq!((again.looked, pass.bytes), (vec![(7, 0), (1_234, 100)], 200));
        let moved: Vec<usize> = (0..3_000).filter(|place| pass.rows[*place].fetched.high_watermark == 6).collect();
        assert_eq!(moved, [7, 1_234]);
        let mut again = finds(150, 7, |_| News::None);
        pass.again(BTreeSet::from([7]), &mut again).await;
        assert_eq!((again.looked, pass.bytes), (vec![(7, 100)], 250), "its bytes count once");
    }

    #[tokio::test]
    async fn a_watermark_that_nobody_tells_of_is_looked_for_until_it_is_settled() {
        let only_3 = |place| if place == 3 { News::Expected } else { News::None };
        let mut pass = Pass::first(10, &mut finds(0, 5, only_3)).await;
        assert_eq!(pass.news(), News::Expected);
        let mut timer = finds(0, 6, |_| News::There);
        pass.again(BTreeSet::new(), &mut timer).await;
        assert_eq!((pass.news(), timer.looked), (News::There, vec![(3, 0)]));
        let mut woken = finds(0, 6, |_| News::None);
        pass.again(BTreeSet::from([9]), &mut woken).await;
        assert_eq!((pass.news(), woken.looked), (News::None, vec![(3, 0), (9, 0)]));
        let mut timer = finds(0, 6, |_| News::None);
        pass.again(BTreeSet::new(), &mut timer).await;
        assert_eq!(timer.looked, [], "nothing is in flux");
    }
}
