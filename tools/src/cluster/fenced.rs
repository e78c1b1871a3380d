//! Why a broker is fenced, and what would help.
//!
//! No API of Kafka's tells it. So the broker itself is asked whether it answers, and the metadata quorum when it last heard of
//! it and how far it has read. What none of them tells is not said.

use std::time::Duration;

use ballast_client::Cluster;
use ballast_client::admin::Quorum;
use serde::Serialize;

use crate::output::{count, duration};
use crate::probe::answers;

/// Longer silence than this is no pause between two heartbeats.
const SILENT_MS: i64 = 5_000;

/// A reason and a remedy, one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Why {
    pub(super) why: String,
    pub(super) help: String,
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signs {
    /// `Ok` if it answers; else why not.
    pub(super) answers: Result<(), String>,
    /// Milliseconds since the leader of the quorum heard of it, if it is a member that was heard of.
    pub(super) silent_ms: Option<i64>,
    /// Metadata entries that it has not read, if that is known.
    pub(super) behind: Option<i64>,
}

impl Signs {
    /// Asks the broker at `host:port`, and looks into what the quorum said.
    pub(super) async fn gather(cluster: &Cluster, id: i32, at: (&str, i32), quorum: Option<&Quorum>) -> Signs {
        let member = quorum.and_then(|quorum| {
            let mut members = quorum.voters.iter().chain(&quorum.observers);
            members.find(|member| member.id == id).map(|member| (quorum, member))
        });
        let now_ms = cluster.world().clock.now_ms();
        let silent_ms = member.filter(|(_, member)| member.last_fetch_ms >= 0);
        let behind = member.filter(|(_, member)| member.log_end_offset >= 0);
        Signs {
            answers: answers(cluster, at).await,
            silent_ms: silent_ms.map(|(_, member)| (now_ms - member.last_fetch_ms).max(0)),
            behind: behind.map(|(quorum, member)| (quorum.high_watermark - member.log_end_offset).max(0)),
        }
    }

    /// What they come to.
    pub(super) fn explain(&self) -> Why {
        let silent = self
            .silent_ms
            .filter(|ms| *ms > SILENT_MS)
            .map(|ms| duration(Duration::from_millis(u64::try_from(ms).unwrap_or(0))));
        let (why, help) = match (&self.answers, silent) {
            (Err(reason), silent) => {
                let heard =
                    silent.map_or_else(String::new, |silent| format!("; the controllers heard of it {silent} ago"));
                (
                    format!("it does not answer ({reason}){heard}"),
                    "start it, or look at what its log ends with; if it is gone for good, unregister it".to_owned(),
                )
            }
            (Ok(()), Some(silent)) => (
                format!("it answers here, but the controllers have not heard of it for {silent}"),
                "look at the network between it and the controllers' listeners".to_owned(),
            ),
            (Ok(()), None) => match self.behind {
                Some(behind) if behind > 0 => (
                    format!("it is catching up on metadata, {} entries behind", count(behind)),
                    "wait; it is let in when it has read its own registration".to_owned(),
                ),
                _ => (
                    "it runs, but the active controller has no heartbeat of it that lets it in".to_owned(),
                    "wait for a heartbeat (broker.heartbeat.interval.ms); after that, its log says what was refused"
                        .to_owned(),
                ),
            },
        };
        Why { why, help }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(answers: Result<(), &str>, silent_ms: Option<i64>, behind: Option<i64>) -> String {
        Signs { answers: answers.map_err(str::to_owned), silent_ms, behind }.explain().why
    }

    #[test]
    fn what_is_known_is_said_and_no_more() {
        let refused = Err("connection refused");
        assert_eq!(why(refused, None, None), "it does not answer (connection refused)");
        assert_eq!(
            why(refused, Some(42_000), Some(7)),
            "it does not answer (connection refused); the controllers heard of it 42.0 s ago"
        );
        assert_eq!(why(Ok(()), Some(300), Some(1_200)), "it is catching up on metadata, 1,200 entries behind");
        assert!(why(Ok(()), Some(60_000), Some(0)).contains("not heard of it for 1 m 0 s"));
        assert!(why(Ok(()), Some(10), Some(0)).starts_with("it runs, but the active controller"));
    }
}
