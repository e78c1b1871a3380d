//! Settings of a producer, by Kafka's names and with its defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_wire::batch::Compression;
use ballast_wire::hash::KeyPartitioner;

use crate::ClientError;
use crate::config::parse;

/// Who must have a batch before it counts as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// Nobody: it is sent, no more is known.
    None,
    /// The leader.
    Leader,
    /// Every in-sync replica.
    All,
}

impl Acks {
    /// `0`, `1`, `all` or `-1`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Acks> {
        match name {
            "0" => Some(Acks::None),
            "1" => Some(Acks::Leader),
            "all" | "-1" => Some(Acks::All),
            _ => None,
        }
    }

    /// `0`, `1` or `all`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Acks::None => "0",
            Acks::Leader => "1",
            Acks::All => "all",
        }
    }

    pub(super) fn number(self) -> i16 {
        match self {
            Acks::None => 0,
            Acks::Leader => 1,
            Acks::All => -1,
        }
    }
}

/// How records are gathered and sent.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// `acks`: who must have a batch.
    pub acks: Acks,
    /// `enable.idempotence`: resent batches are written once and in order. Needs [`Acks::All`].
    pub idempotence: bool,
    /// `batch.size`: a batch is closed at this many bytes, before compression.
    pub batch_bytes: usize,
    /// `linger.ms`: how long a batch waits for company.
    pub linger: Duration,
    /// `max.in.flight.requests.per.connection`: at most 5 with idempotence.
    pub in_flight_max: usize,
    /// `max.request.size`: batches of several partitions share a request up to this many bytes.
    pub request_bytes_max: usize,
    /// `buffer.memory`: records that are not acknowledged yet, in bytes; beyond it `send` waits.
    pub buffer_bytes: usize,
    /// `max.block.ms`: how long `send` waits, for metadata or for room.
    pub max_block: Duration,
    /// `delivery.timeout.ms`: how long a batch may take from its first record to its acknowledgement.
    pub delivery_timeout: Duration,
    /// `compression.type`.
    pub compression: Compression,
    /// `compression.gzip.level` or `compression.zstd.level`; `None` for the codec's own default.
    pub compression_level: Option<i32>,
    /// Where keys go. Records without a key stay on one partition for a batch, then move on (KIP-794).
    pub partitioner: KeyPartitioner,
    /// `partitioner.adaptive.partitioning.enable`: partitions whose leaders are slow get fewer records without a key.
    pub adaptive: bool,
    /// Ask brokers to create a topic that is not there.
    pub create_topics: bool,
}

/// What Kafka's brokers remember of each producer, in batches: more in flight could not be recognised when resent.
const IN_FLIGHT_IDEMPOTENT_MAX: usize = 5;

impl Default for ProducerConfig {
    fn default() -> ProducerConfig {
        ProducerConfig {
            acks: Acks::All,
            idempotence: true,
            batch_bytes: 16_384,
            linger: Duration::from_millis(5),
            in_flight_max: IN_FLIGHT_IDEMPOTENT_MAX,
            request_bytes_max: 1 << 20,
            buffer_bytes: 32 << 20,
            max_block: Duration::from_secs(60),
            delivery_timeout: Duration::from_secs(120),
            compression: Compression::None,
            compression_level: None,
            partitioner: KeyPartitioner::Java,
            adaptive: true,
            create_topics: true,
        }
    }
}

