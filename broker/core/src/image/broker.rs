//! A registered broker as the metadata knows it.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Uuid};

use crate::endpoint::Endpoint;

/// The levels of a feature that a broker can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureRange {
    /// Lowest level.
    pub min: i16,
    /// Highest level.
    pub max: i16,
}

/// One registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: BrokerId,
    /// Broker epoch: index of the entry that registered this incarnation, -1 while that entry is not committed.
    pub epoch: i64,
    /// One life of the process.
    pub incarnation: Uuid,
    /// Its advertised listeners.
    pub listeners: Vec<Endpoint>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Ids of its log directories that are online, in rising order.
    pub log_dirs: Vec<Uuid>,
    /// Feature levels it supports, by name.
    pub features: BTreeMap<String, FeatureRange>,
    /// Is it shut out (not caught up, or silent)?
    pub fenced: bool,
    /// Is it leaving in an orderly way?
    pub in_controlled_shutdown: bool,
}

impl Broker {
    /// May it lead and join ISRs?
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.fenced && !self.in_controlled_shutdown
    }

    /// The advertised address of the listener called `listener`.
    #[must_use]
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.listeners.iter().find(|endpoint| endpoint.listener == listener)
    }

    /// Can the directory `id` be used? True for ids that name no directory (not chosen yet), except a lost one.
    #[must_use]
    pub fn has_online_dir(&self, id: Uuid) -> bool {
        if super::Directories::reserved(id) { id != super::Directories::LOST } else { self.log_dirs.contains(&id) }
    }
}
