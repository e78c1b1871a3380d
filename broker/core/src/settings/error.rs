//! Why a setting was refused.

use super::{Kind, Valid};

/// Why a value, or a name, is not acceptable.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// No setting is called that.
    #[error("Unknown {scope} config name: {name}{}", hint(nearest))]
    Unknown {
        /// `topic`, `group` or `broker`.
        scope: &'static str,
        /// The name.
        name: String,
        /// The known name that is most like it.
        nearest: Option<&'static str>,
    },
    /// The text is no value of the type.
    #[error("Invalid value {value} for configuration {name}: Not a {} value", kind.name())]
    NotA {
        /// The setting.
        name: String,
        /// The text.
        value: String,
        /// The type.
        kind: Kind,
    },
    /// The value is outside the range.
    #[error("Invalid value {value} for configuration {name}: Value must be in {valid}")]
    OutOfRange {
        /// The setting.
        name: String,
        /// The text.
        value: String,
        /// What is allowed.
        valid: Valid,
    },
    /// Two settings do not go together, or one is not possible here.
    #[error("{0}")]
    Conflict(String),
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}
