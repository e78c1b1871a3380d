//! A client's request in an envelope: on its way to the active controller, and its answer on the way back (KIP-590).
//!
//! The envelope says who the client is and where it connects from; the controller's node does what the client's own node would
//! have done. The answer's envelope also says how far the metadata has to be taken in before the client may see the answer: a
//! tagged field of ours ([`INDEX_TAG`]), which others ignore.
//!
//! Holds: a request is sent again only while nobody has answered it. It may then have been carried out, as with any client
//! that tries again; every copy says so by the same [`ONCE_TAG`], random sixteen bytes, from which new topics have their ids:
//! what an earlier copy has made is not called another's.

use std::net::IpAddr;
use std::time::Duration;

use ballast_wire::Uuid;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::messages::{DefaultPrincipalData, EnvelopeRequest, EnvelopeResponse};
use kafka_protocol::protocol::{Decodable as _, Encodable as _, StrBytes};
use tokio::time::{Instant, sleep};

use crate::quorum::Quorum;

/// The version of the envelope.
pub(crate) const VERSION: i16 = 0;
/// Version of the principal's form, which stands before it.
const PRINCIPAL_VERSION: i16 = 0;
/// Number of the tagged field with the index of the metadata that an answer rests on, eight bytes.
const INDEX_TAG: i32 = 20_000;
/// Number of the tagged field that is the same in every copy of a request, sixteen bytes.
const ONCE_TAG: i32 = 20_001;
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

const NONE: i16 = 0;
const NOT_CONTROLLER: i16 = 41;

/// Who a request is from.
pub(crate) struct Sender<'a> {
    /// As in a session: `User:NAME`.
    pub(crate) principal: &'a str,
    /// Where it connects from.
    pub(crate) host: IpAddr,
}

/// What the controller's node has answered.
pub(crate) struct Forwarded {
    /// Header and body.
    pub(crate) answer: Bytes,
    /// Index of the metadata that it rests on.
    pub(crate) index: u64,
}

/// Has the active controller answer `request` (header and body), which `once` tells from all others, trying for as long as
/// `within`. `None`: nobody answered, or this node leads by now.
pub(crate) async fn forward(
    quorum: &Quorum,
    request: Bytes,
    sender: &Sender<'_>,
    once: Uuid,
    within: Duration,
) -> Option<Forwarded> {
    let deadline = Instant::now() + within;
    let envelope = wrap(request, sender, once)?;
    loop {
        let asked = quorum.forward_to_leader(ApiKey::ENVELOPE, VERSION, envelope.clone());
        let why = match tokio::time::timeout_at(deadline, asked).await {
            Err(_) => return None,
            Ok(Err(why)) => why,
            Ok(Ok(mut answer)) => match EnvelopeResponse::decode(&mut answer, VERSION) {
                Ok(EnvelopeResponse {
                    error_code: NONE, response_data: Some(answer), unknown_tagged_fields, ..
                }) => {
                    let index = unknown_tagged_fields.get(&INDEX_TAG).and_then(|bytes| (**bytes).try_into().ok());
                    return Some(Forwarded { answer, index: index.map_or(0, u64::from_be_bytes) });
                }
                Ok(EnvelopeResponse { error_code: NOT_CONTROLLER, .. }) => "the node does not lead any more".to_owned(),
                Ok(EnvelopeResponse { error_code, .. }) => {
                    tracing::warn!(error_code, "the active controller refuses a client's request");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "the active controller's answer does not decode");
                    return None;
                }
            },
        };
        tracing::debug!(why, "a client's request is not forwarded yet");
        if *quorum.leads().borrow() || Instant::now() + PAUSE >= deadline {
            return None;
        }
        sleep(PAUSE).await;
    }
}

