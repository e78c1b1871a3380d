//! FindCoordinator (key 10), versions 0–6.
//!
//! One key up to v3, many from v4 on; v1 says what kind of key it is. A group's coordinator is the leader of the partition of
//! `__consumer_offsets` that its id hashes to; the first question has that topic made. Nobody leads it: 15, clients ask again.
//! Not done: transactions (53, a final error: a retriable one would leave the client waiting for ever) and share groups (42).

use ballast_wire::BrokerId;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code::{self, Code};
use super::view::{self, text};
use crate::drive::coordinator::{OFFSETS_TOPIC, partition_of};
use crate::session::{Operation, Resource};

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// First version with many keys, whose rows leave the message of a success empty.
const MANY_KEYS_FROM: i16 = 4;
/// What older versions call a success.
const SUCCESS: &str = "NONE";

/// Who it is, and where.
struct Found {
    id: BrokerId,
    host: String,
    port: u16,
}

pub(super) async fn handle(ctx: Ctx, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
    if ctx.version < MANY_KEYS_FROM {
        let row = row(&ctx, request.key_type, request.key).await;
        let message = if row.error_code == code::NONE { Some(text(SUCCESS)) } else { row.error_message };
        let response = FindCoordinatorResponse::default().with_error_code(row.error_code);
        let response = if ctx.version >= 1 { response.with_error_message(message) } else { response };
        return response.with_node_id(row.node_id).with_host(row.host).with_port(row.port);
    }
    let mut rows = Vec::new();
    for key in request.coordinator_keys {
        rows.push(row(&ctx, request.key_type, key).await);
    }
    FindCoordinatorResponse::default().with_coordinators(rows)
}

async fn row(ctx: &Ctx, kind: i8, key: StrBytes) -> Coordinator {
    let found = match kind {
        GROUP => of_group(ctx, &key).await,
        TRANSACTION => Err(of_transaction(ctx, &key)),
        _ => Err((code::INVALID_REQUEST, "This broker coordinates groups only.")),
    };
    let row = Coordinator::default().with_key(key);
    match found {
        Ok(Found { id, host, port }) => {
            let row = row.with_node_id(id.into()).with_host(StrBytes::from_string(host)).with_port(i32::from(port));
            row.with_error_message(Some(text("")))
        }
        Err((error, words)) => {
            row.with_error_code(error).with_error_message(Some(text(words))).with_node_id((-1).into()).with_port(-1)
        }
    }
}

async fn of_group(ctx: &Ctx, group: &str) -> Result<Found, (Code, &'static str)> {
    if !ctx.may(Operation::Describe, Resource::Group(group)) {
        return Err((code::GROUP_AUTHORIZATION_FAILED, "Not authorized to access the group."));
    }
    let unavailable = (code::COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.");
    let node = &ctx.node;
    let settings = node.settings.now();
    if !node.coordinators.offsets_topic.ensure(node.ways(), &settings.groups).await {
        return Err(unavailable);
    }
    let image = node.metadata.image();
    let topic = image.topic(OFFSETS_TOPIC).ok_or(unavailable)?;
    let partition = topic.partition(partition_of(group, topic.partition_count())).ok_or(unavailable)?;
    let leader = view::partition_view(&image, partition, &ctx.session.listener).leader;
    let broker = image.broker(leader).ok_or(unavailable)?;
    let endpoint = broker.endpoint(&ctx.session.listener).ok_or(unavailable)?;
    Ok(Found { id: leader, host: endpoint.host.clone(), port: endpoint.port })
}

fn of_transaction(ctx: &Ctx, id: &str) -> (Code, &'static str) {
    // Whether or not it is allowed, the code is the same.
    let words = if ctx.may(Operation::Describe, Resource::TransactionalId(id)) {
        "This broker does not do transactions."
    } else {
        "Not authorized to use the transactional id."
    };
    (code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, words)
}
