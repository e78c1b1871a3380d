//! A broker that is only as much of one as a controller sees: node 9 registers, shows a sign of life, and leads what
//! cases place on it.

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{name, text};
use ballast_tests::target::Topic;
use kafka_protocol::messages::broker_registration_request::{Feature, Listener};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest, MetadataRequest,
};
use uuid::Uuid;

use super::controller;
use crate::side::Side;

/// Its node id.
pub(super) const ID: i32 = 9;

/// What it says of itself when it registers: sound, with the next of its lives.
pub(super) fn registration(side: &mut Side) -> BrokerRegistrationRequest {
    let ask = ApiVersionsRequest::default();
    let ask = ask.with_client_software_name(text("stranger")).with_client_software_version(text("1"));
    let features = side.call(4, &ask).supported_features;
    let features = features.iter().map(|feature| {
        let range = Feature::default().with_name(feature.name.clone());
        range.with_min_supported_version(feature.min_version).with_max_supported_version(feature.max_version)
    });
    let metadata = side.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
    let at = Listener::default().with_name(text("PLAINTEXT")).with_host(text("127.0.0.1")).with_port(9);
    BrokerRegistrationRequest::default()
        .with_broker_id(ID.into())
        .with_cluster_id(metadata.cluster_id.expect("a cluster has an id"))
        .with_incarnation_id(Uuid::from_u128(0x900))
        .with_listeners(vec![at])
        .with_features(features.collect())
        .with_rack(Some(text("rack-9")))
        .with_log_dirs(vec![Uuid::from_u128(0x1009)])
        .with_previous_broker_epoch(-1)
}

/// A sign of life, with which it is let in or asks to be shut out.
pub(super) fn beat(epoch: i64, want_fence: bool) -> BrokerHeartbeatRequest {
    BrokerHeartbeatRequest::default()
        .with_broker_id(ID.into())
        .with_broker_epoch(epoch)
        .with_current_metadata_offset(i64::MAX)
        .with_want_fence(want_fence)
}

/// It is there, and lives; whoever is asked next is the active controller.
pub(super) fn join(side: &mut Side) {
    let registration = registration(side);
    let active = controller(side, true);
    side.turn_to(active);
    if side.stranger_epoch < 0 {
        let registered = side.call(4, &registration);
        assert_eq!(registered.error_code, 0, "of the registration");
        side.stranger_epoch = registered.broker_epoch;
    }
    let sign = beat(side.stranger_epoch, false);
    assert_eq!(side.call(1, &sign).error_code, 0, "of the sign of life");
}

/// A topic that it leads, with node 1 and 2 behind it; whoever is asked next is the active controller.
pub(super) fn led_by_it(side: &mut Side) -> Topic {
    join(side);
    side.at(1);
    eventually("the brokers know it", || {
        let told = side.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
        told.brokers.iter().any(|broker| broker.node_id.0 == ID).then_some(())
    });
    let topic = side.unique("led-by-it");
    let topic = side.placed(&topic, &[&[ID, 1, 2]], |side, topic| {
        eventually("it leads", || {
            let row = MetadataRequestTopic::default().with_name(Some(name(&topic.name)));
            let told = side.call(12, &MetadataRequest::default().with_topics(Some(vec![row])));
            told.topics[0].partitions.iter().any(|row| row.leader_id.0 == ID).then_some(())
        });
    });
    let active = controller(side, true);
    side.turn_to(active);
    topic
}
