//! IncrementalAlterConfigs and AlterConfigs: each resource's configs are judged as a whole, then changed as a whole.

use std::collections::BTreeSet;

use super::brokers::WORD_BYTES_MAX;
use super::draft::Draft;
use super::elect::elect_leaderless;
use super::error::ConfigError;
use super::names;
use super::request::{ConfigChange, ConfigEntry, ConfigOp};
use crate::image::{ConfigResource, Record, ResourceKind};
use crate::settings::{
    Configs, Kind, Layers, SettingError, TopicSettings, broker_setting, group_setting, topic_setting,
    validate_broker_configs, validate_group_configs,
};

const MIN_ISR: &str = "min.insync.replicas";
const UNCLEAN: &str = "unclean.leader.election.enable";

type Row = (ConfigResource, Result<(), ConfigError>);

/// Changes single configs. A row for each resource; one that comes twice is refused both times.
pub(super) fn incremental(draft: &mut Draft<'_>, resources: &[(ConfigResource, Vec<ConfigChange>)]) -> Vec<Row> {
    for_each(draft, resources, |draft, resource, changes| {
        let mut configs = present(draft, resource);
        let mut keys = BTreeSet::new();
        for change in changes {
            if !keys.insert(change.key.as_str()) {
                return Err(bad_request("Error due to duplicate config keys"));
            }
            apply(&mut configs, resource, change)?;
        }
        let deleted = |key: &str| changes.iter().any(|change| change.key == key && change.op == ConfigOp::Delete);
        judge_min_isr(draft, resource, &configs, deleted(MIN_ISR))?;
        Ok(configs)
    })
}

/// Replaces all configs of each resource.
pub(super) fn replace(draft: &mut Draft<'_>, resources: &[(ConfigResource, Vec<ConfigEntry>)]) -> Vec<Row> {
    for_each(draft, resources, |draft, resource, entries| {
        let mut configs = Configs::new();
        for (key, value) in entries {
            let value = value.clone().ok_or_else(|| null_value(key))?;
            if configs.insert(key.clone(), value).is_some() {
                return Err(bad_request("Error due to duplicate config keys"));
            }
        }
        let deleted = present(draft, resource).contains_key(MIN_ISR) && !configs.contains_key(MIN_ISR);
        judge_min_isr(draft, resource, &configs, deleted)?;
        Ok(configs)
    })
}

fn bad_request(why: &str) -> ConfigError {
    ConfigError::BadRequest(why.to_owned())
}

fn null_value(key: &str) -> ConfigError {
    ConfigError::BadRequest(format!("Null value not supported for : {key}"))
}

fn present(draft: &Draft<'_>, resource: &ConfigResource) -> Configs {
    draft.image.configs(resource).map(|configs| (**configs).clone()).unwrap_or_default()
}

