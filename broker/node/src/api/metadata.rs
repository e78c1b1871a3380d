//! Metadata (key 3), versions 0–13.
//!
//! v0 empty list = all topics; v1+ null = all, empty = none. v4 says whether missing topics may be made; v7 leader epochs;
//! v8–10 authorized operations of the cluster; v10 topic ids in answers, v12 in requests; v13 a top-level error.
//! A missing topic that may be made is made behind the answer, which still says 3: clients ask again.
//! Brokers and leaders are shown with their addresses on the listener that the request came in on; fenced brokers are not
//! shown. `controller_id` is a random live broker, because every broker forwards to the controller. A broker that is cut off
//! from the others closes the connection.

use std::collections::BTreeSet;
use std::future::{Ready, ready};

use ballast_core::controller::NewTopic;
use ballast_core::image::{Image, Topic};
use ballast_net::{BoxFuture, random_below};
use ballast_wire::Uuid;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse};

use super::call::{Call, Ctx};
use super::code::{self, Code};
use super::view::{self, OPERATIONS_UNASKED, text, topic_name};
use crate::drive::own_topic;
use crate::net::conn::Answer;
use crate::session::{Operation, Resource};

/// What one row of the request asks for.
enum Wanted {
    Name(String),
    Id(Uuid),
}

/// A null list in the plain form.
const NULL_LIST: [u8; 4] = (-1i32).to_be_bytes();

/// Starts a request. The list of topics may be null from v1 on; before, the schema has no null and the connection closes.
pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    if call.ctx.version == 0 && call.body.starts_with(&NULL_LIST) {
        return Box::pin(ready(Answer::Close("a Metadata v0 request with a null list of topics".to_owned())));
    }
    if call.ctx.node.is_cut_off() {
        // What it would say is old, and a client that was sent away would come back here: clients like to ask whom they know.
        return Box::pin(ready(Answer::Away("this broker is cut off from the others")));
    }
    call.typed(handle)
}

fn handle(ctx: Ctx, request: MetadataRequest) -> Ready<MetadataResponse> {
    ready(answer(&ctx, &request))
}

fn answer(ctx: &Ctx, request: &MetadataRequest) -> MetadataResponse {
    let image = ctx.node.metadata.image();
    let mut response = MetadataResponse::default().with_cluster_authorized_operations(OPERATIONS_UNASKED);
    if let Some(error) = refused_as_a_whole(ctx, request) {
        let rows = request.topics.iter().flatten().map(|topic| {
            let name = topic.name.as_ref().map_or("", |name| name.as_str());
            error_row(ctx, Some(name), view::own_id(topic.topic_id), error)
        });
        response.topics = rows.collect();
        response.error_code = if ctx.version >= 13 { error } else { code::NONE };
        return response.with_controller_id(BrokerId(-1));
    }
    add_brokers(ctx, &image, &mut response);
    if ctx.version <= 10 && request.include_cluster_authorized_operations {
        let may = ctx.may(Operation::Describe, Resource::Cluster);
        response.cluster_authorized_operations = if may { view::cluster_operations(ctx) } else { 0 };
    }
    let with_operations = request.include_topic_authorized_operations;
    response.topics = match wanted(ctx, request) {
        None => all_topics(ctx, &image, with_operations),
        Some(wanted) => {
            let may_create = ctx.version < 4 || request.allow_auto_topic_creation;
            wanted.iter().map(|wanted| row(ctx, &image, wanted, with_operations, may_create)).collect()
        }
    };
    response
}

/// The code of every row where one row spoils the request: an id before version 12, and from then on neither name nor id
/// (an id anywhere makes the rows without one go unseen instead).
fn refused_as_a_whole(ctx: &Ctx, request: &MetadataRequest) -> Option<Code> {
    let topics = request.topics.as_ref()?;
    let has_id = topics.iter().any(|topic| !topic.topic_id.is_nil());
    let lacks_name = topics.iter().any(|topic| topic.name.is_none());
    match ctx.version {
        10..12 => (has_id || lacks_name).then_some(code::INVALID_REQUEST),
        _ => (lacks_name && !has_id).then_some(code::UNKNOWN_SERVER_ERROR),
    }
}

fn add_brokers(ctx: &Ctx, image: &Image, response: &mut MetadataResponse) {
    let listener = &*ctx.session.listener;
    for broker in image.brokers().filter(|broker| !broker.fenced) {
        if let Some(endpoint) = broker.endpoint(listener) {
            let row =
                MetadataResponseBroker::default().with_node_id(BrokerId(broker.id)).with_host(text(&endpoint.host));
            let row = row.with_port(i32::from(endpoint.port)).with_rack(broker.rack.as_deref().map(text));
            response.brokers.push(row);
        }
    }
    let at = random_below(&*ctx.node.entropy, response.brokers.len() as u64) as usize;
    response.controller_id = response.brokers.get(at).map_or(BrokerId(-1), |broker| broker.node_id);
    response.cluster_id = image.cluster_id().map(|id| text(&id.to_string()));
}

