//! Every setting, declared once: name, type, default, range, who may change it, text.
//!
//! ```text
//!  topic override > broker dynamic > cluster dynamic > static (file < environment < flag) > default
//! ```
//! Holds: parser, validation, DescribeConfigs and the user's guide read the same tables; a name is in one table of its kind
//! only; every default is valid.
//!
//! Read next: setting.rs (what a setting is), the tables, resolve.rs (which value is in force).

mod error;
mod nearest;
mod row;
mod setting;
mod statics;
mod table;
mod value;

pub use error::SettingError;
pub use row::{Row, Source, Synonym};
pub use setting::{Kind, Scope, Setting, SynonymOf, Use, Valid};
pub use statics::Statics;
pub use table::{
    broker_setting, broker_settings, group_setting, group_settings, nearest_broker_setting, nearest_group_setting,
    nearest_topic_setting, topic_setting, topic_settings,
};
pub use value::Value;
