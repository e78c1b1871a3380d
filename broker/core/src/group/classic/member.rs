//! A member of a classic group.
//!
//! Holds: at most one of its Joins and one of its Syncs waits. What it keeps is its own copy, not a slice of a request.

use std::sync::Arc;

use bytes::Bytes;

use crate::group::records::MemberMetadata;
use crate::group::{InstanceId, JoinRequest, JoinedMember, MemberId, Protocol, RequestId};

/// A member.
#[derive(Clone, Debug)]
pub(in crate::group) struct Member {
    pub(super) id: MemberId,
    pub(super) instance_id: Option<InstanceId>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    pub(super) protocols: Vec<Protocol>,
    pub(super) assignment: Bytes,
    /// Rises with each member that joins: who was first leads.
    pub(super) joined_as: u64,
    /// Has it never come through a rebalance? Then it cannot send heartbeats, and its wait itself has a deadline.
    pub(super) is_new: bool,
    pub(super) awaiting_join: Option<RequestId>,
    pub(super) awaiting_sync: Option<RequestId>,
}

impl Member {
    pub(super) fn new(id: MemberId, request: &JoinRequest, joined_as: u64) -> Member {
        Member {
            id,
            instance_id: request.instance_id.clone(),
            client_id: request.client_id.clone(),
            client_host: request.client_host.clone(),
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocols: own(&request.protocols),
            assignment: Bytes::new(),
            joined_as,
            is_new: true,
            awaiting_join: None,
            awaiting_sync: None,
        }
    }

    /// Out of the log, where only the chosen protocol stands.
    pub(super) fn loaded(from: &MemberMetadata, protocol: &Arc<str>, joined_as: u64) -> Member {
        let rebalance_timeout_ms =
            if from.rebalance_timeout_ms == -1 { from.session_timeout_ms } else { from.rebalance_timeout_ms };
        Member {
            id: from.member_id.clone(),
            instance_id: from.instance_id.clone(),
            client_id: from.client_id.clone(),
            client_host: from.client_host.clone(),
            rebalance_timeout_ms,
            session_timeout_ms: from.session_timeout_ms,
            protocols: vec![Protocol { name: protocol.clone(), metadata: from.subscription.clone() }],
            assignment: from.assignment.clone(),
            joined_as,
            is_new: false,
            awaiting_join: None,
            awaiting_sync: None,
        }
    }

    /// What it says of itself for a protocol; empty if it does not have it.
    pub(super) fn metadata(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|candidate| &*candidate.name == protocol);
        found.map_or_else(Bytes::new, |protocol| protocol.metadata.clone())
    }

    /// Does a request bring what is known already?
    pub(super) fn matches(&self, protocols: &[Protocol]) -> bool {
        let mut distinct = protocols.iter().enumerate().filter(|(at, protocol)| is_first(protocols, *at, protocol));
        self.protocols.iter().all(|own| distinct.next().is_some_and(|(_, asked)| asked == own))
            && distinct.next().is_none()
    }

    /// Takes what a request to join says of it.
    pub(super) fn update(&mut self, request: &JoinRequest) {
        self.protocols = own(&request.protocols);
        self.rebalance_timeout_ms = request.rebalance_timeout_ms;
        self.session_timeout_ms = request.session_timeout_ms;
    }

    pub(super) fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    /// Does it wait for an answer, so that silence means nothing?
    pub(super) fn is_waiting(&self) -> bool {
        self.awaiting_join.is_some() || self.awaiting_sync.is_some()
    }

    pub(super) fn to_joined(&self, protocol: &str) -> JoinedMember {
        JoinedMember {
            member_id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            metadata: self.metadata(protocol),
        }
    }

    pub(super) fn to_record(&self, protocol: &str, assignment: Bytes) -> MemberMetadata {
        MemberMetadata {
            member_id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment,
        }
    }
}

/// Copies, so that a member does not hold on to the frame of its request; the first of each name counts.
fn own(protocols: &[Protocol]) -> Vec<Protocol> {
    let distinct = protocols.iter().enumerate().filter(|(at, protocol)| is_first(protocols, *at, protocol));
    distinct
        .map(|(_, protocol)| Protocol {
            name: Arc::from(&*protocol.name),
            metadata: Bytes::copy_from_slice(&protocol.metadata),
        })
        .collect()
}

fn is_first(protocols: &[Protocol], at: usize, protocol: &Protocol) -> bool {
    !protocols[..at].iter().any(|earlier| earlier.name == protocol.name)
}

/// `<instance or client id>-<uuid>`, with a version 4 uuid as Java prints it.
pub(super) fn member_id(prefix: &str, mut random: [u8; 16]) -> MemberId {
    random[6] = (random[6] & 0x0f) | 0x40;
    random[8] = (random[8] & 0x3f) | 0x80;
    let mut id = String::with_capacity(prefix.len() + 37);
    id.push_str(prefix);
    for (at, byte) in random.iter().enumerate() {
        if matches!(at, 0 | 4 | 6 | 8 | 10) {
            id.push('-');
        }
        id.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits are a hexadecimal digit"));
        id.push(char::from_digit(u32::from(byte & 0x0f), 16).expect("four bits are a hexadecimal digit"));
    }
    id.into()
}
