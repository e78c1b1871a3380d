//! Judges changes of dynamic configs of brokers and groups. (A topic's are judged whole: see `TopicSettings::validate`.)

use super::layers::Configs;
use super::setting::Scope;
use super::{SettingError, broker_setting, group_setting, nearest_group_setting};

/// Judges the dynamic configs that a broker (or, with `cluster_default`, all of them) shall have.
///
/// Names that no setting has are accepted, as Kafka accepts them: they may belong to a plug-in.
///
/// # Errors
/// A setting that is only read at start, one that only a single broker can have, or a value that is not valid.
pub fn validate_broker_configs(configs: &Configs, cluster_default: bool) -> Result<(), SettingError> {
    for (name, text) in configs {
        let Some(setting) = broker_setting(name) else { continue };
        let prefixed = setting.name != name;
        match setting.scope {
            // Settings that are per listener can be changed under the listener's name even if the plain name cannot.
            Scope::Static if prefixed => {}
            Scope::Static => {
                return Err(SettingError::Conflict(format!("Cannot update these configs dynamically: Set({name})")));
            }
            Scope::PerBroker if cluster_default => {
                return Err(SettingError::Conflict(format!(
                    "Cannot update these configs at default cluster level: Set({name})"
                )));
            }
            Scope::PerBroker | Scope::Cluster | Scope::Topic | Scope::Group => {}
        }
        if prefixed && cluster_default {
            return Err(SettingError::Conflict(format!(
                "Cannot update these configs at default cluster level: Set({name})"
            )));
        }
        setting.parse(text)?;
    }
    Ok(())
}

/// Judges the configs that a group shall have.
///
/// # Errors
/// A name that is unknown or a value that is not valid.
pub fn validate_group_configs(configs: &Configs) -> Result<(), SettingError> {
    for (name, text) in configs {
        let setting = group_setting(name).ok_or_else(|| SettingError::Unknown {
            scope: "group",
            name: name.clone(),
            nearest: nearest_group_setting(name),
        })?;
        setting.parse(text)?;
    }
    Ok(())
}
