//! ApiVersions: the first request on every connection, and what both sides learn from it.
//!
//! KIP-511: the request carries the client's name and version. KIP-35: a broker that is older than the request's version
//! answers code 35 in the shape of version 0 and names the versions it knows; we ask again in the newest of these.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Message, StrBytes};

use crate::connection::{Link, encode};
use crate::{ClientError, ErrorCode};

/// Named to brokers as `client_software_name`.
const SOFTWARE_NAME: &str = "ballast";

/// What a broker offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiVersions {
    /// First and last version of each API key.
    pub ranges: BTreeMap<i16, (i16, i16)>,
    /// Features that the broker supports: first and last level.
    pub supported_features: BTreeMap<String, (i16, i16)>,
    /// Levels that the cluster has agreed on.
    pub finalized_features: BTreeMap<String, i16>,
}

impl ApiVersions {
    /// First and last version of `key`, if the broker has it.
    #[must_use]
    pub fn range(&self, key: i16) -> Option<(i16, i16)> {
        self.ranges.get(&key).copied()
    }

    /// The newest version of `key` within both `ours` and the broker's range.
    #[must_use]
    pub fn common(&self, key: i16, ours: (i16, i16)) -> Option<i16> {
        let (min, max) = self.range(key)?;
        let newest = max.min(ours.1);
        (newest >= min.max(ours.0)).then_some(newest)
    }

    fn of(answer: &ApiVersionsResponse) -> ApiVersions {
        ApiVersions {
            ranges: answer.api_keys.iter().map(|k| (k.api_key, (k.min_version, k.max_version))).collect(),
            supported_features: answer
                .supported_features
                .iter()
                .map(|f| (f.name.to_string(), (f.min_version, f.max_version)))
                .collect(),
            finalized_features: answer
                .finalized_features
                .iter()
                .map(|f| (f.name.to_string(), f.max_version_level))
                .collect(),
        }
    }
}

/// Asks for the versions, at most twice.
pub(crate) async fn negotiate(link: &Arc<Link>, limit: Duration) -> Result<ApiVersions, ClientError> {
    let ours = ApiVersionsRequest::VERSIONS.max;
    let (code, body) = ask(link, ours, limit).await?;
    if code == ErrorCode::NONE {
        return Ok(ApiVersions::of(&link.decode(ApiKey::API_VERSIONS, ours, body)?));
    }
    if code != ErrorCode::UNSUPPORTED_VERSION {
        return Err(ClientError::refused("asking for the broker's versions", code));
    }
    // The shape is version 0's. A broker that does not even say its range is older than KIP-511: it knows version 0.
    let refusal: ApiVersionsResponse = link.decode(ApiKey::API_VERSIONS, 0, body)?;
    let theirs = ApiVersions::of(&refusal).range(ApiKey::API_VERSIONS.0).unwrap_or((0, 0));
    let version = theirs.1.min(ours - 1);
    if version < theirs.0.max(0) {
        return Err(link.unsupported(&format!("ApiVersions up to {ours} (it has {} to {})", theirs.0, theirs.1)));
    }
    let (code, body) = ask(link, version, limit).await?;
    code.ok().map_err(|code| ClientError::refused("asking for the broker's versions", code))?;
    Ok(ApiVersions::of(&link.decode(ApiKey::API_VERSIONS, version, body)?))
}

/// One question. The code comes first in every version of the answer, so it is read before the shape is known.
async fn ask(link: &Arc<Link>, version: i16, limit: Duration) -> Result<(ErrorCode, Bytes), ClientError> {
    let mut request = ApiVersionsRequest::default();
    if version >= 3 {
        request.client_software_name = StrBytes::from_static_str(SOFTWARE_NAME);
        request.client_software_version = StrBytes::from_static_str(env!("CARGO_PKG_VERSION"));
    }
    let body = link.call_raw(ApiKey::API_VERSIONS, version, encode(&request, version)?, limit).await?;
    match body.first_chunk::<2>() {
        Some(code) => Ok((ErrorCode(i16::from_be_bytes(*code)), body)),
        None => Err(link.bad_answer(ApiKey::API_VERSIONS, "it is empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_wins_and_none_is_none() {
        let versions = ApiVersions { ranges: [(0, (0, 13)), (1, (15, 18))].into(), ..ApiVersions::default() };
        assert_eq!(versions.common(0, (3, 11)), Some(11));
        assert_eq!(versions.common(0, (3, 20)), Some(13));
        assert_eq!(versions.common(1, (4, 12)), None, "the broker starts above what we know");
        assert_eq!(versions.common(2, (0, 1)), None);
    }
}
