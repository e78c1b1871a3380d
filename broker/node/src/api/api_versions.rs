//! ApiVersions (key 18), versions 0–4.
//!
//! An unknown version is answered in the form of version 0 with code 35 and this key alone, so that the client can ask
//! again on the same connection (KIP-511). Responses have header version 0 in every version.
//! v3 adds the client's name and features; v4 lets features start at 0 (KAFKA-17492).
//! Not done: v5 (cluster and node id in the request).

use std::future::{Ready, ready};

use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::StrBytes;

use super::call::{Ctx, plain_frame};
use super::{Api, code};
use crate::net::conn::Answer;
use crate::node::Node;

/// Answers with every API that is served, and with the features that clients choose protocols by.
pub(super) fn handle(ctx: Ctx, request: ApiVersionsRequest) -> Ready<ApiVersionsResponse> {
    ready(answer(&ctx, &request))
}

/// The answer to a version that we do not know.
pub(super) fn unsupported(node: &Node, table: &'static [Api], correlation_id: i32) -> Answer {
    plain_frame(correlation_id, |body| {
        body.i16(code::UNSUPPORTED_VERSION);
        let own: Vec<_> = served(node, table).filter(|(api, _)| api.key == ApiKey::API_VERSIONS).collect();
        body.array(&own, |body, (api, newest)| {
            body.i16(api.key.0);
            body.i16(api.advertised_min);
            body.i16(*newest);
        });
    })
}

/// Every API that is served, and its newest version.
fn served(node: &Node, table: &'static [Api]) -> impl Iterator<Item = (&'static Api, i16)> {
    table.iter().filter_map(|api| Some((api, api.newest(node)?)))
}

fn answer(ctx: &Ctx, request: &ApiVersionsRequest) -> ApiVersionsResponse {
    let mut response = ApiVersionsResponse::default();
    if ctx.version >= 3 && !(is_name(&request.client_software_name) && is_name(&request.client_software_version)) {
        response.error_code = code::INVALID_REQUEST;
        return response;
    }
    response.api_keys = served(&ctx.node, ctx.table)
        .map(|(api, newest)| {
            let entry = ApiVersion::default().with_api_key(api.key.0);
            entry.with_min_version(api.advertised_min).with_max_version(newest)
        })
        .collect();
    if ctx.version >= 3 {
        add_features(ctx, &mut response);
    }
    response
}

fn add_features(ctx: &Ctx, response: &mut ApiVersionsResponse) {
    let image = ctx.node.metadata.image();
    let supported = crate::features::SUPPORTED.iter();
    // Older Java clients throw on a minimum of 0.
    let supported = supported.filter(|feature| ctx.version >= 4 || feature.min > 0);
    response.supported_features = supported
        .map(|feature| {
            let key = SupportedFeatureKey::default().with_name(StrBytes::from_static_str(feature.name));
            key.with_min_version(feature.min).with_max_version(feature.max)
        })
        .collect();
    response.finalized_features_epoch = i64::try_from(image.index()).unwrap_or(i64::MAX);
    response.finalized_features = image
        .features()
        .filter(|(_, level)| *level > 0)
        .map(|(name, level)| {
            let key = FinalizedFeatureKey::default().with_name(StrBytes::from_string(name.to_owned()));
            key.with_min_version_level(level).with_max_version_level(level)
        })
        .collect();
}

/// `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?` (KIP-511).
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_software_name_begins_and_ends_with_a_letter_or_digit() {
        for good in ["a", "librdkafka", "apache-kafka-java", "2.12.1"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a b", ".", "ä"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
