//! Every setting, declared once: name, type, default, range, who may change it, text.
//!
//! ```text
//!  topic override > broker dynamic > cluster dynamic > static (file < environment < flag) > default
//! ```
//! Holds: parser, validation, DescribeConfigs and the user's guide read the same tables; a name is in one table of its kind
//! only; every default is valid.
//!
//! Read next: setting.rs (what a setting is), the tables, resolve.rs (which value is in force).

mod broker;
mod change;
mod describe;
mod endpoints;
mod environment;
mod error;
mod layers;
mod nearest;
mod numbers;
mod render;
mod roles;
mod row;
mod setting;
mod statics;
mod table;
mod topic;
mod value;

pub use broker::{BrokerSettings, NodeSettings};
pub use change::{validate_broker_configs, validate_group_configs};
pub use describe::{broker_rows, client_metrics_rows, cluster_rows, group_rows, topic_rows};
pub use endpoints::{Voter, parse_endpoints, parse_host_port, parse_ip_overrides, parse_protocol_map, parse_voters};
pub use environment::from_environment;
pub use error::SettingError;
pub use layers::{Configs, Layers};
pub use nearest::nearest;
pub use numbers::{
    GroupSettings, LogSettings, MembershipSettings, NetworkSettings, QuorumSettings, QuotaSettings,
    ReplicationSettings, TopicDefaults, TransactionSettings,
};
pub use render::render_markdown;
pub use roles::Roles;
pub use row::{Row, Source, Synonym};
pub use setting::{Kind, Scope, Setting, SynonymOf, Use, Valid};
pub use statics::{Notice, Statics};
pub use table::{
    broker_setting, broker_settings, group_setting, group_settings, nearest_broker_setting, nearest_group_setting,
    nearest_topic_setting, topic_setting, topic_settings,
};
pub use topic::{CompressionType, ThrottledReplicas, TimestampType, TopicSettings, topic_flag, topic_number};
pub use value::Value;

#[cfg(test)]
mod tests;
