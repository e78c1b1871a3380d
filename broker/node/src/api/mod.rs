//! The APIs that this broker serves: a table from key to versions to handler.
//!
//! One file per key; its header states versions, contract, and what is not done. What is not in the table is not
//! advertised, and a request for it closes the connection, as Apache Kafka does.
//!
//! Read next: `call` (how a request reaches a handler), `code` (causes to Kafka's codes), then any handler; `controllers`
//! (what a controller listener serves).

pub(crate) mod call;
pub(crate) mod code;
pub(crate) mod intercept;

mod add_raft_voter;
mod allocate_producer_ids;
mod alter_configs;
mod alter_partition;
mod alter_replica_log_dirs;
mod api_versions;
mod assign_replicas_to_dirs;
mod broker_heartbeat;
mod broker_registration;
mod config_changes;
mod controller;
pub(crate) mod controllers;
mod create_partitions;
mod create_topics;
mod delete_groups;
mod delete_records;
mod delete_topics;
mod describe_acls;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_topic_partitions;
mod describe_user_scram_credentials;
mod elect_leaders;
mod envelope;
pub(crate) mod fetch;
mod find_coordinator;
mod forward;
mod group;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_partition_reassignments;
mod metadata;
pub(crate) mod offset_commit;
mod offset_delete;
pub(crate) mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod raft_voters;
mod remove_raft_voter;
mod sync_group;
mod unregister_broker;
mod update_features;
pub(crate) mod view;

use std::sync::Arc;

use ballast_wire::frame::{ApiKey, RequestHeader};

use self::call::{Call, Ctx};
use self::intercept::Start;
use crate::net::conn::{Service, Started};
use crate::net::frame::Frame;
use crate::node::Node;
use crate::session::Session;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The node that is asked.
    Node,
    /// The active controller, wherever it is.
    Controller,
    /// The node that is asked, and its handler sends part of it on to the active controller.
    Both,
}

/// One API.
pub(crate) struct Api {
    pub(crate) key: ApiKey,
    /// Oldest version that is served.
    pub(crate) min: i16,
    /// Newest version that is served.
    pub(crate) max: i16,
    /// Oldest version that is advertised. Below `min` for Produce alone (KAFKA-18659: librdkafka looks for version 0).
    pub(crate) advertised_min: i16,
    by: By,
    /// May the connection's next request start while this one waits?
    overlaps: bool,
    start: Start,
}

impl Api {
    /// The newest version that `node` serves; `None` if a test has taken this API away.
    pub(crate) fn newest(&self, node: &Node) -> Option<i16> {
        let limit = node.interceptor.as_ref().and_then(|interceptor| interceptor.max_version(self.key));
        let newest = limit.map_or(self.max, |limit| limit.min(self.max));
        (newest >= self.min).then_some(newest)
    }
}

const fn api(key: ApiKey, min: i16, max: i16, start: Start) -> Api {
    Api { key, min, max, advertised_min: min, by: By::Node, overlaps: false, start }
}

const fn by_controller(key: ApiKey, min: i16, max: i16, start: Start) -> Api {
    Api { by: By::Controller, ..api(key, min, max, start) }
}

