//! A broker's settings as they are in force: who it is, where it listens, and the numbers of every subject.
//!
//! Holds for every `BrokerSettings`:
//!   1. A node that is a broker has a listener for clients; the one that brokers use among themselves is among the advertised.
//!      A dedicated controller has none. A broker without a vote has a controller listener, named or made up.
//!   2. No advertised address stands for all interfaces. An advertised port 0 means: as bound. An empty advertised host
//!      means: this machine's name.
//!
//! Read next: roles.rs (what a node does), numbers.rs (the fields), endpoints.rs (addresses).

use std::collections::BTreeMap;

use ballast_wire::BrokerId;

use super::SettingError;
use super::endpoints::{
    Voter, check_ports, is_every_interface, parse_addresses, parse_endpoints, parse_protocol_map, parse_voters,
};
use super::layers::Layers;
use super::numbers::{
    GroupSettings, LogSettings, MembershipSettings, NetworkSettings, QuorumSettings, QuotaSettings,
    ReplicationSettings, TopicDefaults, TransactionSettings,
};
use super::roles::{Roles, Stated, made_up};
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
    /// `process.roles`.
    pub roles: Roles,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `log.dirs`, or `log.dir`.
    pub log_dirs: Vec<String>,
    /// Listeners for clients and other brokers; empty on a dedicated controller.
    pub listeners: Vec<Endpoint>,
    /// Listeners of the metadata quorum.
    pub controller_listeners: Vec<Endpoint>,
    /// Where the quorum's others reach those of `controller_listeners` that are advertised elsewhere than they listen.
    pub advertised_controllers: Vec<Endpoint>,
    /// What clients are told, one for each of `listeners` that is advertised.
    pub advertised: Vec<Endpoint>,
    /// Name of the listener that brokers use among themselves; empty on a dedicated controller.
    pub inter_broker_listener: String,
    /// `controller.quorum.voters`.
    pub voters: Vec<Voter>,
    /// `controller.quorum.bootstrap.servers`: host and port of controllers.
    pub bootstrap_controllers: Vec<(String, u16)>,
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
        let (mut controller_listeners, listeners): (Vec<Endpoint>, Vec<Endpoint>) =
            all.into_iter().partition(|endpoint| protocols.controllers.contains(&endpoint.listener));
        let node_id = node_id(layers)?;
        let voters = parse_voters(&layers.list("controller.quorum.voters"))?;
        let at = "controller.quorum.bootstrap.servers";
        let bootstrap_controllers = parse_addresses(at, &layers.list(at))?;
        let roles = Roles::resolve(layers)?;
        if let Some(roles) = roles {
            let (bootstrap, names) = (&bootstrap_controllers, &protocols.controllers);
            let (clients, controllers) = (&listeners, &controller_listeners);
            roles.check(&Stated { node_id, voters: &voters, bootstrap, names, clients, controllers })?;
        }
        let roles = roles.unwrap_or(Roles::BOTH);
        if roles.broker && listeners.is_empty() {
            return Err(conflict("listeners has no listener for clients"));
        }
        let (advertised, mut advertised_controllers) =
            advertised(layers, &protocols, &listeners, &controller_listeners)?;
        if !roles.controller && controller_listeners.is_empty() {
            let name = protocols.controllers.first();
            let own = made_up(name, |name| protocols.of(name), &listeners, &advertised);
            let (listener, told) = own.ok_or_else(|| conflict("listeners has no listener for clients"))?;
            controller_listeners.push(listener);
            advertised_controllers = vec![told];
        }
        let inter_broker_listener =
            if roles.broker { inter_broker_listener(layers, &advertised)? } else { String::new() };
        let log_dirs = layers.list("log.dirs");
        Ok(NodeSettings {
            node_id,
            roles,
            rack: layers.text_or_null("broker.rack"),
            log_dirs: if log_dirs.is_empty() { layers.list("log.dir") } else { log_dirs },
            listeners,
            controller_listeners,
            advertised_controllers,
            advertised,
            inter_broker_listener,
            voters,
            bootstrap_controllers,
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

/// What clients are told, and what the quorum's others are told.
fn advertised(
    layers: &Layers<'_>,
    protocols: &Protocols,
    listeners: &[Endpoint],
    controllers: &[Endpoint],
) -> Result<(Vec<Endpoint>, Vec<Endpoint>), SettingError> {
    let given = layers.list("advertised.listeners");
    let all = parse_endpoints("advertised.listeners", &given, |name| protocols.of(name))?;
    let (mut of_controllers, mut advertised): (Vec<Endpoint>, Vec<Endpoint>) =
        all.into_iter().partition(|endpoint| protocols.controllers.contains(&endpoint.listener));
    if given.is_empty() {
        advertised = listeners.to_vec();
    }
    // Files that brokers and controllers share may name a listener that this node does not have.
    of_controllers.retain(|endpoint| controllers.iter().any(|listener| listener.listener == endpoint.listener));
    for endpoint in &advertised {
        if !listeners.iter().any(|listener| listener.listener == endpoint.listener) {
            return Err(conflict(format!("advertised.listeners has {endpoint}, which is none of listeners")));
        }
    }
    for endpoint in advertised.iter().chain(&of_controllers) {
        if is_every_interface(&endpoint.host) {
            return Err(conflict(format!(
                "advertised.listeners cannot use the nonroutable meta-address {}. Use a routable IP address or name for {}.",
                endpoint.host, endpoint.listener
            )));
        }
    }
    Ok((advertised, of_controllers))
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
