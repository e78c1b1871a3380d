//! Parts of messages that Produce and Fetch have in common: how a topic is named, and KIP-951's leader hints.

use std::borrow::Cow;

use crate::frame::{Reader, WireError, Writer};
use crate::{BrokerId, LeaderEpoch, Uuid};

/// First version of both APIs that names topics by id.
pub(crate) const BY_ID_FROM: i16 = 13;

/// KIP-951: who leads a partition now, told to a client that asked somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentLeader {
    /// The leader, -1 if there is none.
    pub leader_id: BrokerId,
    /// Its epoch. Clients believe the hint only if it is above the one that they know.
    pub leader_epoch: LeaderEpoch,
}

/// KIP-951: where a hinted leader listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEndpoint<'a> {
    /// `node.id` of the leader.
    pub node_id: BrokerId,
    /// Its advertised host, of the listener on which the request came in.
    pub host: Cow<'a, str>,
    /// Its advertised port.
    pub port: i32,
    /// Its rack.
    pub rack: Option<Cow<'a, str>>,
}

/// Smallest endpoint: id, empty host, port, null rack, no tags.
const ENDPOINT_BYTES_MIN: usize = 4 + 1 + 4 + 1 + 1;

impl CurrentLeader {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CurrentLeader, WireError> {
        let leader = CurrentLeader { leader_id: reader.i32()?, leader_epoch: reader.i32()? };
        reader.skip_tags()?;
        Ok(leader)
    }

    pub(crate) fn write(self, writer: &mut Writer) {
        writer.i32(self.leader_id);
        writer.i32(self.leader_epoch);
        writer.no_tags();
    }
}

/// Reads the array of endpoints in a tag.
pub(crate) fn read_endpoints<'a>(reader: &mut Reader<'a>) -> Result<Vec<NodeEndpoint<'a>>, WireError> {
    reader.array(ENDPOINT_BYTES_MIN, |reader| {
        let endpoint = NodeEndpoint {
            node_id: reader.i32()?,
            host: reader.string()?,
            port: reader.i32()?,
            rack: reader.nullable_string()?,
        };
        reader.skip_tags()?;
        Ok(endpoint)
    })
}

/// Writes the array of endpoints in a tag.
pub(crate) fn write_endpoints(writer: &mut Writer, endpoints: &[NodeEndpoint<'_>]) {
    writer.array(endpoints, |writer, endpoint| {
        writer.i32(endpoint.node_id);
        writer.string(&endpoint.host);
        writer.i32(endpoint.port);
        writer.nullable_string(endpoint.rack.as_deref());
        writer.no_tags();
    });
}

/// Reads how a message of `version` names a topic: `(name, zero id)` or `("", id)`.
pub(crate) fn read_topic<'a>(reader: &mut Reader<'a>, version: i16) -> Result<(Cow<'a, str>, Uuid), WireError> {
    if version >= BY_ID_FROM { Ok((Cow::Borrowed(""), reader.uuid()?)) } else { Ok((reader.string()?, Uuid::ZERO)) }
}

/// Writes a topic as a message of `version` names it.
pub(crate) fn write_topic(writer: &mut Writer, version: i16, name: &str, id: Uuid) {
    if version >= BY_ID_FROM { writer.uuid(id) } else { writer.string(name) }
}

/// Refuses a version outside `min..=max`.
pub(crate) fn check_version(version: i16, min: i16, max: i16) -> Result<(), WireError> {
    if (min..=max).contains(&version) { Ok(()) } else { Err(WireError::Version { version, min, max }) }
}