/// Every API of a listener for clients, by key. That of a controller listener is in `controllers`.
pub(crate) const TABLE: &[Api] = &[
    Api { advertised_min: 0, overlaps: true, ..api(ApiKey::PRODUCE, 3, 13, produce::start) },
    Api { overlaps: true, ..api(ApiKey::FETCH, 4, 18, fetch::start) },
    api(ApiKey::LIST_OFFSETS, 1, 10, |call| call.typed(list_offsets::handle)),
    api(ApiKey::METADATA, 0, 13, metadata::start),
    api(ApiKey::OFFSET_COMMIT, 2, 10, offset_commit::start),
    api(ApiKey::OFFSET_FETCH, 1, 10, offset_fetch::start),
    api(ApiKey::FIND_COORDINATOR, 0, 6, |call| call.typed(find_coordinator::handle)),
    api(ApiKey::JOIN_GROUP, 0, 9, |call| call.typed(join_group::handle)),
    api(ApiKey::HEARTBEAT, 0, 4, |call| call.typed(heartbeat::handle)),
    api(ApiKey::LEAVE_GROUP, 0, 5, |call| call.typed(leave_group::handle)),
    api(ApiKey::SYNC_GROUP, 0, 5, |call| call.typed(sync_group::handle)),
    api(ApiKey::DESCRIBE_GROUPS, 0, 6, |call| call.typed(describe_groups::handle)),
    api(ApiKey::LIST_GROUPS, 0, 5, |call| call.typed(list_groups::handle)),
    api(ApiKey::API_VERSIONS, 0, 4, |call| call.typed(api_versions::handle)),
    by_controller(ApiKey::CREATE_TOPICS, 2, 7, |call| call.typed(create_topics::handle)),
    by_controller(ApiKey::DELETE_TOPICS, 1, 6, |call| call.typed(delete_topics::handle)),
    api(ApiKey::DELETE_RECORDS, 0, 2, |call| call.typed(delete_records::handle)),
    api(ApiKey::INIT_PRODUCER_ID, 0, 5, |call| call.typed(init_producer_id::handle)),
    api(ApiKey::OFFSET_FOR_LEADER_EPOCH, 2, 4, |call| call.typed(offset_for_leader_epoch::handle)),
    api(ApiKey::DESCRIBE_ACLS, 1, 3, |call| call.typed(describe_acls::handle)),
    api(ApiKey::DESCRIBE_CONFIGS, 1, 4, |call| call.typed(describe_configs::handle)),
    Api { by: By::Both, ..api(ApiKey::ALTER_CONFIGS, 0, 2, |call| call.typed(alter_configs::handle)) },
    api(ApiKey::ALTER_REPLICA_LOG_DIRS, 1, 2, |call| call.typed(alter_replica_log_dirs::handle)),
    api(ApiKey::DESCRIBE_LOG_DIRS, 1, 4, |call| call.typed(describe_log_dirs::handle)),
    by_controller(ApiKey::CREATE_PARTITIONS, 0, 3, |call| call.typed(create_partitions::handle)),
    api(ApiKey::DELETE_GROUPS, 0, 2, |call| call.typed(delete_groups::handle)),
    by_controller(ApiKey::ELECT_LEADERS, 0, 2, |call| call.typed(elect_leaders::handle)),
    Api {
        by: By::Both,
        ..api(ApiKey::INCREMENTAL_ALTER_CONFIGS, 0, 1, |call| call.typed(incremental_alter_configs::handle))
    },
    by_controller(ApiKey::LIST_PARTITION_REASSIGNMENTS, 0, 0, |call| call.typed(list_partition_reassignments::handle)),
    api(ApiKey::OFFSET_DELETE, 0, 0, |call| call.typed(offset_delete::handle)),
    api(ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, |call| call.typed(describe_user_scram_credentials::handle)),
    api(ApiKey::DESCRIBE_QUORUM, 0, 2, |call| call.typed(describe_quorum::handle)),
    by_controller(ApiKey::UPDATE_FEATURES, 0, 2, |call| call.typed(update_features::handle)),
    api(ApiKey::DESCRIBE_CLUSTER, 0, 2, |call| call.typed(describe_cluster::handle)),
    api(ApiKey::DESCRIBE_PRODUCERS, 0, 0, |call| call.typed(describe_producers::handle)),
    by_controller(ApiKey::UNREGISTER_BROKER, 0, 0, |call| call.typed(unregister_broker::handle)),
    api(ApiKey::LIST_CONFIG_RESOURCES, 0, 1, |call| call.typed(list_config_resources::handle)),
    api(ApiKey::DESCRIBE_TOPIC_PARTITIONS, 0, 0, |call| call.typed(describe_topic_partitions::handle)),
    api(ApiKey::ADD_RAFT_VOTER, 0, 0, |call| call.typed(add_raft_voter::handle)),
    api(ApiKey::REMOVE_RAFT_VOTER, 0, 0, |call| call.typed(remove_raft_voter::handle)),
];

/// The requests of one connection.
pub(crate) struct Requests {
    pub(crate) node: Arc<Node>,
    /// What is served on its listener.
    pub(crate) table: &'static [Api],
    /// Who the connection is; `client_id` is that of each request.
    pub(crate) session: Session,
}

impl Service for Requests {
    fn start(&self, frame: Frame) -> Result<Started, String> {
        let Frame { bytes, charge } = frame;
        let (header, body) = RequestHeader::parse(&bytes).map_err(|error| format!("a request header: {error}"))?;
        let RequestHeader { key, version, correlation_id, ref client_id } = header;
        let served = self.table.iter().find(|api| api.key == key).and_then(|api| Some((api, api.newest(&self.node)?)));
        let Some((api, newest)) = served else {
            return Err(format!("{key} is not served here"));
        };
        if version < api.min || version > newest {
            if key == ApiKey::API_VERSIONS {
                let answer =
                    Box::pin(std::future::ready(api_versions::unsupported(&self.node, self.table, correlation_id)));
                return Ok(Started { answer, overlaps: false });
            }
            return Err(format!("{key} v{version} is not served, v{} to v{newest} are", api.min));
        }
        let session = match client_id.as_deref() {
            None | Some("") => self.session.clone(),
            Some(id) => Session { client_id: id.into(), ..self.session.clone() },
        };
        self.node.metrics.request(key);
        let body = bytes.slice(body.position()..);
        let ctx = Ctx { node: Arc::clone(&self.node), table: self.table, key, session, version, once: None };
        let call = Call { ctx, correlation_id, body, charge };
        let start = if api.by == By::Controller { forward::start } else { api.start };
        let answer = match &self.node.interceptor {
            None => start(call),
            Some(interceptor) => interceptor.serve(call, start),
        };
        Ok(Started { answer, overlaps: api.overlaps })
    }

    fn gathers(&self, frame: &[u8]) -> bool {
        frame.first_chunk().is_some_and(|key| i16::from_be_bytes(*key) == ApiKey::PRODUCE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order_and_have_no_hole() {
        for table in [TABLE, controllers::TABLE] {
            for pair in table.windows(2) {
                assert!(pair[0].key < pair[1].key, "{} before {}", pair[0].key, pair[1].key);
            }
            for api in table {
                assert!(api.advertised_min <= api.min && api.min <= api.max, "{}", api.key);
            }
        }
    }
}
