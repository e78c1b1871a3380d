//! Where a group's coordinator is: the broker that leads the partition of `__consumer_offsets` to which the group belongs.
//!
//! Holds: a coordinator is believed until a call to it fails, so that one that has moved is found by the next attempt.

use ballast_wire::BrokerId;
use kafka_protocol::messages::{FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use super::Cluster;
use crate::{ClientError, ErrorCode};

/// From this version on one request asks for many keys.
const MANY_KEYS_FIRST: i16 = 4;

/// Where a coordinator is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coordinator {
    /// The broker.
    pub id: BrokerId,
    /// Where it listens for us.
    pub host: String,
    /// On which port.
    pub port: u16,
}

impl Cluster {
    /// Asks once for the coordinator of `group`.
    ///
    /// # Errors
    /// `Refused`, among others with `COORDINATOR_NOT_AVAILABLE` while the cluster makes its offsets topic.
    pub async fn find_coordinator(&self, group: &str) -> Result<Coordinator, ClientError> {
        let key = || StrBytes::from_string(group.to_owned());
        let build = |version| {
            let request = FindCoordinatorRequest::default();
            if version >= MANY_KEYS_FIRST {
                request.with_coordinator_keys(vec![key()])
            } else {
                request.with_key(key())
            }
        };
        let connection = self.any_connection().await?;
        let (version, answer) = connection.call_versioned(build, self.config().request_timeout).await?;
        let what = format!("finding the coordinator of group {group}");
        let (code, message, id, host, port) = row(version, answer).ok_or_else(|| ClientError::BadAnswer {
            address: connection.address().to_owned(),
            what: what.clone(),
            reason: "it has no row for the group".to_owned(),
        })?;
        ErrorCode(code).ok().map_err(|code| ClientError::Refused { what: what.clone(), code, message })?;
        let port = u16::try_from(port).map_err(|_| ClientError::BadAnswer {
            address: connection.address().to_owned(),
            what,
            reason: format!("{port} is no port"),
        })?;
        let found = Coordinator { id, host, port };
        self.inner.coordinators.lock().insert(group.to_owned(), found.clone());
        Ok(found)
    }

    /// Who coordinates `group`, as last found.
    pub(super) async fn coordinator(&self, group: &str) -> Result<BrokerId, ClientError> {
        let known = self.inner.coordinators.lock().get(group).map(|known| known.id);
        match known {
            Some(id) => Ok(id),
            None => Ok(self.find_coordinator(group).await?.id),
        }
    }

    pub(super) fn forget_coordinator(&self, group: &str) {
        self.inner.coordinators.lock().remove(group);
    }
}

type Row = (i16, Option<String>, BrokerId, String, i32);

fn row(version: i16, answer: FindCoordinatorResponse) -> Option<Row> {
    let text = |message: Option<StrBytes>| message.map(|m| m.to_string()).filter(|m| !m.is_empty() && m != "NONE");
    if version < MANY_KEYS_FIRST {
        let FindCoordinatorResponse { error_code, error_message, node_id, host, port, .. } = answer;
        return Some((error_code, text(error_message), *node_id, host.to_string(), port));
    }
    let row = answer.coordinators.into_iter().next()?;
    Some((row.error_code, text(row.error_message), *row.node_id, row.host.to_string(), row.port))
}
