//! What a node does: `process.roles`, and the settings that contradict it.
//!
//! ```text
//! broker,controller   clients are served and the node may vote               the default
//! controller          votes and decides; no clients, no records              every listener is the quorum's
//! broker              serves clients; listens to the quorum without a vote   a controller listener of its own is made up
//! ```
//! Holds: refusals are those of Kafka, with two exceptions. Without `process.roles` a node is both, and nothing has to
//! be named. A node that is a broker alone may have a controller listener, because the quorum's leader sends it the
//! metadata; one that names none gets one, on any free port of its first listener's host.
//!
//! Read next: broker.rs (the rest of what a node is).

use ballast_wire::BrokerId;

use super::SettingError;
use super::endpoints::{Voter, is_every_interface};
use super::layers::Layers;
use crate::endpoint::{Endpoint, SecurityProtocol};

/// Name of the controller listener where nothing names one.
const CONTROLLER: &str = "CONTROLLER";

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Serves clients, and has their records.
    pub broker: bool,
    /// May vote in the metadata quorum, and decide as its leader.
    pub controller: bool,
}

/// What the roles are held against.
pub(super) struct Stated<'a> {
    pub(super) node_id: Option<BrokerId>,
    pub(super) voters: &'a [Voter],
    pub(super) bootstrap: &'a [(String, u16)],
    /// `controller.listener.names`.
    pub(super) names: &'a [String],
    /// Listeners for clients, and those of the quorum.
    pub(super) clients: &'a [Endpoint],
    pub(super) controllers: &'a [Endpoint],
}

impl Roles {
    /// Without `process.roles`.
    pub const BOTH: Roles = Roles { broker: true, controller: true };

    /// As `process.roles` says, if it does.
    pub(super) fn resolve(layers: &Layers<'_>) -> Result<Option<Roles>, SettingError> {
        let names = layers.list("process.roles");
        let has = |role: &str| names.iter().filter(|name| *name == role).count();
        let (brokers, controllers) = (has("broker"), has("controller"));
        if brokers > 1 || controllers > 1 {
            return Err(conflict(format!("Duplicate role names found in `process.roles`: {}", names.join(","))));
        }
        Ok((!names.is_empty()).then_some(Roles { broker: brokers > 0, controller: controllers > 0 }))
    }

    /// Are the other settings such that the node can have these roles?
    pub(super) fn check(self, stated: &Stated<'_>) -> Result<(), SettingError> {
        if stated.voters.is_empty() && stated.bootstrap.is_empty() {
            return Err(conflict(
                "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap \
                 controllers or controller.quorum.voters must contain a parseable set of controllers.",
            ));
        }
        if self.controller { self.check_controller(stated) } else { check_voteless(stated) }
    }

    fn check_controller(self, stated: &Stated<'_>) -> Result<(), SettingError> {
        let Stated { voters, names, clients, controllers, .. } = stated;
        let is_voter = |id: BrokerId| voters.is_empty() || voters.iter().any(|voter| voter.id == id);
        if let Some(id) = stated.node_id.filter(|id| !is_voter(*id)) {
            return Err(conflict(format!(
                "If process.roles contains the 'controller' role, the node id {id} must be included in the set of voters \
                 controller.quorum.voters={}",
                ids(voters)
            )));
        }
        if controllers.is_empty() {
            return Err(conflict(
                "controller.listener.names must contain at least one value appearing in the 'listeners' configuration \
                 when running the KRaft controller role",
            ));
        }
        if !names.iter().all(|name| controllers.iter().any(|listener| listener.listener == *name)) {
            return Err(conflict(
                "controller.listener.names must only contain values appearing in the 'listeners' configuration when \
                 running the KRaft controller role",
            ));
        }
        if !self.broker && !clients.is_empty() {
            return Err(conflict(
                "The listeners config must only contain KRaft controller listeners from controller.listener.names when \
                 process.roles=controller",
            ));
        }
        Ok(())
    }
}

fn check_voteless(stated: &Stated<'_>) -> Result<(), SettingError> {
    let votes = |id: &BrokerId| stated.voters.iter().any(|voter| voter.id == *id);
    match stated.node_id.filter(votes) {
        Some(id) => Err(conflict(format!(
            "If process.roles contains just the 'broker' role, the node id {id} must not be included in the set of \
             voters controller.quorum.voters={}",
            ids(stated.voters)
        ))),
        None => Ok(()),
    }
}

/// The controller listener of a broker that names none: where it listens, and as what the others reach it.
pub(super) fn made_up(
    name: Option<&String>,
    protocol_of: impl Fn(&str) -> Option<SecurityProtocol>,
    listeners: &[Endpoint],
    advertised: &[Endpoint],
) -> Option<(Endpoint, Endpoint)> {
    let listener = name.map_or(CONTROLLER, String::as_str).to_owned();
    let protocol = protocol_of(&listener).unwrap_or(SecurityProtocol::Plaintext);
    let at = |host: &str| Endpoint { listener: listener.clone(), host: host.to_owned(), port: 0, protocol };
    let (first, told) = (listeners.first()?, advertised.first());
    let told = told.filter(|told| !told.host.is_empty() && !is_every_interface(&told.host)).unwrap_or(first);
    Some((at(&first.host), at(&told.host)))
}

fn ids(voters: &[Voter]) -> String {
    let ids: Vec<String> = voters.iter().map(|voter| voter.id.to_string()).collect();
    format!("Set({})", ids.join(", "))
}

fn conflict(why: impl Into<String>) -> SettingError {
    SettingError::Conflict(why.into())
}
