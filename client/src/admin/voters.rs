//! Who votes in the metadata quorum.

use ballast_wire::{BrokerId, Uuid};
use kafka_protocol::messages::add_raft_voter_request::Listener;
use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, RemoveRaftVoterRequest, RemoveRaftVoterResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::{Admin, outcome};
use crate::ClientError;

/// Name of the listener that controllers have, unless they call it otherwise.
const LISTENER: &str = "CONTROLLER";

impl Admin {
    /// Makes the node at `host:port` (its controller listener) a voter, once it has caught up. A `directory` of zero stands
    /// for the one that it has; Apache Kafka wants to know it.
    ///
    /// # Errors
    /// `Refused`: it votes already, is not there, does not catch up in time, or the voters are being changed.
    pub async fn add_voter(&self, id: BrokerId, directory: Uuid, host: &str, port: u16) -> Result<(), ClientError> {
        let what = format!("adding voter {id}");
        let build = |_| {
            let listener = Listener::default().with_name(StrBytes::from_static_str(LISTENER));
            let listener = listener.with_host(StrBytes::from_string(host.to_owned())).with_port(port);
            AddRaftVoterRequest::default()
                .with_cluster_id(None)
                .with_timeout_ms(self.timeout_ms())
                .with_voter_id(id)
                .with_voter_directory_id(uuid::Uuid::from_bytes(directory.0))
                .with_listeners(vec![listener])
        };
        let check = |answer: &AddRaftVoterResponse| outcome(&what, answer.error_code, answer.error_message.as_ref());
        self.ask_active(&what, build, check).await.map(drop)
    }

    /// Removes a voter, which is its id and the metadata directory that votes (`describe_quorum` tells both).
    ///
    /// # Errors
    /// `Refused`: it does not vote, is the last that does, or the voters are being changed.
    pub async fn remove_voter(&self, id: BrokerId, directory: Uuid) -> Result<(), ClientError> {
        let what = format!("removing voter {id}");
        let build = |_| {
            let request = RemoveRaftVoterRequest::default().with_cluster_id(None).with_voter_id(id);
            request.with_voter_directory_id(uuid::Uuid::from_bytes(directory.0))
        };
        let check = |answer: &RemoveRaftVoterResponse| outcome(&what, answer.error_code, answer.error_message.as_ref());
        self.ask_active(&what, build, check).await.map(drop)
    }
}
