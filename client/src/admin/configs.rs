//! Reading and changing the settings of topics, brokers and groups.

use std::collections::BTreeMap;

use ballast_wire::BrokerId;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};

use super::{Admin, only, outcome, settled, text};
use crate::{ClientError, ErrorCode, Target};

/// Whose settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic's.
    Topic(String),
    /// One broker's.
    Broker(BrokerId),
    /// The defaults of all brokers.
    Cluster,
    /// A group's.
    Group(String),
}

impl ConfigResource {
    fn kind(&self) -> i8 {
        match self {
            ConfigResource::Topic(_) => 2,
            ConfigResource::Broker(_) | ConfigResource::Cluster => 4,
            ConfigResource::Group(_) => 32,
        }
    }

    fn name(&self) -> String {
        match self {
            ConfigResource::Topic(name) | ConfigResource::Group(name) => name.clone(),
            ConfigResource::Broker(id) => id.to_string(),
            ConfigResource::Cluster => String::new(),
        }
    }

    /// A broker's own settings are known to itself alone.
    fn target(&self) -> Target<'static> {
        match self {
            ConfigResource::Broker(id) => Target::Broker(*id),
            ConfigResource::Topic(_) | ConfigResource::Cluster | ConfigResource::Group(_) => Target::Any,
        }
    }
}

impl std::fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfigResource::Topic(topic) => write!(f, "topic {topic}"),
            ConfigResource::Broker(id) => write!(f, "broker {id}"),
            ConfigResource::Cluster => f.write_str("the cluster"),
            ConfigResource::Group(group) => write!(f, "group {group}"),
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// Set on the topic.
    Topic,
    /// Set on this broker while it ran.
    DynamicBroker,
    /// Set for all brokers while they ran.
    DynamicCluster,
    /// From the broker's properties file.
    Static,
    /// Nobody set it.
    Default,
    /// Set on the group.
    Group,
    /// One that this client does not know, by its number.
    Other(i8),
}

impl ConfigSource {
    fn of(number: i8) -> ConfigSource {
        match number {
            1 => ConfigSource::Topic,
            2 => ConfigSource::DynamicBroker,
            3 => ConfigSource::DynamicCluster,
            4 => ConfigSource::Static,
            5 => ConfigSource::Default,
            8 => ConfigSource::Group,
            other => ConfigSource::Other(other),
        }
    }

    /// Kafka's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ConfigSource::Topic => "DYNAMIC_TOPIC_CONFIG",
            ConfigSource::DynamicBroker => "DYNAMIC_BROKER_CONFIG",
            ConfigSource::DynamicCluster => "DYNAMIC_DEFAULT_BROKER_CONFIG",
            ConfigSource::Static => "STATIC_BROKER_CONFIG",
            ConfigSource::Default => "DEFAULT_CONFIG",
            ConfigSource::Group => "DYNAMIC_GROUP_CONFIG",
            ConfigSource::Other(_) => "UNKNOWN",
        }
    }
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; `None` if it has none or is a secret.
    pub value: Option<String>,
    /// Where that comes from.
    pub source: ConfigSource,
    /// Cannot be changed while the broker runs.
    pub read_only: bool,
    /// A secret.
    pub sensitive: bool,
}

impl Admin {
    /// All settings of `resource`, by name.
    ///
    /// # Errors
    /// `Refused`, with the broker's words.
    pub async fn describe_configs(&self, resource: &ConfigResource) -> Result<Vec<ConfigEntry>, ClientError> {
        let what = format!("reading the settings of {resource}");
        let build = |_| {
            let row = DescribeConfigsResource::default()
                .with_resource_type(resource.kind())
                .with_resource_name(text(&resource.name()))
                .with_configuration_keys(None);
            DescribeConfigsRequest::default().with_resources(vec![row])
        };
        let (_, answer) = self
            .cluster
            .call(resource.target(), &what, build, |answer| {
                let row = only(&answer.results, &what)?;
                settled(&what, row.error_code, row.error_message.as_ref())
            })
            .await?;
        let row = only(answer.results, &what)?;
        outcome(&what, row.error_code, row.error_message.as_ref())?;
        let mut entries: Vec<ConfigEntry> = row
            .configs
            .into_iter()
            .map(|entry| ConfigEntry {
                name: entry.name.to_string(),
                value: entry.value.map(|value| value.to_string()),
                source: ConfigSource::of(entry.config_source),
                read_only: entry.read_only,
                sensitive: entry.is_sensitive,
            })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Some settings of many topics, in one request: the values by topic and name. Topics that are gone have no row.
    ///
    /// # Errors
    /// That no broker could be reached.
    pub async fn topic_settings(
        &self,
        topics: &[&str],
        names: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, ClientError> {
        const TOPIC: i8 = 2;
        let what = "reading the settings of topics";
        let build = |_| {
            let rows = topics.iter().map(|topic| {
                DescribeConfigsResource::default()
                    .with_resource_type(TOPIC)
                    .with_resource_name(text(topic))
                    .with_configuration_keys(Some(names.iter().map(|name| text(name)).collect()))
            });
            DescribeConfigsRequest::default().with_resources(rows.collect())
        };
        let (_, answer) = self.cluster.call(Target::Any, what, build, |_| Ok(())).await?;
        let found = answer.results.into_iter().filter(|row| ErrorCode(row.error_code) == ErrorCode::NONE);
        let values = found.map(|row| {
            let values = row.configs.iter().filter_map(|entry| Some((entry.name.to_string(), entry.value.as_ref()?)));
            (row.resource_name.to_string(), values.map(|(name, value)| (name, value.to_string())).collect())
        });
        Ok(values.collect())
    }

    /// Sets (a value) and unsets (`None`) some settings of `resource`; the others stay.
    ///
    /// # Errors
    /// `Refused`, with the controller's words; then nothing has changed.
    pub async fn alter_configs(
        &self,
        resource: &ConfigResource,
        changes: &[(String, Option<String>)],
        validate_only: bool,
    ) -> Result<(), ClientError> {
        const SET: i8 = 0;
        const DELETE: i8 = 1;
        let what = format!("changing the settings of {resource}");
        let build = |_| {
            let configs = changes.iter().map(|(name, value)| {
                AlterableConfig::default()
                    .with_name(text(name))
                    .with_config_operation(if value.is_some() { SET } else { DELETE })
                    .with_value(value.as_deref().map(text))
            });
            let row = AlterConfigsResource::default()
                .with_resource_type(resource.kind())
                .with_resource_name(text(&resource.name()))
                .with_configs(configs.collect());
            IncrementalAlterConfigsRequest::default().with_resources(vec![row]).with_validate_only(validate_only)
        };
        let (_, answer) = self
            .cluster
            .call(resource.target(), &what, build, |answer| {
                let row = only(&answer.responses, &what)?;
                settled(&what, row.error_code, row.error_message.as_ref())
            })
            .await?;
        let row = only(&answer.responses, &what)?;
        outcome(&what, row.error_code, row.error_message.as_ref())
    }
}
