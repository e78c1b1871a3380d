//! The tables of all settings, and how to find one by name.

mod build;
mod cluster;
mod group_settings;
mod groups;
mod logs;
mod own;
mod remote;
mod replication;
mod security;
mod server;
mod topics;
mod transactions;

use super::nearest::nearest;
use super::setting::Setting;

const BROKER_TABLES: &[&[Setting]] = &[
    cluster::CLUSTER,
    server::SERVER,
    logs::LOGS,
    replication::REPLICATION,
    groups::GROUPS,
    transactions::TRANSACTIONS,
    security::SECURITY,
    remote::REMOTE,
    own::OWN_BROKER,
];

/// Every broker setting, by subject.
pub fn broker_settings() -> impl Iterator<Item = &'static Setting> {
    BROKER_TABLES.iter().copied().flatten()
}

/// Every topic setting.
pub fn topic_settings() -> impl Iterator<Item = &'static Setting> {
    topics::TOPICS.iter().chain(own::OWN_TOPIC)
}

/// Every group setting.
pub fn group_settings() -> impl Iterator<Item = &'static Setting> {
    group_settings::GROUP_SETTINGS.iter()
}

/// The broker setting `name`. A listener prefix (`listener.name.<listener>.`) is looked through.
#[must_use]
pub fn broker_setting(name: &str) -> Option<&'static Setting> {
    let name = without_listener_prefix(name);
    broker_settings().find(|setting| setting.name == name)
}

/// The topic setting `name`.
#[must_use]
pub fn topic_setting(name: &str) -> Option<&'static Setting> {
    topic_settings().find(|setting| setting.name == name)
}

/// The group setting `name`.
#[must_use]
pub fn group_setting(name: &str) -> Option<&'static Setting> {
    group_settings().find(|setting| setting.name == name)
}

/// The broker setting whose name is most like `name`, if one is alike at all.
#[must_use]
pub fn nearest_broker_setting(name: &str) -> Option<&'static str> {
    nearest(name, broker_settings().map(|setting| setting.name))
}

/// The topic setting whose name is most like `name`, if one is alike at all.
#[must_use]
pub fn nearest_topic_setting(name: &str) -> Option<&'static str> {
    nearest(name, topic_settings().map(|setting| setting.name))
}

/// The group setting whose name is most like `name`, if one is alike at all.
#[must_use]
pub fn nearest_group_setting(name: &str) -> Option<&'static str> {
    nearest(name, group_settings().map(|setting| setting.name))
}

/// `name` without `listener.name.<listener>.` and, behind that, without the name of a SASL mechanism.
#[must_use]
pub(super) fn without_listener_prefix(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("listener.name.") else { return name };
    let Some((_listener, base)) = rest.split_once('.') else { return name };
    let is_setting = |base: &str| broker_settings().any(|setting| setting.name == base);
    match base.split_once('.') {
        Some((_mechanism, behind)) if !is_setting(base) && is_setting(behind) => behind,
        _ => base,
    }
}
