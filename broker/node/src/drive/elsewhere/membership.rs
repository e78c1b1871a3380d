//! A broker's own life, told to a controller in another node.

use std::time::Duration;

use ballast_core::controller::{BrokerHeartbeat, RegisterBroker};
use ballast_core::registration::Input;
use kafka_protocol::messages::broker_registration_request::{Feature, Listener};
use kafka_protocol::messages::{BrokerHeartbeatRequest, BrokerId, BrokerRegistrationRequest};
use kafka_protocol::protocol::StrBytes;

use super::{NOT_CONTROLLER, ask, id};
use crate::quorum::Quorum;

const REGISTRATION_VERSION: i16 = 4;
const HEARTBEAT_VERSION: i16 = 1;

/// Registers with the leader of the quorum.
pub(crate) async fn register(quorum: &Quorum, asked: &RegisterBroker, within: Duration) -> Option<Input> {
    let request = registration(asked);
    let answer = ask(quorum, REGISTRATION_VERSION, &request, within).await?;
    match answer.error_code {
        0 => Some(Input::Registered { epoch: answer.broker_epoch }),
        NOT_CONTROLLER => None,
        code => Some(Input::Refused { code }),
    }
}

/// Sends a sign of life to the leader of the quorum.
pub(crate) async fn heartbeat(quorum: &Quorum, beat: &BrokerHeartbeat, within: Duration) -> Option<Input> {
    let request = BrokerHeartbeatRequest::default()
        .with_broker_id(BrokerId(beat.id))
        .with_broker_epoch(beat.epoch)
        .with_current_metadata_offset(i64::try_from(beat.metadata_index).unwrap_or(i64::MAX))
        .with_want_fence(beat.want_fence)
        .with_want_shut_down(beat.want_shutdown)
        .with_offline_log_dirs(beat.offline_dirs.iter().map(id).collect());
    let answer = ask(quorum, HEARTBEAT_VERSION, &request, within).await?;
    match answer.error_code {
        0 => Some(Input::HeartbeatAnswered {
            is_caught_up: answer.is_caught_up,
            is_fenced: answer.is_fenced,
            should_shut_down: answer.should_shut_down,
        }),
        NOT_CONTROLLER => None,
        code => Some(Input::Refused { code }),
    }
}

fn registration(asked: &RegisterBroker) -> BrokerRegistrationRequest {
    let broker = &asked.broker;
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let listeners = broker.listeners.iter().map(|endpoint| {
        let listener = Listener::default().with_name(text(&endpoint.listener)).with_host(text(&endpoint.host));
        listener.with_port(endpoint.port).with_security_protocol(endpoint.protocol.id())
    });
    let features = broker.features.iter().map(|(name, range)| {
        let feature = Feature::default().with_name(text(name));
        feature.with_min_supported_version(range.min).with_max_supported_version(range.max)
    });
    BrokerRegistrationRequest::default()
        .with_broker_id(BrokerId(broker.id))
        .with_cluster_id(text(&asked.cluster_id))
        .with_incarnation_id(id(&broker.incarnation))
        .with_listeners(listeners.collect())
        .with_features(features.collect())
        .with_rack(broker.rack.as_deref().map(text))
        .with_log_dirs(broker.log_dirs.iter().map(id).collect())
        .with_previous_broker_epoch(asked.previous_epoch)
}
