//! Settings from environment variables, by the rule of the apache/kafka container image. The caller reads the environment;
//! this only translates.

/// Variables that begin with `KAFKA_` but mean the Java virtual machine or the image itself.
const NOT_SETTINGS: &[&str] = &[
    "KAFKA_VERSION",
    "KAFKA_HOME",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
];

/// Settings in `variables`: `KAFKA_LOG_DIRS` is `log.dirs`; `_` stands for `.`, `__` for `_`, `___` for `-`.
pub fn from_environment<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    variables
        .into_iter()
        .filter(|(name, _)| !NOT_SETTINGS.contains(name))
        .filter_map(|(name, value)| Some((setting_name(name.strip_prefix("KAFKA_")?), value.to_owned())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

fn setting_name(variable: &str) -> String {
    let mut name = String::with_capacity(variable.len());
    let mut rest = variable;
    while let Some(at) = rest.find('_') {
        name.push_str(&rest[..at]);
        let run = rest[at..].bytes().take_while(|byte| *byte == b'_').count();
        match run {
            1 => name.push('.'),
            2 => name.push('_'),
            3 => name.push('-'),
            _ => name.push_str(&rest[at..at + run]),
        }
        rest = &rest[at + run..];
    }
    name.push_str(rest);
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_stand_for_dots_underscores_and_dashes() {
        let given = [
            ("KAFKA_LOG_DIRS", "/data"),
            ("KAFKA_LISTENER_NAME_INTERNAL_SCRAM___SHA___256_SASL_JAAS_CONFIG", "x"),
            ("KAFKA_A__B", "y"),
            ("KAFKA_HEAP_OPTS", "-Xmx1g"),
            ("PATH", "/bin"),
            ("KAFKA_", "z"),
        ];
        let pairs = from_environment(given);
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["log.dirs", "listener.name.internal.scram-sha-256.sasl.jaas.config", "a_b"]);
    }
}
