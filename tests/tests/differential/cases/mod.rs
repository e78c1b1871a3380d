//! Every case, a file for each group of APIs.
//!
//! A case is a line in its file's `CASES` (the API, the code it meets, the situation, the function that makes it) and
//! that function. A new API gets its file here; one that is advertised without a case fails a test.

mod admin;
mod cluster;
mod configs;
pub(crate) mod fetch;
mod fetch_sessions;
mod group_lists;
mod group_offsets;
mod groups;
mod metadata;
mod offsets;
mod produce;
mod producers;
mod topics;
mod versions;

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{name, text};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{FindCoordinatorRequest, InitProducerIdRequest, MetadataRequest, OffsetFetchRequest};

use super::case::Case;
use super::side::Side;

/// Every case, in the order in which they run.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    [
        versions::CASES,
        metadata::CASES,
        cluster::CASES,
        topics::CASES,
        configs::CASES,
        produce::CASES,
        producers::CASES,
        fetch::CASES,
        fetch_sessions::CASES,
        offsets::CASES,
        group_lists::CASES,
        groups::CASES,
        group_offsets::CASES,
        admin::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Waits until a broker that has just started answers as it will from now on, and makes what cases share; what groups
/// need only where both sides have `groups`.
pub(crate) fn settle(side: &mut Side, groups: bool) {
    eventually("the broker is in its own metadata", || {
        let metadata = side.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
        (!metadata.brokers.is_empty()).then_some(())
    });
    let none = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(1000);
    eventually("there is a block of producer ids", || (side.call(1, &none).error_code == 0).then_some(()));
    side.letters();
    if groups {
        let find = FindCoordinatorRequest::default().with_key(text("a-group"));
        eventually("there is a coordinator", || (side.call(0, &find).error_code == 0).then_some(()));
        let offsets = OffsetFetchRequest::default().with_group_id(text("a-group").into()).with_topics(None);
        eventually("the coordinator has loaded", || (side.call(2, &offsets).error_code == 0).then_some(()));
        let row = MetadataRequestTopic::default().with_name(Some(name(OFFSETS)));
        let metadata = side.call(12, &MetadataRequest::default().with_topics(Some(vec![row])));
        side.learn(metadata.topics[0].topic_id, format!("<id of {OFFSETS}>"));
    }
}

const OFFSETS: &str = "__consumer_offsets";
