//! A scripted error has the shape of its API's own answer, in every version that is advertised.

use ballast_broker::embed::{Api, Broker, ErrorCode, Fault};
use ballast_tests::raw::layout::layouts;
use ballast_tests::raw::{Connection, Reply, text};
use ballast_wire::frame::parse_response_header;
use kafka_protocol::messages::ApiVersionsRequest;

/// No code of Kafka's; no other number of an answer looks like it.
const CODE: i16 = 0x5a5b;

/// The answers that have no place for an error.
const WITHOUT_ERROR: [(Api, i16); 2] = [(Api::DESCRIBE_LOG_DIRS, 1), (Api::DESCRIBE_LOG_DIRS, 2)];

/// (API, oldest, newest version).
fn advertised(connection: &mut Connection) -> Vec<(Api, i16, i16)> {
    let request = ApiVersionsRequest::default().with_client_software_name(text("shapes"));
    let answer = connection.call(3, &request.with_client_software_version(text("1")));
    // Produce is advertised from 0 and served from 3.
    let oldest = |key: i16, min: i16| if key == 0 { 3 } else { min };
    answer
        .api_keys
        .iter()
        .map(|row| (Api(row.api_key), oldest(row.api_key, row.min_version), row.max_version))
        .collect()
}

#[test]
fn every_advertised_version_of_every_api_can_be_told_to_fail() {
    let broker = Broker::builder().start_blocking().unwrap();
    let mut connection = Connection::open(broker.bootstrap());
    let mut asked = 0;
    for (api, min, max) in advertised(&mut connection) {
        for layout in layouts().into_iter().filter(|layout| layout.key == api) {
            let version = layout.version;
            if !(min..=max).contains(&version) {
                continue;
            }
            let id = broker.fault(Fault::fail_next(api, ErrorCode(CODE), 1)).unwrap();
            let correlation_id = connection.request(api, version, &layout.honest().body).unwrap();
            let Reply::Frame(frame) = connection.reply() else { panic!("{api} v{version} is not answered") };
            let (answered, body) = parse_response_header(&frame, api, version).unwrap();
            assert_eq!(answered, correlation_id, "{api} v{version}");
            let says_it = frame[body.position()..].windows(2).any(|bytes| bytes == CODE.to_be_bytes());
            assert_eq!(says_it, !WITHOUT_ERROR.contains(&(api, version)), "{api} v{version}: {frame:?}");
            assert_eq!(broker.remove_fault(id).unwrap().fired, 1, "{api} v{version}");
            asked += 1;
        }
    }
    assert!(asked >= 90, "only {asked} versions were asked");
}