fn for_each<T>(
    draft: &mut Draft<'_>,
    resources: &[(ConfigResource, T)],
    wanted: impl Fn(&Draft<'_>, &ConfigResource, &T) -> Result<Configs, ConfigError>,
) -> Vec<Row> {
    let comes_twice = |resource: &ConfigResource| resources.iter().filter(|(other, _)| other == resource).count() > 1;
    let mut rows = Vec::new();
    for (resource, change) in resources {
        let result = if comes_twice(resource) {
            Err(bad_request("Each resource must appear at most once."))
        } else {
            check_resource(draft, resource)
                .and_then(|()| wanted(draft, resource, change))
                .and_then(|configs| judge_lengths(&configs).map(|()| configs))
                .and_then(|configs| judge(draft, resource, &configs).map(|()| configs))
                .map(|configs| put(draft, resource, &configs))
        };
        rows.push((resource.clone(), result));
    }
    rows
}

/// Is it something that can have configs?
fn check_resource(draft: &Draft<'_>, resource: &ConfigResource) -> Result<(), ConfigError> {
    let name = resource.name.as_str();
    match resource.kind {
        ResourceKind::Topic if name.is_empty() => Err(bad_request("Default topic resources are not allowed.")),
        ResourceKind::Topic => {
            names::validate(name).map_err(ConfigError::BadTopicName)?;
            let found = draft.image.topic(name).is_some();
            if found { Ok(()) } else { Err(ConfigError::UnknownTopic(name.to_owned())) }
        }
        ResourceKind::Broker if name.is_empty() || name.parse::<i32>().is_ok() => Ok(()),
        ResourceKind::Broker => Err(ConfigError::BadRequest(format!("Node id must be an integer, but it is: {name}"))),
        ResourceKind::Group if name.is_empty() => Err(bad_request("Default group resources are not allowed.")),
        ResourceKind::ClientMetrics if name.is_empty() => Err(bad_request("Subscription name can't be empty")),
        ResourceKind::Group | ResourceKind::ClientMetrics => Ok(()),
    }
}

/// Applies one change to a resource's configs.
fn apply(configs: &mut Configs, resource: &ConfigResource, change: &ConfigChange) -> Result<(), ConfigError> {
    let ConfigChange { key, op, value } = change;
    if *op == ConfigOp::Delete {
        configs.remove(key);
        return Ok(());
    }
    let value = value.as_ref().ok_or_else(|| null_value(key))?;
    if *op == ConfigOp::Set {
        configs.insert(key.clone(), value.clone());
        return Ok(());
    }
    let setting = match resource.kind {
        ResourceKind::Topic => topic_setting(key),
        ResourceKind::Broker => broker_setting(key),
        ResourceKind::Group => group_setting(key),
        ResourceKind::ClientMetrics => None,
    };
    let Some(setting) = setting.filter(|setting| setting.kind == Kind::List) else {
        let verb = if *op == ConfigOp::Append { "APPEND" } else { "SUBTRACT" };
        return Err(ConfigError::NotHere(match resource.kind {
            ResourceKind::Broker => {
                format!("Config value {} is not allowed for config key: {key}", verb.to_lowercase())
            }
            _ => format!("Can't {verb} to key {key} because its type is not LIST."),
        }));
    };
    let now = configs.get(key).map_or(setting.default.unwrap_or_default(), String::as_str);
    let mut items = items_of(now);
    for item in items_of(value) {
        if *op == ConfigOp::Subtract {
            items.retain(|other| *other != item);
        } else if !items.contains(&item) {
            items.push(item);
        }
    }
    let joined = items.join(",");
    configs.insert(key.clone(), joined);
    Ok(())
}

fn items_of(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Can clients of every version be told these configs? The older ones' strings end at 32,767 bytes.
pub(super) fn judge_lengths(configs: &Configs) -> Result<(), ConfigError> {
    match configs.iter().find(|(_, value)| value.len() > WORD_BYTES_MAX) {
        Some((key, value)) => {
            let bytes = value.len();
            let why = format!("The value of {key} has {bytes} bytes, and {WORD_BYTES_MAX} are the most");
            Err(ConfigError::BadRequest(why))
        }
        None => Ok(()),
    }
}

/// Are these configs valid for this resource?
fn judge(draft: &Draft<'_>, resource: &ConfigResource, configs: &Configs) -> Result<(), ConfigError> {
    match resource.kind {
        ResourceKind::Topic => {
            // A key that an older version let in must not keep its topic from being changed.
            TopicSettings::validate(configs, &draft.layers()).map(|_| ()).map_err(ConfigError::Invalid)
        }
        ResourceKind::Group => validate_group_configs(configs, &draft.layers()).map_err(ConfigError::Invalid),
        ResourceKind::Broker => {
            validate_broker_configs(configs, resource.name.is_empty(), &broker_layers(draft, resource))
                .map_err(|error| ConfigError::BadRequest(error.to_string()))
        }
        ResourceKind::ClientMetrics => judge_client_metrics(configs),
    }
}

/// What is in force on a broker before the change. (Its own file may say something else than the controller's.)
fn broker_layers<'a>(draft: &'a Draft<'_>, resource: &ConfigResource) -> Layers<'a> {
    Layers::of(&draft.image, resource.name.parse().ok(), draft.statics)
}

/// The three keys of a client metrics subscription (KIP-714).
fn judge_client_metrics(configs: &Configs) -> Result<(), ConfigError> {
    for (key, value) in configs {
        let fits = match key.as_str() {
            "metrics" => true,
            "match" if is_client_match(value) => true,
            "match" => return Err(ConfigError::NotHere(format!("Illegal client matching pattern: {value}"))),
            "interval.ms" => value.trim().parse::<i32>().is_ok_and(|ms| (100..=3_600_000).contains(&ms)),
            _ => return Err(ConfigError::BadRequest(format!("Unknown client metrics configuration: {key}"))),
        };
        if !fits {
            return Err(ConfigError::BadRequest(format!(
                "Invalid value {value} for {key}, interval must be between 100 and 3600000 (1 hour)"
            )));
        }
    }
    Ok(())
}

/// `key=pattern` pairs of what is known of a client. The patterns are not compiled: nothing is matched against them.
fn is_client_match(value: &str) -> bool {
    const KEYS: [&str; 6] = [
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    ];
    items_of(value).iter().all(|item| {
        item.split_once('=').is_some_and(|(key, pattern)| KEYS.contains(&key.trim()) && !pattern.is_empty())
    })
}

//@ KIP-966: with eligible leader replicas, min.insync.replicas is the controller's to know, so it is the same everywhere.
fn judge_min_isr(
    draft: &Draft<'_>,
    resource: &ConfigResource,
    configs: &Configs,
    deleted: bool,
) -> Result<(), ConfigError> {
    if !draft.image.elr_enabled() || resource.kind != ResourceKind::Broker {
        return Ok(());
    }
    let refused = |why: &str| Err(ConfigError::Invalid(SettingError::Conflict(why.to_owned())));
    match resource.name.is_empty() {
        true if deleted => refused("Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
        false if configs.contains_key(MIN_ISR) => {
            refused("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
        }
        true | false => Ok(()),
    }
}

/// Writes what differs, and does at once what the new values ask for.
fn put(draft: &mut Draft<'_>, resource: &ConfigResource, configs: &Configs) {
    let before = present(draft, resource);
    let gone = before.keys().filter(|key| !configs.contains_key(*key)).map(|key| (key.clone(), None));
    let set = configs.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let changes: Vec<(String, Option<String>)> =
        gone.chain(set.map(|(key, value)| (key.clone(), Some(value.clone())))).collect();
    let changed = |key: &str| changes.iter().any(|(other, _)| other == key);
    let (min_isr, unclean) = (changed(MIN_ISR), changed(UNCLEAN));
    for (key, value) in changes {
        draft.push(Record::Config { resource: resource.clone(), key, value });
    }
    let name = resource.name.clone();
    let (is_topic, is_cluster) = (resource.kind == ResourceKind::Topic, *resource == ConfigResource::cluster());
    let concerns = move |draft: &Draft<'_>, topic| {
        is_cluster || (is_topic && draft.image.topic_by_id(topic).is_some_and(|topic| *topic.name == *name))
    };
    if min_isr {
        // A lower minimum may empty the ELR.
        for (topic, index) in draft.partitions_where(|partition| !partition.elr.is_empty()) {
            if concerns(draft, topic) {
                draft.change(topic, index, |_| {});
            }
        }
    }
    if unclean {
        elect_leaderless(draft, concerns);
    }
}
