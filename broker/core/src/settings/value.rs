//! Text to value and back, with Kafka's rules: what counts as a number, a boolean, a list, and what is in range.

use super::SettingError;
use super::setting::{Kind, Setting, Valid};

/// A value that has been read and found valid.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A boolean.
    Boolean(bool),
    /// A text, a class name or a password.
    Text(String),
    /// A whole number of any width.
    Number(i64),
    /// A fraction.
    Double(f64),
    /// Texts that stood between commas.
    List(Vec<String>),
}

impl Value {
    /// The value as Kafka would print it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Value::Boolean(value) => value.to_string(),
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Double(double) => double_text(*double),
            Value::List(items) => items.join(","),
        }
    }
}

impl Setting {
    /// Reads and judges `text`.
    ///
    /// # Errors
    /// The text is not of the type, or out of range. The message is Kafka's.
    pub fn parse(&self, text: &str) -> Result<Value, SettingError> {
        let value = self.parse_kind(text)?;
        self.judge(&value)?;
        Ok(value)
    }

    fn parse_kind(&self, text: &str) -> Result<Value, SettingError> {
        let trimmed = text.trim();
        let not_a = || SettingError::NotA { name: self.name.to_owned(), value: text.to_owned(), kind: self.kind };
        match self.kind {
            Kind::Boolean if trimmed.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
            Kind::Boolean if trimmed.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
            Kind::Boolean => Err(not_a()),
            Kind::Int => trimmed.parse::<i32>().map(|n| Value::Number(n.into())).map_err(|_| not_a()),
            Kind::Short => trimmed.parse::<i16>().map(|n| Value::Number(n.into())).map_err(|_| not_a()),
            Kind::Long => trimmed.parse::<i64>().map(Value::Number).map_err(|_| not_a()),
            Kind::Double => match trimmed.parse::<f64>() {
                Ok(double) if double.is_finite() => Ok(Value::Double(double)),
                _ => Err(not_a()),
            },
            Kind::List if trimmed.is_empty() => Ok(Value::List(Vec::new())),
            Kind::List => Ok(Value::List(trimmed.split(',').map(|item| item.trim().to_owned()).collect())),
            Kind::String | Kind::Class => Ok(Value::Text(trimmed.to_owned())),
            Kind::Password => Ok(Value::Text(text.to_owned())),
        }
    }

    fn judge(&self, value: &Value) -> Result<(), SettingError> {
        let fits = match (self.valid, value) {
            (Valid::Range(min, max), Value::Number(n)) => (min..=max).contains(n),
            (Valid::RangeOr(min, max, or), Value::Number(n)) => (min..=max).contains(n) || *n == or,
            (Valid::Fraction(min, max), Value::Double(d)) => (min..=max).contains(d),
            (Valid::OneOf(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Valid::OneOfIgnoreCase(words), Value::Text(text)) => {
                words.iter().any(|word| word.eq_ignore_ascii_case(text))
            }
            (Valid::ListOf(words), Value::List(items)) => items.iter().all(|item| words.contains(&item.as_str())),
            (Valid::ThrottledReplicas, Value::List(items)) => is_throttled_replicas(items),
            (Valid::NonEmpty, Value::Text(text)) => !text.is_empty(),
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let shown = match (self.valid, value) {
            (Valid::ListOf(words), Value::List(items)) => {
                items.iter().find(|item| !words.contains(&item.as_str())).cloned().unwrap_or_default()
            }
            (_, Value::List(items)) => format!("[{}]", items.join(", ")),
            (_, value) => value.text(),
        };
        Err(SettingError::OutOfRange { name: self.name.to_owned(), value: shown, valid: self.valid })
    }
}

/// `*`, `none`, nothing, or pairs of numbers: as Kafka's validator for throttled replicas.
fn is_throttled_replicas(items: &[String]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_pair = |item: &String| item.split_once(':').is_some_and(|(p, b)| is_number(p) && is_number(b));
    matches!(items, [one] if one == "*" || one == "none") || items.iter().all(is_pair)
}

/// As Java prints a double: plain between 10^-3 and 10^7, else with an exponent, and always with a fraction.
fn double_text(double: f64) -> String {
    let size = double.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{double:?}");
    }
    let text = format!("{double:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{broker_setting, topic_setting};
    use super::*;

    fn topic(name: &str, text: &str) -> Result<String, String> {
        let setting = topic_setting(name).expect("the tests name settings that exist");
        setting.parse(text).map(|value| value.text()).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        assert_eq!(topic("retention.ms", " 1000 "), Ok("1000".into()));
        assert_eq!(topic("retention.ms", "+5"), Ok("5".into()));
        assert_eq!(
            topic("retention.ms", "1h"),
            Err("Invalid value 1h for configuration retention.ms: Not a number of type LONG".into())
        );
        assert_eq!(
            topic("segment.bytes", "9999999999"),
            Err("Invalid value 9999999999 for configuration segment.bytes: Not a number of type INT".into())
        );
    }

    #[test]
    fn ranges_are_refused_in_kafkas_words() {
        assert_eq!(
            topic("min.cleanable.dirty.ratio", "-1"),
            Err("Invalid value -1.0 for configuration min.cleanable.dirty.ratio: Value must be at least 0".into())
        );
        assert_eq!(
            topic("compression.gzip.level", "0"),
            Err("Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1".into())
        );
        assert_eq!(
            topic("leader.replication.throttled.replicas", "x"),
            Err("Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...".into())
        );
        assert_eq!(
            topic("segment.bytes", "1024"),
            Err("Invalid value 1024 for configuration segment.bytes: Value must be at least 1048576".into())
        );
        assert_eq!(
            topic("min.cleanable.dirty.ratio", "1.5"),
            Err("Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1".into())
        );
        assert_eq!(
            topic("compression.type", "brotli"),
            Err("Invalid value brotli for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer".into())
        );
    }

    #[test]
    fn a_cleanup_policy_is_a_set_that_may_be_empty() {
        assert_eq!(topic("cleanup.policy", "compact, delete"), Ok("compact,delete".into()));
        assert_eq!(topic("cleanup.policy", ""), Ok(String::new()));
        assert!(topic("cleanup.policy", "compact,compact").is_ok());
        assert_eq!(
            topic("cleanup.policy", "delete,shred"),
            Err("Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete".into())
        );
    }

    #[test]
    fn throttled_replicas_are_pairs_or_a_star() {
        for good in ["*", "none", "", "0:1", "0:1,1:2"] {
            assert!(topic("leader.replication.throttled.replicas", good).is_ok(), "{good:?}");
        }
        for bad in ["0", "a:b", "0:1,*", ":", "0:"] {
            assert!(topic("leader.replication.throttled.replicas", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn doubles_are_printed_as_java_prints_them() {
        for (double, text) in
            [(0.5, "0.5"), (1.0, "1.0"), (f64::MAX, "1.7976931348623157E308"), (1e10, "1.0E10"), (0.0, "0.0")]
        {
            assert_eq!(double_text(double), text);
        }
        let setting = broker_setting("log.cleaner.io.max.bytes.per.second").expect("in the table");
        assert!(setting.parse("NaN").is_err());
    }
}
