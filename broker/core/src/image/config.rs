//! What a dynamic config belongs to.

/// Kinds of resources that have configs. The numbers are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// A topic (2).
    Topic,
    /// A broker by id, or all of them with an empty name (4).
    Broker,
    /// A client metrics subscription (16).
    ClientMetrics,
    /// A group (32).
    Group,
}

impl ResourceKind {
    /// Every kind.
    pub const ALL: [ResourceKind; 4] =
        [ResourceKind::Topic, ResourceKind::Broker, ResourceKind::ClientMetrics, ResourceKind::Group];

    /// Kafka's number, as in DescribeConfigs.
    #[must_use]
    pub fn id(self) -> i8 {
        match self {
            ResourceKind::Topic => 2,
            ResourceKind::Broker => 4,
            ResourceKind::ClientMetrics => 16,
            ResourceKind::Group => 32,
        }
    }

    /// The kind with Kafka's number `id`.
    #[must_use]
    pub fn from_id(id: i8) -> Option<ResourceKind> {
        ResourceKind::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// One resource with configs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigResource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name: a topic, a broker id in decimal, a group. Empty with `Broker` stands for every broker.
    pub name: String,
}

impl ConfigResource {
    /// The topic `name`.
    #[must_use]
    pub fn topic(name: &str) -> ConfigResource {
        ConfigResource { kind: ResourceKind::Topic, name: name.to_owned() }
    }

    /// The broker `id`.
    #[must_use]
    pub fn broker(id: ballast_wire::BrokerId) -> ConfigResource {
        ConfigResource { kind: ResourceKind::Broker, name: id.to_string() }
    }

    /// The defaults of every broker.
    #[must_use]
    pub fn cluster() -> ConfigResource {
        ConfigResource { kind: ResourceKind::Broker, name: String::new() }
    }

    /// The group `id`.
    #[must_use]
    pub fn group(id: &str) -> ConfigResource {
        ConfigResource { kind: ResourceKind::Group, name: id.to_owned() }
    }
}
