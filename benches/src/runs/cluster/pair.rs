//! Our cluster and the peer's, both alive, taking turns: A B B A A B B A …

use std::path::Path;

use super::both::Both;
use crate::Failure;
use crate::broker::{Cluster, Software};

/// Our cluster, and the peer's if there is one.
pub(super) struct Pair {
    clusters: Vec<Cluster>,
}

impl Pair {
    pub(super) fn started(
        ours: &Software,
        peer: Option<&Software>,
        root: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Pair, Failure> {
        let both = [Some(ours), peer].into_iter().flatten();
        let clusters = both.map(|software| Cluster::started(software, root, settings)).collect::<Result<_, _>>()?;
        Ok(Pair { clusters })
    }

    /// The peer's cluster, if it is there.
    pub(super) fn peer(&self) -> Option<&Cluster> {
        self.clusters.get(1)
    }

    /// Lets each of the two do the same so many times, in turns.
    pub(super) fn turns<T>(
        &mut self,
        times: usize,
        mut each: impl FnMut(&mut Cluster) -> Result<T, Failure>,
    ) -> Result<Both<T>, Failure> {
        let mut both = Both { ours: Vec::new(), theirs: Vec::new() };
        for time in 0..times {
            let ours_first = time.is_multiple_of(2);
            let mut order: Vec<usize> = (0..self.clusters.len()).collect();
            if !ours_first {
                order.reverse();
            }
            for index in order {
                let got = each(&mut self.clusters[index])?;
                if index == 0 { both.ours.push(got) } else { both.theirs.push(got) }
            }
        }
        Ok(both)
    }
}