fn wrap(request: Bytes, sender: &Sender<'_>, once: Uuid) -> Option<Bytes> {
    let (kind, name) = sender.principal.split_once(':').unwrap_or(("User", sender.principal));
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let mut principal = PRINCIPAL_VERSION.to_be_bytes().to_vec();
    let data = DefaultPrincipalData::default().with_type(text(kind)).with_name(text(name));
    let host = match sender.host {
        IpAddr::V4(host) => host.octets().to_vec(),
        IpAddr::V6(host) => host.octets().to_vec(),
    };
    let mut envelope = Vec::new();
    let encoded = data.encode(&mut principal, PRINCIPAL_VERSION).and_then(|()| {
        let request = EnvelopeRequest::default().with_request_data(request);
        let request = request.with_request_principal(Some(principal.into())).with_client_host_address(host.into());
        let request = request.with_unknown_tagged_field(ONCE_TAG, once.0.to_vec().into());
        request.encode(&mut envelope, VERSION)
    });
    match encoded {
        Ok(()) => Some(envelope.into()),
        Err(error) => {
            tracing::error!(%error, "an envelope does not encode");
            None
        }
    }
}

/// What was in an envelope.
pub(crate) struct Opened {
    /// Header and body.
    pub(crate) request: Bytes,
    /// `User:NAME`.
    pub(crate) principal: String,
    /// Where the client connects from.
    pub(crate) host: IpAddr,
    /// Tells the request, in all its copies, from others. `None` from a node that does not say.
    pub(crate) once: Option<Uuid>,
}

/// Why an envelope is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// It is none.
    Form,
    /// Nobody can tell who the client is.
    Principal,
}

/// Opens an envelope.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn open(mut body: Bytes) -> Result<Opened, NotOpened> {
    let envelope = EnvelopeRequest::decode(&mut body, VERSION).map_err(|_| NotOpened::Form)?;
    let mut principal = envelope.request_principal.ok_or(NotOpened::Principal)?;
    if principal.len() < 2 || principal.split_to(2)[..] != PRINCIPAL_VERSION.to_be_bytes() {
        return Err(NotOpened::Principal);
    }
    let principal = DefaultPrincipalData::decode(&mut principal, PRINCIPAL_VERSION);
    let principal = principal.map_err(|_| NotOpened::Principal)?;
    let host: &[u8] = &envelope.client_host_address;
    let host = <[u8; 4]>::try_from(host).map(IpAddr::from).or_else(|_| <[u8; 16]>::try_from(host).map(IpAddr::from));
    let principal = format!("{}:{}", &*principal._type, &*principal.name);
    let once = envelope.unknown_tagged_fields.get(&ONCE_TAG).and_then(|bytes| (**bytes).try_into().ok()).map(Uuid);
    Ok(Opened { request: envelope.request_data, principal, host: host.map_err(|_| NotOpened::Form)?, once })
}

/// The envelope of an answer, or of an error.
pub(crate) fn seal(outcome: Result<Forwarded, i16>) -> EnvelopeResponse {
    match outcome {
        Ok(Forwarded { answer, index }) => EnvelopeResponse::default()
            .with_response_data(Some(answer))
            .with_unknown_tagged_field(INDEX_TAG, index.to_be_bytes().to_vec().into()),
        Err(code) => EnvelopeResponse::default().with_error_code(code).with_response_data(None),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const ONCE: Uuid = Uuid([7; 16]);

    #[test]
    fn what_goes_in_comes_out() {
        for host in [IpAddr::from(Ipv4Addr::new(10, 0, 0, 7)), IpAddr::from(Ipv6Addr::LOCALHOST)] {
            let sender = Sender { principal: "User:alice", host };
            let opened = open(wrap(Bytes::from_static(b"request"), &sender, ONCE).unwrap()).unwrap();
            assert_eq!((&*opened.request, &*opened.principal, opened.host), (&b"request"[..], "User:alice", host));
            assert_eq!(opened.once, Some(ONCE));
        }
    }

    #[test]
    fn half_an_envelope_is_none() {
        let sender = Sender { principal: "User:alice", host: Ipv4Addr::LOCALHOST.into() };
        let whole = wrap(Bytes::from_static(b"request"), &sender, ONCE).unwrap();
        for end in 0..whole.len() {
            assert!(open(whole.slice(..end)).is_err(), "{end} bytes of {}", whole.len());
        }
    }
}
