//! Settings of a client, by Kafka's names.
//!
//! A name that Kafka's clients know and we have no use for is left alone, as Kafka's own clients leave it; what would
//! change how bytes travel (`security.protocol`) is refused rather than ignored.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{ClientError, ConnectionOptions};

/// Where the cluster is, and how patient we are with it.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// `bootstrap.servers`: `host:port`, separated by commas. One that answers is enough.
    pub bootstrap_servers: Vec<(String, u16)>,
    /// Of every connection.
    pub connection: ConnectionOptions,
    /// `request.timeout.ms`: how long one request may take before its connection is given up.
    pub request_timeout: Duration,
    /// `default.api.timeout.ms`: how long a call may take, with all its retries.
    pub api_timeout: Duration,
    /// `retry.backoff.ms`: the pause after a first failure. It doubles with each further one.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`: the longest pause.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`: how long leaders and addresses are believed without a reason for doubt.
    pub metadata_max_age: Duration,
}

impl Default for ClientConfig {
    fn default() -> ClientConfig {
        ClientConfig {
            bootstrap_servers: vec![("localhost".to_owned(), 9092)],
            connection: ConnectionOptions::default(),
            request_timeout: Duration::from_secs(30),
            api_timeout: Duration::from_secs(60),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
        }
    }
}

impl ClientConfig {
    /// Default settings for the cluster at `bootstrap`.
    ///
    /// # Errors
    /// `Config` if the list is malformed.
    pub fn new(bootstrap: &str) -> Result<ClientConfig, ClientError> {
        Ok(ClientConfig { bootstrap_servers: parse_bootstrap(bootstrap)?, ..ClientConfig::default() })
    }

    /// Takes the settings of `properties` that a client has.
    ///
    /// # Errors
    /// `Config`: a value that cannot be read, or one that asks for what this client does not do.
    pub fn apply(&mut self, properties: &BTreeMap<String, String>) -> Result<(), ClientError> {
        if let Some(list) = properties.get("bootstrap.servers") {
            self.bootstrap_servers = parse_bootstrap(list)?;
        }
        if let Some(id) = properties.get("client.id") {
            self.connection.client_id.clone_from(id);
        }
        match properties.get("security.protocol").map(String::as_str) {
            None | Some("PLAINTEXT") => {}
            Some(other) => {
                return Err(ClientError::Config(format!("security.protocol={other}: only PLAINTEXT is built in")));
            }
        }
        for (name, setting) in [
            ("request.timeout.ms", &mut self.request_timeout),
            ("default.api.timeout.ms", &mut self.api_timeout),
            ("socket.connection.setup.timeout.ms", &mut self.connection.setup_timeout),
            ("retry.backoff.ms", &mut self.retry_backoff),
            ("retry.backoff.max.ms", &mut self.retry_backoff_max),
            ("metadata.max.age.ms", &mut self.metadata_max_age),
        ] {
            if let Some(ms) = parse::<u64>(properties, name)? {
                *setting = Duration::from_millis(ms);
            }
        }
        Ok(())
    }

    /// The bootstrap list as one text.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let all: Vec<String> = self.bootstrap_servers.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        all.join(",")
    }
}

/// Reads a property as a number (or anything else that has a text form).
///
/// # Errors
/// `Config` with name and value.
pub fn parse<T: std::str::FromStr>(
    properties: &BTreeMap<String, String>,
    name: &str,
) -> Result<Option<T>, ClientError> {
    let Some(text) = properties.get(name) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| ClientError::Config(format!("{name}={text}: not a valid value")))
}

fn parse_bootstrap(list: &str) -> Result<Vec<(String, u16)>, ClientError> {
    let addresses = list
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(|one| parse_address(one).ok_or_else(|| ClientError::Config(format!("{one:?} is not HOST:PORT"))))
        .collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        return Err(ClientError::Config("the list of bootstrap servers is empty".to_owned()));
    }
    Ok(addresses)
}

/// `host:port`, `[ipv6]:port`, or either behind `PROTOCOL://`, as Kafka's tools take it.
fn parse_address(text: &str) -> Option<(String, u16)> {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port != 0)?;
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_lists_are_read_as_kafka_writes_them() {
        let config = ClientConfig::new("a:1, [::1]:2,PLAINTEXT://c:3,").unwrap();
        assert_eq!(config.bootstrap_servers, [("a".into(), 1), ("::1".into(), 2), ("c".into(), 3)]);
        for bad in ["", ",", "a", "a:", ":1", "a:0", "a:65536", "a:b"] {
            assert!(matches!(ClientConfig::new(bad), Err(ClientError::Config(_))), "{bad:?}");
        }
    }

    #[test]
    fn a_security_protocol_that_is_not_built_in_is_refused_not_ignored() {
        let mut config = ClientConfig::default();
        let ask = |value: &str| BTreeMap::from([("security.protocol".to_owned(), value.to_owned())]);
        config.apply(&ask("PLAINTEXT")).unwrap();
        assert!(matches!(config.apply(&ask("SASL_SSL")), Err(ClientError::Config(_))));
    }

    #[test]
    fn values_are_read_by_kafkas_names() {
        let mut config = ClientConfig::default();
        config.apply(&BTreeMap::from([("request.timeout.ms".to_owned(), " 1500 ".to_owned())])).unwrap();
        assert_eq!(config.request_timeout, Duration::from_millis(1500));
        let bad = BTreeMap::from([("retry.backoff.ms".to_owned(), "soon".to_owned())]);
        assert_eq!(config.apply(&bad).unwrap_err().to_string(), "retry.backoff.ms=soon: not a valid value");
    }
}
