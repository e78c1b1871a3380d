//! `.kafka_cleanshutdown`: written last at a clean stop, taken away when the next start begins to load.
//!
//! It carries the broker epoch of the life that ended, which lets the controller tell a broker back from a clean stop from
//! one that may have lost what it had acknowledged (KIP-966).

use std::fmt;

/// A clean stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanShutdown {
    /// The broker epoch of the life that ended; -1 if it never got one.
    pub broker_epoch: i64,
}

impl CleanShutdown {
    /// Name of its file.
    pub const FILE_NAME: &str = ".kafka_cleanshutdown";

    /// Reads the file. Anything but what Kafka and we write is no proof of a clean stop.
    pub(super) fn parse(bytes: &[u8]) -> Option<CleanShutdown> {
        let text: String = str::from_utf8(bytes).ok()?.split_whitespace().collect();
        let fields = text.strip_prefix('{')?.strip_suffix('}')?;
        let (mut version, mut broker_epoch) = (None, None);
        for field in fields.split(',') {
            match field.split_once(':')? {
                ("\"version\"", value) => version = value.parse::<i64>().ok(),
                ("\"brokerEpoch\"", value) => broker_epoch = value.parse::<i64>().ok(),
                _ => return None,
            }
        }
        let broker_epoch = broker_epoch.filter(|_| version == Some(0))?;
        Some(CleanShutdown { broker_epoch })
    }
}

impl fmt::Display for CleanShutdown {
    /// The whole file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"version\":0,\"brokerEpoch\":{}}}", self.broker_epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_has_apache_kafkas_bytes_and_anything_else_proves_nothing() {
        let mark = CleanShutdown { broker_epoch: 12 };
        assert_eq!(mark.to_string(), r#"{"version":0,"brokerEpoch":12}"#);
        assert_eq!(CleanShutdown::parse(mark.to_string().as_bytes()), Some(mark));
        assert_eq!(CleanShutdown::parse(b"{ \"brokerEpoch\": 12,\n \"version\": 0 }"), Some(mark));
        for wrong in
            ["", "{}", "{\"version\":0}", "{\"version\":1,\"brokerEpoch\":12}", "{\"version\":0,\"brokerEpoch\":"]
        {
            assert_eq!(CleanShutdown::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
