//! Addresses in settings: `listeners`, `advertised.listeners`, their protocols, and the voters of the quorum.
//!
//! Holds: listener names come out in upper case, as Kafka normalises them; a port fits 16 bits; an IPv6 host stands in
//! brackets in text and without them in an `Endpoint`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ballast_wire::BrokerId;

use super::SettingError;
use crate::endpoint::{Endpoint, SecurityProtocol};

/// A voter of the metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Voter {
    /// Its node id.
    pub id: BrokerId,
    /// Where its controller listens.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// Reads `NAME:PROTOCOL,…`.
///
/// # Errors
/// An entry without a colon, an unknown protocol, or a name that comes twice.
pub fn parse_protocol_map(text: &str) -> Result<BTreeMap<String, SecurityProtocol>, SettingError> {
    let mut map = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let bad = |why: &str| SettingError::Conflict(format!("listener.security.protocol.map has {entry:?}: {why}"));
        let (name, protocol) = entry.split_once(':').ok_or_else(|| bad("expected NAME:PROTOCOL"))?;
        let protocol = SecurityProtocol::from_name(protocol.trim())
            .ok_or_else(|| bad("the protocol is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"))?;
        if map.insert(name.trim().to_uppercase(), protocol).is_some() {
            return Err(bad("the name comes twice"));
        }
    }
    Ok(map)
}

/// Reads `NAME://host:port` entries of the setting `setting`. `protocol_of` says how a listener is protected.
///
/// # Errors
/// An entry of another form, a name that comes twice, or a listener without a protocol.
pub fn parse_endpoints(
    setting: &str,
    items: &[String],
    protocol_of: impl Fn(&str) -> Option<SecurityProtocol>,
) -> Result<Vec<Endpoint>, SettingError> {
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for item in items {
        let bad = |why: String| SettingError::Conflict(format!("{setting} has {item:?}: {why}"));
        let (name, address) = item.split_once("://").ok_or_else(|| bad("expected NAME://host:port".to_owned()))?;
        let listener = name.trim().to_uppercase();
        if listener.is_empty() {
            return Err(bad("the listener has no name".to_owned()));
        }
        let (host, port) = parse_host_port(address).map_err(&bad)?;
        if endpoints.iter().any(|endpoint| endpoint.listener == listener) {
            return Err(bad("each listener must have a different name".to_owned()));
        }
        let protocol = protocol_of(&listener)
            .ok_or_else(|| bad(format!("listener.security.protocol.map has no protocol for {listener}")))?;
        endpoints.push(Endpoint { listener, host, port, protocol });
    }
    Ok(endpoints)
}

/// Reads `host:port`, `[v6]:port` or `:port`.
///
/// # Errors
/// Says what is wrong, without repeating the text.
pub fn parse_host_port(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.trim().rsplit_once(':').ok_or_else(|| "the port is missing".to_owned())?;
    let port = port.parse().map_err(|_| format!("{port:?} is no port (0 to 65535)"))?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or_else(|| "the bracket is not closed".to_owned())?,
        None if host.contains(':') => return Err("an IPv6 address must stand in [brackets]".to_owned()),
        None => host,
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
    match host.chars().find(|c| !is_host(*c)) {
        Some(c) => Err(format!("{c:?} cannot be in a host name")),
        None => Ok((host.to_owned(), port)),
    }
}

/// Reads `id@host:port` entries.
///
/// # Errors
/// An entry of another form, an id that comes twice, or an address that nobody can be reached at.
pub fn parse_voters(items: &[String]) -> Result<Vec<Voter>, SettingError> {
    let mut voters: Vec<Voter> = Vec::new();
    for item in items {
        let bad = |why: String| SettingError::Conflict(format!("controller.quorum.voters has {item:?}: {why}"));
        let (id, address) = item.split_once('@').ok_or_else(|| bad("expected id@host:port".to_owned()))?;
        let id: BrokerId = id.trim().parse().map_err(|_| bad(format!("{id:?} is no node id")))?;
        if id < 0 {
            return Err(bad("a node id cannot be negative".to_owned()));
        }
        let (host, port) = parse_host_port(address).map_err(&bad)?;
        if host.is_empty() || is_every_interface(&host) || port == 0 {
            return Err(bad("the other voters must be able to reach this address".to_owned()));
        }
        if voters.iter().any(|voter| voter.id == id) {
            return Err(bad(format!("node {id} comes twice")));
        }
        voters.push(Voter { id, host, port });
    }
    Ok(voters)
}

