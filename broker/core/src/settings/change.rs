//! Judges changes of dynamic configs of brokers and groups. (A topic's are judged whole: see `TopicSettings::validate`.)

use super::endpoints::parse_ip_overrides;
use super::layers::{Configs, Layers};
use super::setting::Scope;
use super::{SettingError, Value, broker_setting, group_setting, nearest_group_setting};

/// Judges the dynamic configs that a broker (or, with `cluster_default`, all of them) shall have.
///
/// Names that no setting has are accepted, as Kafka accepts them: they may belong to a plug-in. `present` is what is in
/// force before the change.
///
/// # Errors
/// A setting that is only read at start, one that only a single broker or listener can have, a value that is not valid, or
/// one that is too far from the present one.
pub fn validate_broker_configs(
    configs: &Configs,
    cluster_default: bool,
    present: &Layers<'_>,
) -> Result<(), SettingError> {
    for (name, text) in configs {
        let Some(setting) = broker_setting(name) else { continue };
        let refused = |why: &str| Err(SettingError::Conflict(format!("{why}: [{name}]")));
        let for_listener = setting.name != name;
        if !for_listener && is_key_material(name) {
            return refused(
                "These security configs can be dynamically updated only per-listener using the listener prefix",
            );
        }
        if cluster_default && (for_listener || setting.scope == Scope::PerBroker) {
            return refused("Cannot update these configs at default cluster level, broker id must be specified");
        }
        // What is read at start for all listeners together can be changed for one of them.
        if setting.scope == Scope::Static && !for_listener {
            return refused("Cannot update these configs dynamically");
        }
        let value = setting.parse(text)?;
        if name == "max.connections.per.ip.overrides" {
            parse_ip_overrides(&value.text())?;
        }
        if let Value::Number(count) = value
            && THREAD_COUNTS.contains(&name.as_str())
        {
            check_thread_count(name, count, present.long(name))?;
        }
    }
    check_cleaner_memory(configs, present)
}

/// Numbers of threads: they are at most doubled or halved in one step, whether or not they mean something here.
const THREAD_COUNTS: [&str; 6] = [
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
];

fn check_thread_count(name: &str, count: i64, present: i64) -> Result<(), SettingError> {
    let refused = |why: &str| {
        Err(SettingError::Conflict(format!(
            "Dynamic thread count update validation failed for {name}={count}, value should {why} the current value {present}"
        )))
    };
    match count {
        _ if count == present => Ok(()),
        ..=0 => Err(SettingError::Conflict(format!(
            "Dynamic thread count update validation failed for {name}={count}, value should be at least 1"
        ))),
        _ if count < present / 2 => refused("be at least half"),
        _ if count > present.saturating_mul(2) => refused("not be greater than double"),
        _ => Ok(()),
    }
}

/// A cleaner's table needs room.
fn check_cleaner_memory(configs: &Configs, present: &Layers<'_>) -> Result<(), SettingError> {
    const BYTES_PER_THREAD_MIN: i64 = 1 << 20;
    let (memory, threads) = ("log.cleaner.dedupe.buffer.size", "log.cleaner.threads");
    if !configs.contains_key(memory) && !configs.contains_key(threads) {
        return Ok(());
    }
    let number = |name: &str| {
        let changed = configs.get(name).and_then(|text| text.trim().parse::<i64>().ok());
        changed.unwrap_or_else(|| present.long(name))
    };
    if number(memory) / number(threads).max(1) < BYTES_PER_THREAD_MIN {
        return Err(SettingError::Conflict(format!("{memory} must be at least 1MB per cleaner thread.")));
    }
    Ok(())
}

fn is_key_material(name: &str) -> bool {
    name.starts_with("ssl.keystore.") || name.starts_with("ssl.truststore.") || name == "ssl.key.password"
}

/// Judges the configs that a group shall have. Their bounds are settings of the brokers:
/// `consumer.session.timeout.ms` lies between `group.consumer.min.session.timeout.ms` and `group.consumer.max.…`.
///
/// # Errors
/// A name that is unknown or a value that is not valid.
pub fn validate_group_configs(configs: &Configs, layers: &Layers<'_>) -> Result<(), SettingError> {
    for (name, text) in configs {
        let setting = group_setting(name).ok_or_else(|| SettingError::Unknown {
            scope: "group",
            name: name.clone(),
            nearest: nearest_group_setting(name),
        })?;
        if let Value::Number(number) = setting.parse(text)? {
            check_bounds(name, number, layers)?;
        }
    }
    Ok(())
}

fn check_bounds(name: &str, number: i64, layers: &Layers<'_>) -> Result<(), SettingError> {
    let Some((kind, rest)) = name.split_once('.') else { return Ok(()) };
    let bound = |which: &str| {
        let setting = broker_setting(&format!("group.{kind}.{which}.{rest}"))?;
        match layers.value(setting) {
            Some((_, Value::Number(bound))) => Some(bound),
            _ => None,
        }
    };
    match (bound("min"), bound("max")) {
        (Some(min), Some(max)) if !(min..=max).contains(&number) => {
            Err(SettingError::Conflict(format!("{name} must be in the range {min} to {max} inclusive.")))
        }
        _ => Ok(()),
    }
}
