//! How this node reaches the other voters.
//!
//! A quorum of one has nobody to reach. Whoever is asked for is told to be unreachable, and openraft asks again later.

use openraft::error::{InstallSnapshotError, RPCError, RaftError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use openraft::{RaftNetwork, RaftNetworkFactory};

use super::types::{NodeId, QuorumNode, TypeConfig};

/// An answer, or why there is none.
type Answer<T, E = RaftError<NodeId>> = Result<T, RPCError<NodeId, QuorumNode, E>>;

/// Makes a [`Peer`] for each other voter.
#[derive(Debug, Default)]
pub(crate) struct Peers;

/// One other voter.
#[derive(Debug)]
pub(crate) struct Peer {
    node: NodeId,
}

#[derive(Debug, thiserror::Error)]
#[error("voter {0} cannot be reached: there is no controller listener")]
struct NoWay(NodeId);

impl Peer {
    fn unreachable(&self) -> Unreachable {
        Unreachable::new(&NoWay(self.node))
    }
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: NodeId, _node: &QuorumNode) -> Peer {
        Peer { node: target }
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<AppendEntriesResponse<NodeId>> {
        Err(self.unreachable().into())
    }

    async fn install_snapshot(
        &mut self,
        _request: InstallSnapshotRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<NodeId>, RaftError<NodeId, InstallSnapshotError>> {
        Err(self.unreachable().into())
    }

    async fn vote(&mut self, _request: VoteRequest<NodeId>, _option: RPCOption) -> Answer<VoteResponse<NodeId>> {
        Err(self.unreachable().into())
    }
}
