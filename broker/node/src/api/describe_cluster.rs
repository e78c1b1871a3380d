//! DescribeCluster (key 60), versions 0–2.
//!
//! v1 asks for brokers (endpoint type 1) or controllers (2). As in Kafka a broker's listener tells brokers only and a
//! controller listener the voters of the quorum only (114). v2 shows fenced brokers to who asks for them. `controller_id` is a
//! random live broker, as in Metadata; among controllers it is the quorum's leader.

use std::future::{Ready, ready};

use ballast_core::image::Image;
use ballast_net::random_below;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{BrokerId, DescribeClusterRequest, DescribeClusterResponse};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code;
use super::view::{self, text};
use crate::quorum::ReplicaView;
use crate::session::{Operation, Resource};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn handle(ctx: Ctx, request: DescribeClusterRequest) -> Ready<DescribeClusterResponse> {
    ready(answer(&ctx, &request))
}

fn answer(ctx: &Ctx, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    let here = if ctx.came_to_the_controller() { CONTROLLERS } else { BROKERS };
    let mut response = DescribeClusterResponse::default()
        .with_cluster_authorized_operations(view::OPERATIONS_UNASKED)
        .with_controller_id(BrokerId(-1))
        .with_endpoint_type(BROKERS);
    let asked = if ctx.version >= 1 { request.endpoint_type } else { BROKERS };
    if asked != here {
        let (error, words) = match asked {
            BROKERS => (
                code::MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
            ),
            CONTROLLERS => (
                code::MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            ),
            _ => (code::UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type"),
        };
        return response.with_error_code(error).with_error_message(Some(text(words)));
    }
    response.endpoint_type = here;
    let image = ctx.node.metadata.image();
    if here == CONTROLLERS {
        return controllers(ctx, response.with_cluster_id(cluster_id(&image)), request);
    }
    for broker in image.brokers().filter(|broker| !broker.fenced || request.include_fenced_brokers) {
        let Some(endpoint) = broker.endpoint(&ctx.session.listener) else { continue };
        let row = DescribeClusterBroker::default().with_broker_id(BrokerId(broker.id)).with_host(text(&endpoint.host));
        let row = row.with_port(i32::from(endpoint.port)).with_rack(broker.rack.as_deref().map(text));
        response.brokers.push(if ctx.version >= 2 { row.with_is_fenced(broker.fenced) } else { row });
    }
    let live: Vec<_> = response.brokers.iter().filter(|broker| !broker.is_fenced).collect();
    let at = random_below(&*ctx.node.entropy, live.len() as u64) as usize;
    response.controller_id = live.get(at).map_or(BrokerId(-1), |broker| broker.broker_id);
    response.cluster_id = cluster_id(&image);
    response.cluster_authorized_operations = operations(ctx, request);
    response
}

/// Who votes, and who leads: Kafka's tools ask for it when they are given a controller to begin with.
fn controllers(
    ctx: &Ctx,
    response: DescribeClusterResponse,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    let view = ctx.node.quorum.describe();
    let voters = view.voters.iter().filter(|voter| !voter.node.host.is_empty());
    let row = |voter: &ReplicaView| {
        let row = DescribeClusterBroker::default().with_broker_id(BrokerId(voter.id.node));
        row.with_host(text(&voter.node.host)).with_port(i32::from(voter.node.port)).with_rack(None)
    };
    response
        .with_brokers(voters.map(row).collect())
        .with_controller_id(BrokerId(view.leader.map_or(-1, |leader| leader.node)))
        .with_cluster_authorized_operations(operations(ctx, request))
}

fn cluster_id(image: &Image) -> StrBytes {
    image.cluster_id().map(|id| text(&id.to_string())).unwrap_or_default()
}

fn operations(ctx: &Ctx, request: &DescribeClusterRequest) -> i32 {
    if !request.include_cluster_authorized_operations {
        return view::OPERATIONS_UNASKED;
    }
    let may = ctx.may(Operation::Describe, Resource::Cluster);
    if may { view::cluster_operations(ctx) } else { 0 }
}
