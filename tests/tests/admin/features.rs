//! UpdateFeatures, rehearsed, so that any broker is left as it was; UnregisterBroker of one that is not there.

use ballast_tests::raw::{Connection, text};
use ballast_tests::target::shared;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::{ApiVersionsRequest, UnregisterBrokerRequest, UpdateFeaturesRequest};

const INVALID_UPDATE_VERSION: i16 = 95;
const BROKER_ID_NOT_REGISTERED: i16 = 102;

const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;

const METADATA: &str = "metadata.version";

/// The answer's code and words.
fn rehearse(connection: &mut Connection, version: i16, updates: &[(&str, i16, i8)]) -> (i16, Option<String>) {
    let updates = updates.iter().map(|(feature, level, kind)| {
        let key = FeatureUpdateKey::default().with_feature(text(feature)).with_max_version_level(*level);
        key.with_upgrade_type(*kind)
    });
    let request = UpdateFeaturesRequest::default().with_feature_updates(updates.collect()).with_validate_only(true);
    let answer = connection.call(version, &request.with_timeout_ms(5000));
    let rows = answer.results.iter().filter(|row| row.error_code == 0).count();
    assert_eq!(rows > 0, version < 2 && answer.error_code == 0, "v2 has no rows, and no error has: {answer:?}");
    (answer.error_code, answer.error_message.map(|words| words.to_string()))
}

/// The level at which the metadata is finalized.
fn metadata_level(connection: &mut Connection) -> i16 {
    let request =
        ApiVersionsRequest::default().with_client_software_name(text("a")).with_client_software_version(text("1"));
    let features = connection.call(4, &request).finalized_features;
    features.iter().find(|feature| &*feature.name == METADATA).expect("it is always finalized").max_version_level
}

#[test]
fn the_present_level_is_no_change() {
    let broker = shared();
    let mut connection = broker.connect();
    let level = metadata_level(&mut connection);
    for version in [1, 2] {
        assert_eq!(rehearse(&mut connection, version, &[(METADATA, level, UPGRADE)]), (0, None), "v{version}");
        assert_eq!(rehearse(&mut connection, version, &[("group.version", 0, SAFE_DOWNGRADE)]), (0, None));
    }
}

#[test]
fn a_level_that_cannot_be_stops_the_whole_request() {
    let broker = shared();
    let mut connection = broker.connect();
    let level = metadata_level(&mut connection);
    let good = ("group.version", 0, SAFE_DOWNGRADE);
    for (bad, why) in [
        (
            ("no.such.feature", 1, UPGRADE),
            "Invalid update version 1 for feature no.such.feature. Local controller 1 does not support this feature.",
        ),
        (
            (METADATA, 999, UPGRADE),
            "Invalid update version 999 for feature metadata.version. Local controller 1 only supports versions ",
        ),
        (
            (METADATA, 1, SAFE_DOWNGRADE),
            "Invalid update version 1 for feature metadata.version. Local controller 1 only supports versions ",
        ),
        ((METADATA, level - 1, SAFE_DOWNGRADE), ""),
        (
            ("group.version", -1, SAFE_DOWNGRADE),
            "Invalid update version -1 for feature group.version. A feature version cannot be less than 0.",
        ),
        (
            ("group.version", 0, 0),
            "Invalid update version 0 for feature group.version. The controller does not support the given upgrade type.",
        ),
        (
            ("group.version", 0, 9),
            "Invalid update version 0 for feature group.version. The controller does not support the given upgrade type.",
        ),
    ] {
        for version in [1, 2] {
            let (code, words) = rehearse(&mut connection, version, &[good, bad]);
            assert_eq!(code, INVALID_UPDATE_VERSION, "v{version} {bad:?}: {words:?}");
            let all = format!("The update failed for all features since the following feature had an error: {why}");
            assert!(words.as_deref().is_some_and(|words| words.starts_with(&all)), "v{version} {bad:?}: {words:?}");
        }
    }
    assert_eq!(metadata_level(&mut connection), level);
}

#[test]
fn v0_says_only_whether_a_level_may_fall() {
    let broker = shared();
    let mut connection = broker.connect();
    let level = metadata_level(&mut connection);
    let update =
        |feature: &str, level| FeatureUpdateKey::default().with_feature(text(feature)).with_max_version_level(level);
    let ask = |connection: &mut Connection, update| {
        let request = UpdateFeaturesRequest::default().with_feature_updates(vec![update]).with_timeout_ms(5000);
        connection.call(0, &request)
    };
    let same = ask(&mut connection, update(METADATA, level));
    assert_eq!((same.error_code, same.results.len(), same.results[0].error_code), (0, 1, 0));
    assert_eq!(ask(&mut connection, update("no.such.feature", 1)).error_code, INVALID_UPDATE_VERSION);
}

#[test]
fn a_broker_that_is_not_there_cannot_be_forgotten() {
    let broker = shared();
    let mut connection = broker.connect();
    for id in [77, -1] {
        let answer = connection.call(0, &UnregisterBrokerRequest::default().with_broker_id(id.into()));
        let words = format!("Broker ID {id} is not currently registered");
        assert_eq!((answer.error_code, answer.error_message.as_deref()), (BROKER_ID_NOT_REGISTERED, Some(&words[..])));
    }
}
