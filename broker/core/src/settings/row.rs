//! A setting as it is in force, with where its value comes from: what DescribeConfigs and CreateTopics show.

use super::Kind;

/// Where a value comes from. The numbers are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The topic's own config (1).
    Topic,
    /// The broker's dynamic config (2).
    DynamicBroker,
    /// The cluster's dynamic default (3).
    DynamicDefaultBroker,
    /// The broker's file, environment or flags (4).
    StaticBroker,
    /// The built-in default (5).
    Default,
    /// A logger's level (6).
    BrokerLogger,
    /// A client metrics subscription (7).
    ClientMetrics,
    /// The group's own config (8).
    Group,
}

impl Source {
    /// Kafka's number, as in DescribeConfigs.
    #[must_use]
    pub fn id(self) -> i8 {
        match self {
            Source::Topic => 1,
            Source::DynamicBroker => 2,
            Source::DynamicDefaultBroker => 3,
            Source::StaticBroker => 4,
            Source::Default => 5,
            Source::BrokerLogger => 6,
            Source::ClientMetrics => 7,
            Source::Group => 8,
        }
    }
}

/// One place that a value could come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The setting's name there.
    pub name: String,
    /// Its value there; `None` if it is null or kept from view.
    pub value: Option<String>,
    /// Which place.
    pub source: Source,
}

/// A setting as it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its value as text; `None` if it is null or kept from view.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
    /// Can it only be changed by a restart?
    pub read_only: bool,
    /// Is its value kept from view?
    pub sensitive: bool,
    /// Its type; `None` for a name that nobody knows.
    pub kind: Option<Kind>,
    /// Every place that has a value, the one in force first.
    pub synonyms: Vec<Synonym>,
    /// What it does.
    pub doc: &'static str,
}
