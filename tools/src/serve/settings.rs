//! Where `serve` gets its settings from: file, environment, flags, `--set`, and the defaults of a broker on a desk.

use std::net::SocketAddr;
use std::path::PathBuf;

use ballast_core::settings::{Notice, Statics, from_environment, parse_host_port};
use ballast_wire::properties;
use tempfile::TempDir;

use super::Serve;
use crate::error::Failure;

const DEFAULT_DATA_DIR: &str = "./data";
const DEFAULT_LISTEN: &str = "127.0.0.1:9092";
const DEFAULT_HTTP: &str = "127.0.0.1:9644";
const ANY_HTTP: &str = "127.0.0.1:0";
const HTTP_OFF: &str = "off";

const LOG_DIRS: &str = "log.dirs";
const LOG_DIR: &str = "log.dir";
const LISTENERS: &str = "listeners";
const ADVERTISED_LISTENERS: &str = "advertised.listeners";
const FAULTS: &str = "test.faults.enable";
const ROLES: &str = "process.roles";
/// Name of the listener that `--controller` makes.
const CONTROLLER: &str = "CONTROLLER";
const HTTP_LISTENER: &str = "ballast.http.listener";

/// Everything that the start needs.
pub(super) struct Resolved {
    pub(super) statics: Statics,
    pub(super) notices: Vec<Notice>,
    pub(super) log_dirs: Vec<PathBuf>,
    pub(super) http: Option<SocketAddr>,
    /// May faults be injected?
    pub(super) faults: bool,
    /// The folder of an ephemeral broker: it goes when this is dropped.
    pub(super) temporary: Option<TempDir>,
}

/// Merges all sources.
///
/// # Errors
/// A file that cannot be read, a flag or value that makes no sense: one line for all of them.
pub(super) fn resolve(arguments: &Serve) -> Result<Resolved, Failure> {
    let mut pairs = from_file(arguments)?;
    let variables: Vec<(String, String)> = std::env::vars().collect();
    pairs.extend(from_environment(variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
    pairs.extend(from_flags(arguments));
    pairs.extend(from_set(arguments)?);
    let temporary = temporary(arguments)?;
    if let Some(folder) = &temporary {
        pairs.push((LOG_DIRS.to_owned(), folder.path().display().to_string()));
    }
    add_defaults(&mut pairs, arguments.ephemeral);
    add_controller(&mut pairs, arguments);
    let (statics, notices) = Statics::merge(pairs).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(lines.join("; "))
    })?;
    let dirs = statics.get(LOG_DIRS).or(statics.get(LOG_DIR)).unwrap_or(DEFAULT_DATA_DIR);
    let log_dirs = dirs.split(',').map(str::trim).filter(|dir| !dir.is_empty()).map(PathBuf::from).collect();
    let http = http(statics.get(HTTP_LISTENER).unwrap_or(DEFAULT_HTTP))?;
    let faults = statics.get(FAULTS).is_some_and(|text| text.trim() == "true");
    Ok(Resolved { statics, notices, log_dirs, http, faults, temporary })
}

fn from_file(arguments: &Serve) -> Result<Vec<(String, String)>, Failure> {
    let Some(path) = &arguments.config else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let entries = properties::parse(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(entries.into_iter().map(|entry| (entry.key, entry.value)).collect())
}

fn from_flags(arguments: &Serve) -> Vec<(String, String)> {
    let plaintext = |address: &String| format!("PLAINTEXT://{address}");
    let flags = [
        (LOG_DIRS, arguments.data_dir.as_ref().map(|dir| dir.display().to_string())),
        (LISTENERS, arguments.listen.as_ref().map(plaintext)),
        (ADVERTISED_LISTENERS, arguments.advertise.as_ref().map(plaintext)),
        (HTTP_LISTENER, arguments.http.clone()),
        ("node.id", arguments.node_id.map(|id| id.to_string())),
        ("broker.rack", arguments.rack.clone()),
        ("controller.quorum.voters", arguments.quorum.clone()),
    ];
    flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn from_set(arguments: &Serve) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("--set {text}: expected KEY=VALUE"))),
    };
    arguments.set.iter().map(pair).collect()
}

fn temporary(arguments: &Serve) -> Result<Option<TempDir>, Failure> {
    if !arguments.ephemeral {
        return Ok(None);
    }
    if arguments.data_dir.is_some() {
        return Err(Failure::usage("--ephemeral and --data-dir exclude each other".to_owned()));
    }
    let folder = tempfile::Builder::new().prefix("ballast-").tempdir();
    folder.map(Some).map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))
}

fn add_defaults(pairs: &mut Vec<(String, String)>, ephemeral: bool) {
    let http = if ephemeral { ANY_HTTP } else { DEFAULT_HTTP };
    let is_set = |pairs: &[(String, String)], names: &[&str]| pairs.iter().any(|(name, _)| names.contains(&&**name));
    if !is_set(pairs, &[LOG_DIRS, LOG_DIR]) {
        pairs.push((LOG_DIRS.to_owned(), DEFAULT_DATA_DIR.to_owned()));
    }
    if !is_set(pairs, &[LISTENERS]) && !is_controller_alone(pairs) {
        pairs.push((LISTENERS.to_owned(), format!("PLAINTEXT://{DEFAULT_LISTEN}")));
    }
    if !is_set(pairs, &[HTTP_LISTENER]) {
        pairs.push((HTTP_LISTENER.to_owned(), http.to_owned()));
    }
    if !is_set(pairs, &["node.id", "broker.id"]) {
        pairs.push(("node.id".to_owned(), "1".to_owned()));
    }
}

/// Does `process.roles` make the node a dedicated controller? It has no listener for clients, not even by default.
fn is_controller_alone(pairs: &[(String, String)]) -> bool {
    let roles = pairs.iter().rev().find(|(name, _)| name == ROLES);
    roles.is_some_and(|(_, roles)| roles.trim() == "controller")
}

/// `--controller` adds a listener to those that the other sources give.
fn add_controller(pairs: &mut Vec<(String, String)>, arguments: &Serve) {
    let Some(address) = &arguments.controller else { return };
    let others = pairs.iter().rev().find(|(name, _)| name == LISTENERS).map(|(_, value)| format!("{value},"));
    let listeners = format!("{}{CONTROLLER}://{address}", others.unwrap_or_default());
    pairs.push((LISTENERS.to_owned(), listeners));
    pairs.push(("controller.listener.names".to_owned(), CONTROLLER.to_owned()));
}

fn http(text: &str) -> Result<Option<SocketAddr>, Failure> {
    if text == HTTP_OFF {
        return Ok(None);
    }
    let address = text.parse().map(Some);
    address.map_err(|_| Failure::usage(format!("HTTP address {text:?}: expected IP:PORT or {HTTP_OFF}")))
}

/// Host and port of the first listener.
pub(super) fn first_listener(statics: &Statics) -> Result<(String, u16), Failure> {
    let listeners = statics.get(LISTENERS).unwrap_or(DEFAULT_LISTEN);
    let first = listeners.split(',').next().unwrap_or_default();
    let address = first.split_once("://").map_or(first, |(_, address)| address);
    parse_host_port(address).map_err(|why| Failure::usage(format!("listeners has {first:?}: {why}")))
}
