//! A broker's settings as they are in force: who it is, where it listens, and the numbers of every subject.
//!
//! Holds for every `BrokerSettings`:
//!   1. At least one listener is for clients; the one that brokers use among themselves is among the advertised.
//!   2. No advertised address stands for all interfaces. An advertised port 0 means: as bound. An empty advertised host
//!      means: this machine's name.
//!
//! Read next: numbers.rs (the fields), endpoints.rs (addresses).

use std::collections::BTreeMap;

use ballast_wire::BrokerId;

use super::SettingError;
use super::endpoints::{Voter, check_ports, is_every_interface, parse_endpoints, parse_protocol_map, parse_voters};
use super::layers::Layers;
use super::numbers::{
    GroupSettings, LogSettings, MembershipSettings, NetworkSettings, QuorumSettings, QuotaSettings,
    ReplicationSettings, TopicDefaults, TransactionSettings,
};
use crate::endpoint::{Endpoint, SecurityProtocol};

/// All settings of one broker.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerSettings {
    /// Who and where.
    pub node: NodeSettings,
    /// Sockets, connections and requests.
    pub network: NetworkSettings,
    /// What a topic gets that nobody specified.
    pub topics: TopicDefaults,
    /// Work on logs.
    pub log: LogSettings,
    /// Replicas and fetching.
    pub replication: ReplicationSettings,
    /// Broker and controller.
    pub membership: MembershipSettings,
    /// The metadata quorum.
    pub quorum: QuorumSettings,
    /// Groups.
    pub groups: GroupSettings,
    /// Transactions.
    pub transactions: TransactionSettings,
    /// How rates are measured.
    pub quotas: QuotaSettings,
}

/// Who a node is, where its data is, and where it can be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSettings {
    /// `node.id`, or `broker.id`; `None` if neither is set.
    pub node_id: Option<BrokerId>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `log.dirs`, or `log.dir`.
    pub log_dirs: Vec<String>,
    /// Listeners for clients and other brokers.
    pub listeners: Vec<Endpoint>,
    /// Listeners of the metadata quorum.
    pub controller_listeners: Vec<Endpoint>,
    /// What clients are told, one for each of `listeners` that is advertised.
    pub advertised: Vec<Endpoint>,
    /// Name of the listener that brokers use among themselves.
    pub inter_broker_listener: String,
    /// `controller.quorum.voters`.
    pub voters: Vec<Voter>,
    /// `ballast.http.listener`, `None` where it is `off`.
    pub http_listener: Option<String>,
    /// `test.faults.enable`.
    pub faults_enable: bool,
}

impl BrokerSettings {
    /// What is in force in these layers.
    ///
    /// # Errors
    /// Addresses that are malformed, contradict each other, or cannot be reached.
    pub fn resolve(layers: &Layers<'_>) -> Result<BrokerSettings, SettingError> {
        Ok(BrokerSettings {
            node: NodeSettings::resolve(layers)?,
            network: NetworkSettings::resolve(layers)?,
            topics: TopicDefaults::resolve(layers),
            log: LogSettings::resolve(layers),
            replication: ReplicationSettings::resolve(layers),
            membership: MembershipSettings::resolve(layers),
            quorum: QuorumSettings::resolve(layers),
            groups: GroupSettings::resolve(layers),
            transactions: TransactionSettings::resolve(layers),
            quotas: QuotaSettings::resolve(layers),
        })
    }
}

impl NodeSettings {
    fn resolve(layers: &Layers<'_>) -> Result<NodeSettings, SettingError> {
        let protocols = Protocols::resolve(layers)?;
        let all = parse_endpoints("listeners", &layers.list("listeners"), |name| protocols.of(name))?;
        check_ports(&all)?;
        let (controller_listeners, listeners): (Vec<Endpoint>, Vec<Endpoint>) =
            all.into_iter().partition(|endpoint| protocols.controllers.contains(&endpoint.listener));
        if listeners.is_empty() {
            return Err(conflict("listeners has no listener for clients"));
        }
        let advertised = advertised(layers, &protocols, &listeners)?;
        let inter_broker_listener = inter_broker_listener(layers, &advertised)?;
        let log_dirs = layers.list("log.dirs");
        Ok(NodeSettings {
            node_id: node_id(layers)?,
            rack: layers.text_or_null("broker.rack"),
            log_dirs: if log_dirs.is_empty() { layers.list("log.dir") } else { log_dirs },
            listeners,
            controller_listeners,
            advertised,
            inter_broker_listener,
            voters: parse_voters(&layers.list("controller.quorum.voters"))?,
            http_listener: layers.text_or_null("ballast.http.listener").filter(|text| text != "off"),
            faults_enable: layers.boolean("test.faults.enable"),
        })
    }
}

