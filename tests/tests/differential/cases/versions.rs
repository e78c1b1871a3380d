//! ApiVersions (key 18) and SaslHandshake (key 17) on a listener without security.

use ballast_tests::raw::text;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::{ApiVersionsRequest, SaslHandshakeRequest};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const KEY: ApiKey = ApiKey::API_VERSIONS;

pub(crate) const CASES: &[Case] = &[
    accepted(KEY, "what is served", |side, v| software(side, v, "a-client", "1.0")),
    refused(KEY, 42, "a name that no software can have", |side, v| software(side, v, "a client", "1.0")).from(3),
    refused(KEY, 42, "no version of the software", |side, v| software(side, v, "a-client", "")).from(3),
    accepted(KEY, "a version that nobody knows", |side, _| side.ask_raw(KEY, 99, b"\x02a\x02b\0"))
        .from(0)
        .to(0)
        .meets(Meets::Anything),
    refused(ApiKey::SASL_HANDSHAKE, 34, "no mechanism is offered", |side, v| {
        side.ask(v, &SaslHandshakeRequest::default().with_mechanism(text("PLAIN")));
    }),
];

fn software(side: &mut Side, v: i16, name: &str, version: &str) {
    let request = ApiVersionsRequest::default();
    let named = request.clone().with_client_software_name(text(name)).with_client_software_version(text(version));
    side.ask(v, &if v >= 3 { named } else { request });
}