impl ProducerConfig {
    /// Takes the settings of `properties` that a producer has.
    ///
    /// # Errors
    /// `Config`: a value that cannot be read, or settings that contradict each other.
    pub fn apply(&mut self, properties: &BTreeMap<String, String>) -> Result<(), ClientError> {
        if let Some(name) = properties.get("acks") {
            self.acks = Acks::from_name(name).ok_or_else(|| bad("acks", name, "0, 1 or all"))?;
        }
        if let Some(name) = properties.get("compression.type") {
            self.compression = compression_from_name(name)
                .ok_or_else(|| bad("compression.type", name, "none, gzip, snappy, lz4 or zstd"))?;
        }
        for (name, setting) in [
            ("batch.size", &mut self.batch_bytes),
            ("max.in.flight.requests.per.connection", &mut self.in_flight_max),
            ("max.request.size", &mut self.request_bytes_max),
            ("buffer.memory", &mut self.buffer_bytes),
        ] {
            if let Some(value) = parse(properties, name)? {
                *setting = value;
            }
        }
        for (name, setting) in [
            ("linger.ms", &mut self.linger),
            ("max.block.ms", &mut self.max_block),
            ("delivery.timeout.ms", &mut self.delivery_timeout),
        ] {
            if let Some(ms) = parse(properties, name)? {
                *setting = Duration::from_millis(ms);
            }
        }
        if let Some(adaptive) = parse(properties, "partitioner.adaptive.partitioning.enable")? {
            self.adaptive = adaptive;
        }
        let level = match self.compression {
            Compression::Gzip => parse(properties, "compression.gzip.level")?,
            Compression::Zstd => parse(properties, "compression.zstd.level")?,
            _ => None,
        };
        self.compression_level = level.or(self.compression_level);
        match parse(properties, "enable.idempotence")? {
            Some(wanted) => self.idempotence = wanted,
            // As Kafka's producer: weaker acks switch it off unless it was asked for.
            None => self.idempotence = self.idempotence && self.acks == Acks::All,
        }
        self.check()
    }

    /// Do the settings go together, with each other and with those of the client?
    ///
    /// # Errors
    /// `Config` with what does not.
    pub fn check(&self) -> Result<(), ClientError> {
        let complaint = if self.idempotence && self.acks != Acks::All {
            "enable.idempotence needs acks=all"
        } else if self.idempotence && self.in_flight_max > IN_FLIGHT_IDEMPOTENT_MAX {
            "enable.idempotence needs max.in.flight.requests.per.connection of 5 or less"
        } else if self.in_flight_max == 0 {
            "max.in.flight.requests.per.connection must be 1 or more"
        } else if self.batch_bytes > i32::MAX as usize / 2 || self.request_bytes_max > i32::MAX as usize / 2 {
            "batch.size and max.request.size must stay below 1 GiB"
        } else {
            return Ok(());
        };
        Err(ClientError::Config(complaint.to_owned()))
    }
}

/// The codec of this name, as `compression.type` spells it.
#[must_use]
pub fn compression_from_name(name: &str) -> Option<Compression> {
    match name {
        "none" => Some(Compression::None),
        "gzip" => Some(Compression::Gzip),
        "snappy" => Some(Compression::Snappy),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    }
}

/// Its name, as `compression.type` spells it.
#[must_use]
pub fn compression_name(codec: Compression) -> &'static str {
    match codec {
        Compression::None => "none",
        Compression::Gzip => "gzip",
        Compression::Snappy => "snappy",
        Compression::Lz4 => "lz4",
        Compression::Zstd => "zstd",
    }
}

fn bad(name: &str, value: &str, expected: &str) -> ClientError {
    ClientError::Config(format!("{name}={value}: expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(entries: &[(&str, &str)]) -> Result<ProducerConfig, ClientError> {
        let mut config = ProducerConfig::default();
        config.apply(&entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())?;
        Ok(config)
    }

    #[test]
    fn weaker_acks_switch_idempotence_off_unless_it_was_asked_for() {
        assert!(!applied(&[("acks", "1")]).unwrap().idempotence);
        assert!(applied(&[("acks", "-1")]).unwrap().idempotence);
        let error = applied(&[("acks", "1"), ("enable.idempotence", "true")]).unwrap_err();
        assert_eq!(error.to_string(), "enable.idempotence needs acks=all");
        applied(&[("max.in.flight.requests.per.connection", "6")]).unwrap_err();
    }

    #[test]
    fn a_level_belongs_to_its_own_codec() {
        let zstd = applied(&[("compression.type", "zstd"), ("compression.gzip.level", "9")]).unwrap();
        assert_eq!((zstd.compression, zstd.compression_level), (Compression::Zstd, None));
        let gzip = applied(&[("compression.type", "gzip"), ("compression.gzip.level", "9")]).unwrap();
        assert_eq!(gzip.compression_level, Some(9));
    }
}
