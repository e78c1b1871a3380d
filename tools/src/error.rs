//! How a command fails: one line on stderr, and an exit status.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use ballast_client::{ClientError, ErrorCode};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The operation failed: what, where, and what to do.
    Failed(String),
    /// The command makes no sense as given.
    Usage(String),
    /// What was asked for goes on after this command.
    NotFinished(String),
    /// The operation failed, and perhaps for want of an active controller (`active::explain`).
    Undecided {
        /// The operation.
        what: String,
        /// The whole line, if there is one.
        message: String,
    },
    /// Whoever read our output has gone; nobody is left to tell.
    NobodyReads,
}

impl Failure {
    /// The operation failed: status 1.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure::Failed(message.to_string())
    }

    /// The command was not understood: status 2.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure::Usage(message.to_string())
    }

    /// A failure at a file or folder.
    pub(crate) fn at(path: &std::path::Path, error: impl Display) -> Failure {
        Failure::Failed(format!("{}: {error}", path.display()))
    }

    /// Prints the line and gives the status.
    pub(crate) fn report(&self) -> ExitCode {
        let (message, status) = match self {
            Failure::Failed(message) | Failure::Undecided { message, .. } => (message, 1),
            Failure::Usage(message) => (message, 2),
            Failure::NotFinished(message) => (message, 3),
            Failure::NobodyReads => return ExitCode::SUCCESS,
        };
        // One line, whatever a broker wrote into its message.
        let line: Vec<&str> = message.split_whitespace().collect();
        eprintln!("ballast: {}", line.join(" "));
        ExitCode::from(status)
    }
}

/// What failed, and what to do about it.
pub(crate) fn advised(error: &ClientError) -> String {
    let advice = match error.code() {
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => Some("`ballast topic list` shows what is there"),
        Some(ErrorCode::TOPIC_ALREADY_EXISTS) => Some("--if-not-exists accepts that"),
        Some(ErrorCode::OFFSET_OUT_OF_RANGE) => Some("`ballast topic describe` shows which offsets there are"),
        Some(ErrorCode::GROUP_ID_NOT_FOUND) => Some("`ballast group list` shows what is there"),
        Some(ErrorCode::NON_EMPTY_GROUP) => Some("stop its members first"),
        Some(ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION | ErrorCode::REBALANCE_IN_PROGRESS) => {
            Some("the group has gone on without this member, and others will read the same records")
        }
        Some(ErrorCode::FENCED_INSTANCE_ID) => Some("another process runs with the same group.instance.id"),
        Some(ErrorCode::INVALID_CONFIG) => {
            Some("`ballast config describe --all` with --topic, --broker or --group shows what there is")
        }
        Some(ErrorCode::MISMATCHED_ENDPOINT_TYPE) => Some("it is a controller's listener: name a broker's"),
        Some(ErrorCode::MESSAGE_TOO_LARGE) => Some("max.message.bytes of the topic is the limit"),
        _ => None,
    };
    match advice {
        Some(advice) => format!("{error}; {advice}"),
        None => error.to_string(),
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let message = advised(&error);
        let undecided = [ErrorCode::NOT_CONTROLLER, ErrorCode::REQUEST_TIMED_OUT];
        match error {
            ClientError::Refused { what, code, .. } if undecided.contains(&code) => {
                Failure::Undecided { what, message }
            }
            ClientError::TimedOut { what, .. } => Failure::Undecided { what, message },
            _ => Failure::Failed(message),
        }
    }
}

/// Of standard output: files have their names in their failures.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Failed(format!("cannot write the output: {error}")),
        }
    }
}
