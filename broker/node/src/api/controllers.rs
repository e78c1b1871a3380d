//! What a controller listener serves: the quorum's own calls, and the APIs that Kafka's controllers have.
//!
//! ```text
//! private key (quorum::rpc) ─► Quorum::answer         from the first moment: elections must not wait for the rest
//! Kafka's key               ─► TABLE, as for clients  once the node is put together; before, the connection is closed
//! ```
//! Holds: the quorum's calls are answered only to whom may act for the cluster, and overlap: an append that waits for its
//! sync holds up nothing that is started after it.
//!
//! Read next: `quorum::serve`, then the handlers named in the table.

use std::future::ready;
use std::sync::{Arc, OnceLock};

use ballast_wire::frame::{ApiKey, RequestHeader, Writer, encode_response_header};

use super::{
    Api, Requests, add_raft_voter, allocate_producer_ids, alter_configs, alter_partition, api, api_versions,
    assign_replicas_to_dirs, broker_heartbeat, broker_registration, create_partitions, create_topics, delete_topics,
    describe_cluster, describe_quorum, elect_leaders, envelope, incremental_alter_configs, remove_raft_voter,
    unregister_broker, update_features,
};
use crate::net::conn::{Answer, Service, Started};
use crate::net::frame::Frame;
use crate::node::Node;
use crate::quorum::{Quorum, RPC_VERSION};
use crate::session::{Authorizer, Operation, Resource, Session};

/// Every API of Kafka's on a controller listener, by key.
pub(crate) const TABLE: &[Api] = &[
    api(ApiKey::API_VERSIONS, 0, 4, |call| call.typed(api_versions::handle)),
    waiting(api(ApiKey::CREATE_TOPICS, 2, 7, |call| call.typed(create_topics::handle))),
    waiting(api(ApiKey::DELETE_TOPICS, 1, 6, |call| call.typed(delete_topics::handle))),
    waiting(api(ApiKey::ALTER_CONFIGS, 0, 2, |call| call.typed(alter_configs::handle))),
    waiting(api(ApiKey::CREATE_PARTITIONS, 0, 3, |call| call.typed(create_partitions::handle))),
    waiting(api(ApiKey::ELECT_LEADERS, 0, 2, |call| call.typed(elect_leaders::handle))),
    waiting(api(ApiKey::INCREMENTAL_ALTER_CONFIGS, 0, 1, |call| call.typed(incremental_alter_configs::handle))),
    api(ApiKey::DESCRIBE_QUORUM, 0, 2, |call| call.typed(describe_quorum::handle)),
    waiting(api(ApiKey::ALTER_PARTITION, 3, 3, |call| call.typed(alter_partition::handle))),
    waiting(api(ApiKey::UPDATE_FEATURES, 0, 2, |call| call.typed(update_features::handle))),
    waiting(api(ApiKey::ENVELOPE, 0, 0, envelope::start)),
    api(ApiKey::DESCRIBE_CLUSTER, 1, 2, |call| call.typed(describe_cluster::handle)),
    waiting(api(ApiKey::BROKER_REGISTRATION, 2, 4, |call| call.typed(broker_registration::handle))),
    waiting(api(ApiKey::BROKER_HEARTBEAT, 0, 1, |call| call.typed(broker_heartbeat::handle))),
    waiting(api(ApiKey::UNREGISTER_BROKER, 0, 0, |call| call.typed(unregister_broker::handle))),
    waiting(api(ApiKey::ALLOCATE_PRODUCER_IDS, 0, 0, |call| call.typed(allocate_producer_ids::handle))),
    waiting(api(ApiKey::ASSIGN_REPLICAS_TO_DIRS, 0, 0, |call| call.typed(assign_replicas_to_dirs::handle))),
    api(ApiKey::ADD_RAFT_VOTER, 0, 0, |call| call.typed(add_raft_voter::handle)),
    api(ApiKey::REMOVE_RAFT_VOTER, 0, 0, |call| call.typed(remove_raft_voter::handle)),
];

/// Other nodes send all that they ask over one connection: what waits for a commit holds up nothing behind it.
const fn waiting(api: Api) -> Api {
    Api { overlaps: true, ..api }
}

/// The requests of one connection to a controller listener.
pub(crate) struct ControllerRequests {
    pub(crate) quorum: Arc<Quorum>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// The node, once it is put together.
    pub(crate) node: Arc<OnceLock<Arc<Node>>>,
    pub(crate) session: Session,
}

impl Service for ControllerRequests {
    fn start(&self, frame: Frame) -> Result<Started, String> {
        let (header, body) =
            RequestHeader::parse(&frame.bytes).map_err(|error| format!("a request header: {error}"))?;
        let (key, version, correlation_id) = (header.key, header.version, header.correlation_id);
        if !ApiKey::PRIVATE.contains(&key.0) {
            let Some(node) = self.node.get() else {
                let answer = Box::pin(ready(Answer::Away("the node is starting")));
                return Ok(Started { answer, overlaps: false });
            };
            let requests = Requests { node: Arc::clone(node), table: TABLE, session: self.session.clone() };
            return requests.start(frame);
        }
        if version != RPC_VERSION {
            return Err(format!("{key} v{version} is not known: a newer Ballast asks"));
        }
        if !self.authorizer.authorize(&self.session, Operation::ClusterAction, Resource::Cluster) {
            return Err(format!("{} may not act for the cluster", self.session.principal));
        }
        let body = frame.bytes.slice(body.position()..);
        let (quorum, charge) = (Arc::clone(&self.quorum), frame.charge);
        let answer = async move {
            let answered = quorum.answer(key, &body).await;
            drop(charge);
            match answered {
                Ok(answer) => {
                    let mut frame = Writer::frame();
                    encode_response_header(&mut frame, key, version, correlation_id);
                    frame.raw(&answer);
                    Answer::Send([frame.finish_frame(0).into()].into())
                }
                Err(error) => Answer::Close(format!("{key} does not decode: {error}")),
            }
        };
        Ok(Started { answer: Box::pin(answer), overlaps: true })
    }

    fn gathers(&self, _: &[u8]) -> bool {
        false
    }
}
