//! BrokerRegistration (key 62), versions 2–4, on controller listeners.
//!
//! Lets a broker in, fenced, and gives it its epoch: 104 for another cluster's id, 101 while another life of it is counted
//! alive, 119 for log directories that cannot be, 35 for features it cannot work with, 41 where this node does not lead.
//! Versions 0 and 1 know no log directories, without which no broker of ours registers.

use std::collections::BTreeMap;

use ballast_core::controller::{RegisterBroker, Request, Response};
use ballast_core::endpoint::{Endpoint, SecurityProtocol};
use ballast_core::image::{Broker, EPOCH_IS_INDEX, FeatureRange};
use ballast_wire::Uuid;
use kafka_protocol::messages::{BrokerRegistrationRequest, BrokerRegistrationResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse {
    let refused = |error: Code| BrokerRegistrationResponse::default().with_error_code(error).with_broker_epoch(-1);
    if !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let Some(asked) = registration_of(&request) else { return refused(code::INVALID_REQUEST) };
    let broker = asked.broker.clone();
    match ctx.node.controller.ask_here(Request::RegisterBroker(asked)).await.response {
        Response::RegisterBroker(Ok(epoch)) => BrokerRegistrationResponse::default().with_broker_epoch(epoch),
        Response::RegisterBroker(Err(error)) => {
            ctx.node.controller.stats().refused_brokers.tell(&broker, &error);
            refused(error.code())
        }
        Response::Refused(refusal) => refused(refusal.code()),
        other => unreachable!("BrokerRegistration was answered with {other:?}"),
    }
}

/// `None` for a security protocol that does not exist.
fn registration_of(request: &BrokerRegistrationRequest) -> Option<RegisterBroker> {
    let endpoint = |listener: &kafka_protocol::messages::broker_registration_request::Listener| {
        Some(Endpoint {
            listener: listener.name.to_string(),
            host: listener.host.to_string(),
            port: listener.port,
            protocol: SecurityProtocol::from_id(listener.security_protocol)?,
        })
    };
    let features = request.features.iter().map(|feature| {
        let range = FeatureRange { min: feature.min_supported_version, max: feature.max_supported_version };
        (feature.name.to_string(), range)
    });
    Some(RegisterBroker {
        cluster_id: request.cluster_id.to_string(),
        broker: Broker {
            id: request.broker_id.0,
            epoch: EPOCH_IS_INDEX,
            incarnation: Uuid(*request.incarnation_id.as_bytes()),
            listeners: request.listeners.iter().map(endpoint).collect::<Option<_>>()?,
            rack: request.rack.as_ref().map(ToString::to_string),
            log_dirs: request.log_dirs.iter().map(|dir| Uuid(*dir.as_bytes())).collect(),
            features: features.collect::<BTreeMap<_, _>>(),
            fenced: true,
            in_controlled_shutdown: false,
        },
        previous_epoch: request.previous_broker_epoch,
        in_process: false,
    })
}
