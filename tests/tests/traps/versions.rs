//! Every version that is advertised is served: clients that do not negotiate (sarama) pick any of them.

use ballast_tests::raw::Reply;
use ballast_tests::raw::layout::layouts;
use ballast_tests::target::shared;
use ballast_wire::frame::{ApiKey, parse_response_header};
use kafka_protocol::messages::ApiVersionsRequest;

/// Lowest version of Produce that means something; those below are advertised only (KAFKA-18659).
const PRODUCE_MIN: i16 = 3;

#[test]
fn every_advertised_version_of_every_api_answers_an_honest_request() {
    let broker = shared();
    let mut connection = broker.connect();
    let listed = connection.call(0, &ApiVersionsRequest::default()).api_keys;
    let layouts = layouts();
    let mut failures = Vec::new();
    for entry in listed {
        let key = ApiKey(entry.api_key);
        let min = if key == ApiKey::PRODUCE { PRODUCE_MIN } else { entry.min_version };
        for version in min..=entry.max_version {
            let Some(layout) = layouts.iter().find(|layout| (layout.key, layout.version) == (key, version)) else {
                failures.push(format!("{key} v{version} does not exist"));
                continue;
            };
            let correlation_id = connection.request(key, version, &layout.honest().body).unwrap();
            let what = match connection.reply() {
                Reply::Frame(frame) => match parse_response_header(&frame, key, version) {
                    Ok((answered, _)) if answered == correlation_id => continue,
                    Ok((answered, _)) => format!("answers {answered} instead of {correlation_id}"),
                    Err(error) => format!("answers what cannot be read: {error}"),
                },
                Reply::Closed => "closes the connection".to_owned(),
                Reply::Silence => "is silent".to_owned(),
            };
            failures.push(format!("{key} v{version} {what}"));
            connection = broker.connect();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