fn conflict(why: impl Into<String>) -> SettingError {
    SettingError::Conflict(why.into())
}

/// Which protocol a listener has.
struct Protocols {
    map: BTreeMap<String, SecurityProtocol>,
    controllers: Vec<String>,
}

impl Protocols {
    fn resolve(layers: &Layers<'_>) -> Result<Protocols, SettingError> {
        let map = parse_protocol_map(&layers.text_or_null("listener.security.protocol.map").unwrap_or_default())?;
        let controllers = layers.list("controller.listener.names").iter().map(|name| name.to_uppercase()).collect();
        Ok(Protocols { map, controllers })
    }

    /// As the map says; a controller's listener that it does not name is plain, as in Kafka.
    fn of(&self, listener: &str) -> Option<SecurityProtocol> {
        let plain_controller = || self.controllers.iter().any(|name| name == listener);
        let named = self.map.get(listener).copied();
        named.or_else(|| plain_controller().then_some(SecurityProtocol::Plaintext))
    }
}

fn advertised(
    layers: &Layers<'_>,
    protocols: &Protocols,
    listeners: &[Endpoint],
) -> Result<Vec<Endpoint>, SettingError> {
    let given = layers.list("advertised.listeners");
    let mut advertised = parse_endpoints("advertised.listeners", &given, |name| protocols.of(name))?;
    advertised.retain(|endpoint| !protocols.controllers.contains(&endpoint.listener));
    if given.is_empty() {
        advertised = listeners.to_vec();
    }
    for endpoint in &advertised {
        if !listeners.iter().any(|listener| listener.listener == endpoint.listener) {
            return Err(conflict(format!("advertised.listeners has {endpoint}, which is none of listeners")));
        }
        if is_every_interface(&endpoint.host) {
            return Err(conflict(format!(
                "advertised.listeners cannot use the nonroutable meta-address {}. Use a routable IP address or name for {}.",
                endpoint.host, endpoint.listener
            )));
        }
    }
    Ok(advertised)
}

/// The named one; else the one called like the protocol among brokers, else one with that protocol, else the first.
fn inter_broker_listener(layers: &Layers<'_>, advertised: &[Endpoint]) -> Result<String, SettingError> {
    let names = || advertised.iter().map(|endpoint| endpoint.listener.as_str()).collect::<Vec<_>>().join(",");
    if let Some(name) = layers.text_or_null("inter.broker.listener.name") {
        let name = name.to_uppercase();
        if advertised.iter().any(|endpoint| endpoint.listener == name) {
            return Ok(name);
        }
        return Err(conflict(format!(
            "inter.broker.listener.name is {name}, which is not advertised; choose one of {}",
            names()
        )));
    }
    let protocol = layers.text_or_null("security.inter.broker.protocol").unwrap_or_default();
    let called = advertised.iter().find(|endpoint| endpoint.listener == protocol);
    let alike = || advertised.iter().find(|endpoint| endpoint.protocol.name() == protocol);
    let chosen = called.or_else(alike).or_else(|| advertised.first());
    chosen.map(|endpoint| endpoint.listener.clone()).ok_or_else(|| conflict("advertised.listeners is empty"))
}

fn node_id(layers: &Layers<'_>) -> Result<Option<BrokerId>, SettingError> {
    let given = |name: &str| layers.number_or_null(name).and_then(|id| BrokerId::try_from(id).ok());
    let (node, broker) = (given("node.id"), given("broker.id").filter(|id| *id >= 0));
    match (node, broker) {
        (Some(node), Some(broker)) if node != broker => {
            Err(conflict(format!("You must set node.id to the same value as broker.id: they are {node} and {broker}")))
        }
        (node, broker) => Ok(node.or(broker)),
    }
}

#[cfg(test)]
mod tests;
