//! A broker whose disk does not get on with its syncs: what needs none goes on.
//!
//! The double keeps every job that may sync until the test lets it go, so nothing here depends on how long anything takes.

use std::sync::Arc;

use ballast_broker::session::AllowAll;
use ballast_tests::disk::SimDisk;
use ballast_tests::embedded::Embedded;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::records_of;
use ballast_tests::raw::{Connection, batch};
use kafka_protocol::messages::ProduceRequest;

#[test]
fn a_blocked_sync_delays_no_read() {
    let disk = SimDisk::new(1);
    let embedded = Embedded::start_on(disk.shared(), &["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(AllowAll));
    let bootstrap = format!("127.0.0.1:{}", embedded.broker().listeners()[0].port);
    let (mut writer, mut reader) = (Connection::open(&bootstrap), Connection::open(&bootstrap));
    writer.create_topic("t", 1, &[("flush.messages", "1")]);
    assert_eq!(writer.append("t", 0, batch(&["synced"])), 0);
    // From here on no sync ends, and nothing is in memory.
    disk.hold_jobs();
    disk.set_resident(false);
    let waiting = writer.start(9, &produce(-1, "t", 0, Some(batch(&["not synced"]))));
    let row = reader.fetch("t", 0, 0);
    assert_eq!(records_of(&row), [(0, "synced".to_owned())], "what is synced is read, what is not is not committed");
    disk.run_jobs();
    let answer = writer.finish::<ProduceRequest>(9, waiting);
    let row = &answer.responses[0].partition_responses[0];
    assert_eq!((row.error_code, row.base_offset), (0, 1));
    embedded.stop();
}