/// Reads `host:port` entries of the setting `setting`.
///
/// # Errors
/// An entry of another form, or an address that nobody can be reached at.
pub(super) fn parse_addresses(setting: &str, items: &[String]) -> Result<Vec<(String, u16)>, SettingError> {
    let address = |item: &String| {
        let bad = |why: String| SettingError::Conflict(format!("{setting} has {item:?}: {why}"));
        let (host, port) = parse_host_port(item).map_err(&bad)?;
        if host.is_empty() || is_every_interface(&host) || port == 0 {
            return Err(bad("nobody can be reached at this address".to_owned()));
        }
        Ok((host, port))
    };
    items.iter().map(address).collect()
}

/// Does the host stand for all interfaces rather than for one that can be reached?
pub(super) fn is_every_interface(host: &str) -> bool {
    matches!(host, "0.0.0.0" | "::" | "0:0:0:0:0:0:0:0")
}

/// Two listeners cannot share a port, except 0, or one IPv4 and one IPv6 address.
pub(super) fn check_ports(endpoints: &[Endpoint]) -> Result<(), SettingError> {
    for (at, one) in endpoints.iter().enumerate() {
        for other in &endpoints[..at] {
            let same_family = one.host.contains(':') == other.host.contains(':');
            if one.port != 0 && one.port == other.port && (same_family || one.host.is_empty() || other.host.is_empty())
            {
                return Err(SettingError::Conflict(format!(
                    "listeners has {other} and {one}: each listener must have a different port"
                )));
            }
        }
    }
    Ok(())
}

/// Reads `max.connections.per.ip.overrides`: `address:limit`, separated by commas. `localhost` stands for both its addresses;
/// other names are not looked up, because what they stand for may change while the broker runs.
///
/// # Errors
/// An entry that is no address with a limit.
pub fn parse_ip_overrides(text: &str) -> Result<BTreeMap<IpAddr, usize>, SettingError> {
    let mut limits = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let refused = || {
            SettingError::Conflict(format!("max.connections.per.ip.overrides has {entry:?}: expected address:limit"))
        };
        let (host, limit) = entry.rsplit_once(':').ok_or_else(refused)?;
        let limit = limit.trim().parse::<u32>().map_err(|_| refused())? as usize;
        if host.trim() == "localhost" {
            limits.insert(IpAddr::from(Ipv4Addr::LOCALHOST), limit);
            limits.insert(IpAddr::from(Ipv6Addr::LOCALHOST), limit);
            continue;
        }
        let host = host.trim().trim_start_matches('[').trim_end_matches(']');
        let ip: IpAddr = host.parse().map_err(|_| refused())?;
        limits.insert(ip.to_canonical(), limit);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners(items: &[&str]) -> Result<Vec<String>, String> {
        let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
        let endpoints = parse_endpoints("listeners", &items, SecurityProtocol::from_name);
        endpoints
            .map(|endpoints| endpoints.iter().map(ToString::to_string).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn listeners_are_read_as_kafka_reads_them() {
        assert_eq!(
            listeners(&["plaintext://:9092", "SSL://[::1]:0", "SASL_SSL://kafka-1.example:9094"]),
            Ok(vec!["PLAINTEXT://:9092".into(), "SSL://[::1]:0".into(), "SASL_SSL://kafka-1.example:9094".into()])
        );
    }

    #[test]
    fn a_bad_listener_is_named_with_the_reason() {
        for (bad, why) in [
            ("localhost:9092", "expected NAME://host:port"),
            ("PLAINTEXT://localhost", "the port is missing"),
            ("PLAINTEXT://localhost:70000", "is no port"),
            ("PLAINTEXT://::1:9092", "[brackets]"),
            ("PLAINTEXT://a b:1", "cannot be in a host name"),
            ("INTERNAL://:1", "has no protocol for INTERNAL"),
            ("://:1", "has no name"),
        ] {
            let error = listeners(&[bad]).expect_err(bad);
            assert!(error.contains(why) && error.contains(bad), "{bad}: {error}");
        }
        assert!(listeners(&["SSL://:1", "ssl://:2"]).expect_err("twice").contains("different name"));
    }

    #[test]
    fn voters_need_distinct_ids_and_addresses_that_can_be_reached() {
        let voters = |text: &str| parse_voters(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(voters("1@a:9093,2@[::1]:9093").map(|voters| voters.len()), Ok(2));
        for bad in ["1@a:1,1@b:1", "a:1", "x@a:1", "-1@a:1", "1@0.0.0.0:1", "1@a:0", "1@:1"] {
            assert!(voters(bad).is_err(), "{bad}");
        }
    }
}
