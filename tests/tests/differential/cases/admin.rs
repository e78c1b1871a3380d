//! What operators' tools ask: DescribeAcls (key 29), ElectLeaders (43), ListPartitionReassignments (46),
//! DescribeUserScramCredentials (50), UpdateFeatures (57) and UnregisterBroker (64).

use ballast_tests::raw::{name, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::{
    DescribeAclsRequest, DescribeUserScramCredentialsRequest, ElectLeadersRequest, ListPartitionReassignmentsRequest,
    UnregisterBrokerRequest, UpdateFeaturesRequest,
};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const ACLS: ApiKey = ApiKey::DESCRIBE_ACLS;
const ELECT: ApiKey = ApiKey::ELECT_LEADERS;
const MOVES: ApiKey = ApiKey::LIST_PARTITION_REASSIGNMENTS;
const USERS: ApiKey = ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS;
const FEATURES: ApiKey = ApiKey::UPDATE_FEATURES;
const UNREGISTER: ApiKey = ApiKey::UNREGISTER_BROKER;
const WAIT_MS: i32 = 10_000;

const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;

pub(crate) const CASES: &[Case] = &[
    accepted(ACLS, "every rule", |side, v| {
        let request = DescribeAclsRequest::default().with_resource_type_filter(1).with_operation(1);
        side.ask(v, &request.with_pattern_type_filter(1).with_permission_type(1));
    })
    .meets(Meets::Code(54)),
    accepted(ELECT, "the preferred leader, who leads", |side, v| elect(side, v, 0, Some(("letters", &[0, 1]))))
        .meets(Meets::Code(84)),
    accepted(ELECT, "the preferred leaders of all", |side, v| elect(side, v, 0, None)),
    accepted(ELECT, "any leader, where there is one", |side, v| elect(side, v, 1, Some(("letters", &[0]))))
        .from(1)
        .meets(Meets::Code(84)),
    refused(ELECT, 3, "a partition that is not there", |side, v| elect(side, v, 0, Some(("letters", &[7])))),
    refused(ELECT, 3, "a topic that is not there", |side, v| elect(side, v, 0, Some(("absent", &[0])))),
    refused(ELECT, 42, "an election of a kind that there is not", |side, v| elect(side, v, 9, Some(("letters", &[0]))))
        .from(1)
        .meets(Meets::Anything),
    accepted(MOVES, "of all topics", |side, v| {
        side.ask(v, &ListPartitionReassignmentsRequest::default().with_topics(None));
    }),
    accepted(MOVES, "of a topic", |side, v| {
        side.letters();
        let row = |topic, partition| {
            ListPartitionReassignmentsTopics::default().with_name(name(topic)).with_partition_indexes(vec![partition])
        };
        let rows = vec![row("letters", 0), row("letters", 7), row("absent", 0)];
        side.ask(v, &ListPartitionReassignmentsRequest::default().with_topics(Some(rows)));
    }),
    accepted(USERS, "every user", |side, v| {
        side.ask(v, &DescribeUserScramCredentialsRequest::default().with_users(None));
    }),
    refused(USERS, 91, "a user that is not there", |side, v| {
        let user = UserName::default().with_name(text("nobody"));
        side.ask(v, &DescribeUserScramCredentialsRequest::default().with_users(Some(vec![user])));
    }),
    refused(USERS, 92, "a user twice", |side, v| {
        let user = UserName::default().with_name(text("nobody"));
        side.ask(v, &DescribeUserScramCredentialsRequest::default().with_users(Some(vec![user.clone(), user])));
    }),
    accepted(FEATURES, "none", |side, v| {
        side.ask(v, &UpdateFeaturesRequest::default().with_timeout_ms(WAIT_MS));
    }),
    refused(FEATURES, 42, "a feature that there is not", |side, v| feature(side, v, "no.such.feature", 1, UPGRADE))
        .meets(Meets::Anything),
    refused(FEATURES, 42, "a level that there is not", |side, v| feature(side, v, "metadata.version", 999, UPGRADE))
        .meets(Meets::Anything),
    refused(FEATURES, 42, "a level below 0", |side, v| feature(side, v, "metadata.version", -1, UPGRADE))
        .meets(Meets::Anything),
    refused(FEATURES, 42, "metadata of a time before any", |side, v| {
        feature(side, v, "metadata.version", 1, SAFE_DOWNGRADE);
    })
    .from(1)
    .meets(Meets::Anything),
    // One node cannot spare itself.
    accepted(UNREGISTER, "a broker that is not there", |side, v| {
        side.ask(v, &UnregisterBrokerRequest::default().with_broker_id(9.into()));
    })
    .meets(Meets::Code(102)),
];

fn elect(side: &mut Side, v: i16, kind: i8, partitions: Option<(&str, &[i32])>) {
    side.letters();
    let rows = partitions.map(|(topic, partitions)| {
        vec![TopicPartitions::default().with_topic(name(topic)).with_partitions(partitions.to_vec())]
    });
    let request = ElectLeadersRequest::default().with_topic_partitions(rows).with_timeout_ms(WAIT_MS);
    side.ask(v, &if v >= 1 { request.with_election_type(kind) } else { request });
}

fn feature(side: &mut Side, v: i16, feature: &str, level: i16, kind: i8) {
    let update = FeatureUpdateKey::default().with_feature(text(feature)).with_max_version_level(level);
    let update = if v >= 1 { update.with_upgrade_type(kind) } else { update };
    side.ask(v, &UpdateFeaturesRequest::default().with_timeout_ms(WAIT_MS).with_feature_updates(vec![update]));
}
