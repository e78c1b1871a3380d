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
    #[error("Invalid value {value} for configuration {name}: {}", not_a(*kind))]
    NotA {
        /// The setting.
        name: String,
        /// The text.
        value: String,
        /// The type.
        kind: Kind,
    },
    /// The value is outside the range.
    #[error("Invalid value {value} for configuration {name}: {}", out_of_range(name, *valid, value))]
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

fn not_a(kind: Kind) -> String {
    match kind {
        Kind::Boolean => "Expected value to be either true or false".to_owned(),
        Kind::Int | Kind::Short | Kind::Long | Kind::Double => {
            format!("Not a number of type {}", kind.name().to_uppercase())
        }
        Kind::String | Kind::List | Kind::Class | Kind::Password => format!("Not a {}", kind.name()),
    }
}

fn out_of_range(name: &str, valid: Valid, value: &str) -> String {
    let below = |min: f64| value.trim().parse::<f64>().is_ok_and(|value| value < min);
    match valid {
        Valid::Range(min, _) if below(min as f64) => format!("Value must be at least {min}"),
        Valid::Range(_, max) => format!("Value must be no more than {max}"),
        Valid::RangeOr(min, max, or) => format!("Value must be between {min} and {max} or equal to {or}"),
        Valid::Fraction(min, _) if below(min) => format!("Value must be at least {min}"),
        Valid::Fraction(_, max) => format!("Value must be no more than {max}"),
        Valid::OneOf(words) | Valid::OneOfIgnoreCase(words) | Valid::ListOf(words) => {
            format!("String must be one of: {}", words.join(", "))
        }
        Valid::ThrottledReplicas => {
            format!("{name} must be the literal '*' or a list of replicas in the following format: {valid}")
        }
        Valid::NonEmpty => "String must be non-empty".to_owned(),
        Valid::Any => "not allowed".to_owned(),
    }
}
