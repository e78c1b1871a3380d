//! Settings of a consumer, by Kafka's names and with its defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ClientError;
use crate::config::parse;

/// What to do with a position that the log does not have (`auto.offset.reset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetReset {
    /// Go on at the first record that is kept.
    Earliest,
    /// Go on with the next record that is written.
    Latest,
    /// Fail.
    None,
}

/// How records are fetched.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// `fetch.min.bytes`: the broker waits until it has this much.
    pub fetch_bytes_min: i32,
    /// `fetch.max.bytes`: an answer has at most this much, but at least one batch.
    pub fetch_bytes_max: i32,
    /// `max.partition.fetch.bytes`: and at most this much of one partition.
    pub partition_bytes_max: i32,
    /// `fetch.max.wait.ms`: how long the broker waits for `fetch.min.bytes`.
    pub fetch_wait_max: Duration,
    /// `auto.offset.reset`.
    pub offset_reset: OffsetReset,
    /// `isolation.level`: hand out records of committed transactions alone, and nothing beyond the first open one.
    pub read_committed: bool,
    /// `check.crcs`: compare the checksum of every batch.
    pub check_crcs: bool,
    /// `client.rack`: brokers may name a replica in the same rack to read from (KIP-392). Empty for none.
    pub rack: String,
    /// A batch that decompresses to more bytes than this is refused.
    pub opened_bytes_max: usize,
}

impl Default for ConsumerConfig {
    fn default() -> ConsumerConfig {
        ConsumerConfig {
            fetch_bytes_min: 1,
            fetch_bytes_max: 50 << 20,
            partition_bytes_max: 1 << 20,
            fetch_wait_max: Duration::from_millis(500),
            offset_reset: OffsetReset::Latest,
            read_committed: false,
            check_crcs: true,
            rack: String::new(),
            opened_bytes_max: 256 << 20,
        }
    }
}

impl ConsumerConfig {
    /// Takes the settings of `properties` that a consumer has.
    ///
    /// # Errors
    /// `Config`: a value that cannot be read.
    pub fn apply(&mut self, properties: &BTreeMap<String, String>) -> Result<(), ClientError> {
        for (name, setting) in [
            ("fetch.min.bytes", &mut self.fetch_bytes_min),
            ("fetch.max.bytes", &mut self.fetch_bytes_max),
            ("max.partition.fetch.bytes", &mut self.partition_bytes_max),
        ] {
            if let Some(value) = parse(properties, name)? {
                *setting = value;
            }
        }
        if let Some(ms) = parse(properties, "fetch.max.wait.ms")? {
            self.fetch_wait_max = Duration::from_millis(ms);
        }
        if let Some(check) = parse(properties, "check.crcs")? {
            self.check_crcs = check;
        }
        if let Some(rack) = properties.get("client.rack") {
            self.rack.clone_from(rack);
        }
        match properties.get("isolation.level").map(String::as_str) {
            None => {}
            Some("read_uncommitted") => self.read_committed = false,
            Some("read_committed") => self.read_committed = true,
            Some(other) => {
                let expected = "expected read_uncommitted or read_committed";
                return Err(ClientError::Config(format!("isolation.level={other}: {expected}")));
            }
        }
        match properties.get("auto.offset.reset").map(String::as_str) {
            None => {}
            Some("earliest") => self.offset_reset = OffsetReset::Earliest,
            Some("latest") => self.offset_reset = OffsetReset::Latest,
            Some("none") => self.offset_reset = OffsetReset::None,
            Some(other) => {
                let expected = "expected earliest, latest or none";
                return Err(ClientError::Config(format!("auto.offset.reset={other}: {expected}")));
            }
        }
        Ok(())
    }
}
