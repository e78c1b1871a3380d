//! A script drawn from a seed: votes, appends, truncations of what is not committed, commits, snapshots, purges.

use ballast_broker::quorum::{Entry, LogId, Machine, NodeId, Payload, Store, Vote};
use ballast_core::image::{Record, encode_records, encode_snapshot};
use ballast_net::{Entropy as _, SeededEntropy, random_below};
use ballast_wire::Uuid;
use bytes::Bytes;
use openraft::storage::{RaftLogStorage as _, RaftLogStorageExt as _, RaftStateMachine as _};
use openraft::{LeaderId, RaftLogReader as _, RaftSnapshotBuilder as _};

use crate::model::{Doubt, Model, after};

/// One life of a store and a machine, on dice.
pub(crate) struct Life {
    pub(crate) store: Store,
    pub(crate) machine: Machine,
    pub(crate) model: Model,
    pub(crate) doubt: Doubt,
    dice: SeededEntropy,
}

pub(crate) type Done = Result<(), Box<dyn std::error::Error>>;

impl Life {
    /// A life that has not begun.
    pub(crate) fn new((store, machine): (Store, Machine), model: Model, seed: u64) -> Life {
        Life { store, machine, model, doubt: Doubt::Nothing, dice: SeededEntropy::new(seed) }
    }

    fn below(&self, bound: u64) -> u64 {
        random_below(&self.dice, bound)
    }

    async fn step(&mut self) -> Done {
        match self.below(12) {
            0 => self.vote().await,
            1..=5 => self.append().await,
            6 => self.truncate().await,
            7 | 8 => self.commit().await,
            9 => self.snapshot().await,
            _ => self.purge().await,
        }
    }

    async fn vote(&mut self) -> Done {
        self.model.term += 1;
        let node = NodeId { node: 1 + self.below(3) as i32, directory: Uuid([9; 16]) };
        let vote = Vote { leader_id: LeaderId::new(self.model.term, node), committed: self.below(2) == 0 };
        self.doubt = Doubt::Vote(vote);
        self.store.save_vote(&vote).await?;
        self.model.vote = Some(vote);
        Ok(())
    }

    pub(crate) async fn append(&mut self) -> Done {
        let (first, count) = (self.model.end(), 1 + self.below(4));
        let entries: Vec<Entry> = (first..first + count).map(|index| self.entry(index)).collect();
        self.doubt = Doubt::Append(entries.clone());
        self.store.blocking_append(entries.clone()).await?;
        self.model.entries.extend(entries.into_iter().map(|entry| (entry.log_id.index, entry)));
        Ok(())
    }

    pub(crate) fn entry(&self, index: u64) -> Entry {
        let leader = NodeId { node: 1, directory: Uuid([8; 16]) };
        let log_id = LogId { leader_id: LeaderId::new(self.model.term, leader), index };
        let mut id = [0; 16];
        self.dice.fill(&mut id);
        let name = "n".repeat(self.below(700) as usize);
        let record = Record::Topic { name: format!("{index}{name}"), id: Uuid(id) };
        Entry { log_id, payload: Payload::Records(Bytes::from(encode_records(&[record]))) }
    }

    /// Drops some of what is not committed; a leader of a later term then writes there.
    async fn truncate(&mut self) -> Done {
        let (from, end) = (after(self.model.applied).max(after(self.model.purged)), self.model.end());
        if from == end {
            return Ok(());
        }
        let since = from + self.below(end - from);
        self.doubt = Doubt::Truncate(since);
        self.store.truncate(self.model.entries[&since].log_id).await?;
        self.model.entries.split_off(&since);
        self.model.term += 1;
        Ok(())
    }

    async fn commit(&mut self) -> Done {
        let from = after(self.model.applied);
        if from == self.model.end() {
            return Ok(());
        }
        let upto = from + self.below(self.model.end() - from);
        self.store.save_committed(Some(self.model.entries[&upto].log_id)).await?;
        let entries = self.store.try_get_log_entries(from..=upto).await?;
        assert!(
            entries.iter().eq(self.model.entries.range(from..=upto).map(|(_, entry)| entry)),
            "what was appended is read"
        );
        self.machine.apply(entries).await?;
        self.model.apply_upto(upto);
        assert!(encode_snapshot(&self.machine.image()) == encode_snapshot(&self.model.image));
        Ok(())
    }

    async fn snapshot(&mut self) -> Done {
        let Some(applied) = self.model.applied else { return Ok(()) };
        self.model.images.insert(applied.index, encode_snapshot(&self.model.image));
        self.machine.get_snapshot_builder().await.build_snapshot().await?;
        self.model.snapshot = Some(applied);
        Ok(())
    }

    /// Only what a snapshot has may go.
    async fn purge(&mut self) -> Done {
        let from = after(self.model.purged);
        let Some(snapshot) = self.model.snapshot.filter(|snapshot| snapshot.index >= from) else { return Ok(()) };
        let upto = snapshot.index - self.below(snapshot.index + 1 - from) / 2;
        let upto = self.model.entries[&upto].log_id;
        self.doubt = Doubt::Purge(upto);
        self.store.purge(upto).await?;
        self.model.entries = self.model.entries.split_off(&(upto.index + 1));
        self.model.purged = Some(upto);
        Ok(())
    }

    /// Runs until the script is over or something fails.
    pub(crate) async fn live(&mut self, steps: u32) -> Done {
        for _ in 0..steps {
            self.step().await?;
            self.doubt = Doubt::Nothing;
        }
        Ok(())
    }
}
