//! Why a call failed, by whose fault, and whether trying again makes sense.

use std::time::Duration;

use crate::ErrorCode;

/// Why a call failed. Cheap to clone: one broken connection answers many callers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// A setting is missing or makes no sense.
    #[error("{0}")]
    Config(String),
    /// No address of the bootstrap list answered.
    #[error("no broker answers at {bootstrap} ({last}): is it running, and is --bootstrap-server right?")]
    NoBroker {
        /// The list, as given.
        bootstrap: String,
        /// What the last one said.
        last: String,
    },
    /// One broker could not be reached.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// `host:port`.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// An open connection broke. Requests without an answer may or may not have taken effect.
    #[error("connection to {address} broke: {reason}")]
    Disconnected {
        /// `host:port`.
        address: String,
        /// What broke it.
        reason: String,
    },
    /// No answer in time. The request may or may not have taken effect.
    #[error("{what} was not done within {}{}", rounded(*after), because(what, last.as_deref()))]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
        /// The last failure before, if there was one.
        last: Option<Box<ClientError>>,
    },
    /// The broker does not offer what we need.
    #[error("{address} does not offer {what}")]
    Unsupported {
        /// `host:port`.
        address: String,
        /// The request, and the versions that both sides know.
        what: String,
    },
    /// Bytes that are not what the protocol says.
    #[error("{address} sent a malformed answer to {what}: {reason}")]
    BadAnswer {
        /// `host:port`.
        address: String,
        /// The request.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// What we were asked to send does not fit the protocol.
    #[error("{0}")]
    BadRequest(String),
    /// The broker refused.
    #[error("{what}: {}", refusal(*code, message.as_deref()))]
    Refused {
        /// What was refused.
        what: String,
        /// The broker's code.
        code: ErrorCode,
        /// The broker's own words.
        message: Option<String>,
    },
    /// The client was closed first.
    #[error("the client is closed")]
    Closed,
}

impl ClientError {
    /// A refusal of `what` with `code`.
    pub fn refused(what: impl Into<String>, code: ErrorCode) -> ClientError {
        ClientError::Refused { what: what.into(), code, message: None }
    }

    /// May the same call succeed later?
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self {
            ClientError::NoBroker { .. } | ClientError::Connect { .. } | ClientError::Disconnected { .. } => true,
            ClientError::TimedOut { .. } => true,
            ClientError::Refused { code, .. } => code.is_retriable(),
            ClientError::Config(_)
            | ClientError::Unsupported { .. }
            | ClientError::BadAnswer { .. }
            | ClientError::BadRequest(_)
            | ClientError::Closed => false,
        }
    }

    /// The broker's code, if this is a refusal.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The broker's code, if this is a refusal, or if refusals went on until time was up.
    #[must_use]
    pub fn last_code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::TimedOut { last: Some(last), .. } => last.last_code(),
            other => other.code(),
        }
    }

    /// Does it hint that leaders or addresses have changed?
    #[must_use]
    pub fn means_stale_metadata(&self) -> bool {
        match self {
            ClientError::Connect { .. } | ClientError::Disconnected { .. } | ClientError::TimedOut { .. } => true,
            ClientError::Refused { code, .. } => code.means_stale_metadata(),
            _ => false,
        }
    }
}

/// What stood in the way of `what`, which was named already.
fn because(what: &str, last: Option<&ClientError>) -> String {
    match last {
        None => String::new(),
        Some(ClientError::Refused { what: same, code, message }) if same == what => {
            format!(": {}", refusal(*code, message.as_deref()))
        }
        Some(last) => format!(": {last}"),
    }
}

/// A span as people wait for it: `250 ms`, `9.6 s`, `30 s`.
fn rounded(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        return format!("{} ms", span.as_millis());
    }
    let seconds = format!("{:.1}", span.as_secs_f64());
    format!("{} s", seconds.strip_suffix(".0").unwrap_or(&seconds))
}

fn refusal(code: ErrorCode, message: Option<&str>) -> String {
    match message {
        Some(message) if !message.is_empty() => format!("{} ({})", message.trim_end_matches('.'), code.name()),
        _ => code.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_of_time_is_named_once_and_its_time_is_rounded() {
        let refused = |what: &str| Some(Box::new(ClientError::refused(what, ErrorCode::REQUEST_TIMED_OUT)));
        let late = |last| ClientError::TimedOut {
            what: "adding voter 9".to_owned(),
            after: Duration::from_micros(9_588_866),
            last,
        };
        assert_eq!(late(None).to_string(), "adding voter 9 was not done within 9.6 s");
        let same = late(refused("adding voter 9"));
        assert_eq!(same.to_string(), "adding voter 9 was not done within 9.6 s: REQUEST_TIMED_OUT (7)");
        assert_eq!((same.code(), same.last_code()), (None, Some(ErrorCode::REQUEST_TIMED_OUT)));
        let other = late(refused("asking for metadata")).to_string();
        assert!(other.ends_with("9.6 s: asking for metadata: REQUEST_TIMED_OUT (7)"), "{other}");
        assert_eq!(
            [250, 2_000, 9_970, 61_200].map(Duration::from_millis).map(rounded),
            ["250 ms", "2 s", "10 s", "61.2 s"]
        );
    }
}
