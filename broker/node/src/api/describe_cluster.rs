//! DescribeCluster (key 60), versions 0–2.
//!
//! v1 asks for brokers (endpoint type 1) or controllers (2); a broker's listener tells brokers only (114), as Kafka's does.
//! v2 shows fenced brokers to who asks for them. `controller_id` is a random live broker, as in Metadata.

use std::future::{Ready, ready};

use ballast_net::random_below;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{BrokerId, DescribeClusterRequest, DescribeClusterResponse};

use super::call::Ctx;
use super::code;
use super::view::{self, text};
use crate::session::{Operation, Resource};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn handle(ctx: Ctx, request: DescribeClusterRequest) -> Ready<DescribeClusterResponse> {
    ready(answer(&ctx, &request))
}

fn answer(ctx: &Ctx, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    let mut response = DescribeClusterResponse::default()
        .with_cluster_authorized_operations(view::OPERATIONS_UNASKED)
        .with_controller_id(BrokerId(-1))
        .with_endpoint_type(BROKERS);
    let asked = if ctx.version >= 1 { request.endpoint_type } else { BROKERS };
    if asked != BROKERS {
        let (error, words) = match asked {
            CONTROLLERS => (
                code::MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            ),
            _ => (code::UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type"),
        };
        return response.with_error_code(error).with_error_message(Some(text(words)));
    }
    let image = ctx.node.metadata.image();
    for broker in image.brokers().filter(|broker| !broker.fenced || request.include_fenced_brokers) {
        let Some(endpoint) = broker.endpoint(&ctx.session.listener) else { continue };
        let row = DescribeClusterBroker::default().with_broker_id(BrokerId(broker.id)).with_host(text(&endpoint.host));
        let row = row.with_port(i32::from(endpoint.port)).with_rack(broker.rack.as_deref().map(text));
        response.brokers.push(if ctx.version >= 2 { row.with_is_fenced(broker.fenced) } else { row });
    }
    let live: Vec<_> = response.brokers.iter().filter(|broker| !broker.is_fenced).collect();
    let at = random_below(&*ctx.node.entropy, live.len() as u64) as usize;
    response.controller_id = live.get(at).map_or(BrokerId(-1), |broker| broker.broker_id);
    response.cluster_id = image.cluster_id().map(|id| text(&id.to_string())).unwrap_or_default();
    if request.include_cluster_authorized_operations {
        let may = ctx.may(Operation::Describe, Resource::Cluster);
        response.cluster_authorized_operations = if may { view::cluster_operations(ctx) } else { 0 };
    }
    response
}
