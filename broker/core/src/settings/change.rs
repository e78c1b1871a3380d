//! Judges changes of dynamic configs of brokers and groups. (A topic's are judged whole: see `TopicSettings::validate`.)

use super::layers::{Configs, Layers};
use super::setting::Scope;
use super::{SettingError, Value, broker_setting, group_setting, nearest_group_setting};

/// Judges the dynamic configs that a broker (or, with `cluster_default`, all of them) shall have.
///
/// Names that no setting has are accepted, as Kafka accepts them: they may belong to a plug-in.
///
/// # Errors
/// A setting that is only read at start, one that only a single broker or listener can have, or a value that is not valid.
pub fn validate_broker_configs(configs: &Configs, cluster_default: bool) -> Result<(), SettingError> {
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
        setting.parse(text)?;
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