/// The rows of the request, each topic once; `None` for all topics.
fn wanted(ctx: &Ctx, request: &MetadataRequest) -> Option<Vec<Wanted>> {
    let topics = request.topics.as_ref()?;
    if ctx.version == 0 && topics.is_empty() {
        return None;
    }
    let ids: BTreeSet<Uuid> =
        topics.iter().map(|topic| view::own_id(topic.topic_id)).filter(|id| !id.is_zero()).collect();
    if !ids.is_empty() {
        return Some(ids.into_iter().map(Wanted::Id).collect());
    }
    let names: BTreeSet<&str> =
        topics.iter().filter_map(|topic| topic.name.as_ref()).map(|name| name.as_str()).collect();
    Some(names.into_iter().map(|name| Wanted::Name(name.to_owned())).collect())
}

fn all_topics(ctx: &Ctx, image: &Image, with_operations: bool) -> Vec<MetadataResponseTopic> {
    let visible = |topic: &&std::sync::Arc<Topic>| ctx.may(Operation::Describe, Resource::Topic(&topic.name));
    image.topics().filter(visible).map(|topic| topic_row(ctx, image, topic, with_operations)).collect()
}

fn row(ctx: &Ctx, image: &Image, wanted: &Wanted, operations: bool, may_create: bool) -> MetadataResponseTopic {
    match wanted {
        Wanted::Id(id) => match image.topic_by_id(*id) {
            Some(topic) if ctx.may(Operation::Describe, Resource::Topic(&topic.name)) => {
                topic_row(ctx, image, topic, operations)
            }
            // That it exists is nobody's business who may not see it.
            Some(_) | None => error_row(ctx, None, *id, code::UNKNOWN_TOPIC_ID),
        },
        Wanted::Name(name) if !ctx.may(Operation::Describe, Resource::Topic(name)) => {
            error_row(ctx, Some(name), Uuid::ZERO, code::TOPIC_AUTHORIZATION_FAILED)
        }
        Wanted::Name(name) => match image.topic(name) {
            Some(topic) => topic_row(ctx, image, topic, operations),
            None => error_row(ctx, Some(name), Uuid::ZERO, missing(ctx, name, may_create)),
        },
    }
}

/// What to say of a topic that is not there. Has it made if that is allowed.
fn missing(ctx: &Ctx, name: &str, may_create: bool) -> Code {
    if !view::is_topic_name(name) {
        return code::INVALID_TOPIC_EXCEPTION;
    }
    if !may_create || !ctx.node.settings.now().topics.auto_create_topics_enable || view::is_internal(name) {
        return code::UNKNOWN_TOPIC_OR_PARTITION;
    }
    let may = ctx.may(Operation::Create, Resource::Cluster) || ctx.may(Operation::Create, Resource::Topic(name));
    if !may {
        return code::TOPIC_AUTHORIZATION_FAILED;
    }
    let node = std::sync::Arc::clone(&ctx.node);
    let wanted = node.settings.now().topics.default_replication_factor;
    let replication_factor = own_topic::replicas(&node.metadata.image(), name, ("default.replication.factor", wanted));
    let topic = NewTopic { name: name.to_owned(), partitions: -1, replication_factor, ..NewTopic::default() };
    tokio::spawn(async move {
        let timeout_ms = i32::try_from(node.settings.now().network.request_timeout_ms).unwrap_or(i32::MAX);
        let name = topic.name.clone();
        if let Err(error) = own_topic::make(node.ways(), topic, timeout_ms).await {
            tracing::warn!(topic = name, error, "a topic was not made although it was asked for");
        }
    });
    code::UNKNOWN_TOPIC_OR_PARTITION
}

fn topic_row(ctx: &Ctx, image: &Image, topic: &Topic, operations: bool) -> MetadataResponseTopic {
    if let Some(error) = ctx.scripted(&topic.name, None) {
        return error_row(ctx, Some(&topic.name), topic.id, error);
    }
    let row = error_row(ctx, Some(&topic.name), topic.id, code::NONE);
    let partitions = topic.partitions().map(|(index, partition)| {
        let view = view::partition_view(image, partition, &ctx.session.listener);
        let hidden_code = ctx.version < 6 && view.error == code::LISTENER_NOT_FOUND;
        let error = if hidden_code { code::LEADER_NOT_AVAILABLE } else { view.error };
        let row = MetadataResponsePartition::default().with_error_code(error).with_partition_index(index);
        row.with_leader_id(BrokerId(view.leader))
            .with_leader_epoch(partition.leader_epoch)
            .with_replica_nodes(ids(&partition.replicas))
            .with_isr_nodes(ids(&partition.isr))
            .with_offline_replicas(ids(&view.offline))
    });
    let row = row.with_partitions(partitions.collect());
    if operations { row.with_topic_authorized_operations(view::topic_operations(ctx, &topic.name)) } else { row }
}

fn error_row(ctx: &Ctx, name: Option<&str>, id: Uuid, error: Code) -> MetadataResponseTopic {
    // Only version 12 and above may leave the name out.
    let name = if ctx.version >= 12 { name } else { Some(name.unwrap_or("")) };
    MetadataResponseTopic::default()
        .with_error_code(error)
        .with_name(name.map(topic_name))
        .with_topic_id(view::id(id))
        .with_is_internal(name.is_some_and(view::is_internal))
        .with_topic_authorized_operations(OPERATIONS_UNASKED)
}

fn ids(brokers: &[i32]) -> Vec<BrokerId> {
    brokers.iter().map(|id| BrokerId(*id)).collect()
}
