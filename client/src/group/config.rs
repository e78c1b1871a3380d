//! Settings of a member of a group, by Kafka's names and with its defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Assignor;
use crate::ClientError;
use crate::config::parse;

/// How a member takes part in its group.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// `group.id`.
    pub group_id: String,
    /// `group.instance.id`: a static member keeps its partitions over a restart (KIP-345).
    pub instance_id: Option<String>,
    /// `session.timeout.ms`: a member that is silent for this long is put out of the group.
    pub session_timeout: Duration,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `max.poll.interval.ms`: a member whose application does not poll for this long leaves the group. Also how long the
    /// group waits for it in a rebalance.
    pub poll_interval_max: Duration,
    /// `partition.assignment.strategy`, in the order of preference.
    pub assignors: Vec<Assignor>,
    /// `enable.auto.commit`: what has been handed out by one poll is committed by a later one.
    pub auto_commit: bool,
    /// `auto.commit.interval.ms`: how much later.
    pub auto_commit_interval: Duration,
    /// `client.rack`, told to the group's leader.
    pub rack: Option<String>,
}

impl GroupConfig {
    /// Default settings for a member of `group_id`.
    #[must_use]
    pub fn new(group_id: &str) -> GroupConfig {
        GroupConfig {
            group_id: group_id.to_owned(),
            instance_id: None,
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            poll_interval_max: Duration::from_secs(300),
            assignors: vec![Assignor::Range],
            auto_commit: true,
            auto_commit_interval: Duration::from_secs(5),
            rack: None,
        }
    }

    /// Takes the settings of `properties` that a member has. The group's id is not among them: whoever made this named it.
    ///
    /// # Errors
    /// `Config`: a value that cannot be read, or settings that contradict each other.
    pub fn apply(&mut self, properties: &BTreeMap<String, String>) -> Result<(), ClientError> {
        for (name, setting) in [
            ("session.timeout.ms", &mut self.session_timeout),
            ("heartbeat.interval.ms", &mut self.heartbeat_interval),
            ("max.poll.interval.ms", &mut self.poll_interval_max),
            ("auto.commit.interval.ms", &mut self.auto_commit_interval),
        ] {
            if let Some(ms) = parse(properties, name)? {
                *setting = Duration::from_millis(ms);
            }
        }
        if let Some(auto) = parse(properties, "enable.auto.commit")? {
            self.auto_commit = auto;
        }
        for (name, setting) in [("group.instance.id", &mut self.instance_id), ("client.rack", &mut self.rack)] {
            if let Some(value) = properties.get(name).filter(|value| !value.is_empty()) {
                *setting = Some(value.clone());
            }
        }
        if let Some(list) = properties.get("partition.assignment.strategy") {
            let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
            let found = |name: &str| {
                let complaint = "only range and roundrobin are built in";
                let error = || ClientError::Config(format!("partition.assignment.strategy={name}: {complaint}"));
                Assignor::from_name(name).ok_or_else(error)
            };
            self.assignors = names.map(found).collect::<Result<_, _>>()?;
        }
        match properties.get("group.protocol").map(|name| name.to_ascii_lowercase()).as_deref() {
            None | Some("classic") => self.check(),
            Some(other) => Err(ClientError::Config(format!("group.protocol={other}: only classic is built in"))),
        }
    }

    /// Do the settings go together?
    ///
    /// # Errors
    /// `Config` with what does not.
    pub fn check(&self) -> Result<(), ClientError> {
        let complaint = if self.group_id.is_empty() {
            "group.id must not be empty"
        } else if self.assignors.is_empty() {
            "partition.assignment.strategy names no strategy"
        } else if self.heartbeat_interval.is_zero() || self.heartbeat_interval >= self.session_timeout {
            "heartbeat.interval.ms must lie between 0 and session.timeout.ms"
        } else {
            return Ok(());
        };
        Err(ClientError::Config(complaint.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(entries: &[(&str, &str)]) -> Result<GroupConfig, ClientError> {
        let mut config = GroupConfig::new("g");
        config.apply(&entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())?;
        Ok(config)
    }

    #[test]
    fn strategies_are_taken_in_their_order_and_unknown_ones_refused() {
        let both = applied(&[("partition.assignment.strategy", "roundrobin, range")]).unwrap();
        assert_eq!(both.assignors, [Assignor::RoundRobin, Assignor::Range]);
        applied(&[("partition.assignment.strategy", "cooperative-sticky")]).unwrap_err();
        applied(&[("partition.assignment.strategy", "")]).unwrap_err();
    }

    #[test]
    fn heartbeats_come_more_often_than_sessions_end_and_the_newer_protocol_is_refused() {
        applied(&[("session.timeout.ms", "3000")]).unwrap_err();
        assert!(!applied(&[("enable.auto.commit", "false")]).unwrap().auto_commit);
        applied(&[("group.protocol", "CLASSIC")]).unwrap();
        applied(&[("group.protocol", "consumer")]).unwrap_err();
    }
}
