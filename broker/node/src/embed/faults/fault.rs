//! What can be made to go wrong, as a test says it.
//!
//! A fault is a value: it does nothing until it is planted in a broker, and it can be planted in several.

use std::fmt;
use std::time::Duration;

use ballast_wire::ErrorCode;
use ballast_wire::frame::ApiKey;

/// Something that goes wrong on purpose.
///
/// ```
/// use std::time::Duration;
/// use ballast_broker::embed::{Api, ErrorCode, Fault};
///
/// let slow = Fault::delay(Api::FETCH, Duration::from_millis(20)).on_topic("orders");
/// let moved = Fault::fail_next(Api::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 2).on_partition("orders", 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) effect: Effect,
    pub(crate) target: Target,
    /// How often it happens; `None` for until it is removed.
    pub(crate) times: Option<u32>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The request is served at once, its answer leaves later.
    Delay(ApiKey, Duration),
    /// The answer says this code, and nothing was done. `NONE`: the request is served as ever.
    Fail(ApiKey, ErrorCode),
    /// The request is not served, and its connection closes.
    Drop(ApiKey),
    /// The request is served, and its connection closes instead of an answer.
    Lose(ApiKey),
    /// Each read, write and sync takes so much longer.
    SlowDisk(Duration),
    /// Topics' segments take nothing more.
    DiskFull,
    /// A sync of a topic's segment fails.
    FailSync,
}

/// To what it happens. Without a topic: to everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) topic: Option<String>,
    /// Only with a topic.
    pub(crate) partition: Option<i32>,
}

impl Target {
    /// Does it mean this partition?
    pub(crate) fn means(&self, topic: &str, partition: Option<i32>) -> bool {
        let this_topic = self.topic.as_deref().is_none_or(|wanted| wanted == topic);
        let this_partition = match (self.partition, partition) {
            (Some(wanted), Some(partition)) => wanted == partition,
            (Some(_) | None, None) | (None, Some(_)) => true,
        };
        this_topic && this_partition
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.topic, self.partition) {
            (None, _) => f.write_str("everything"),
            (Some(topic), None) => f.write_str(topic),
            (Some(topic), Some(partition)) => write!(f, "{topic}-{partition}"),
        }
    }
}

impl Fault {
    fn new(effect: Effect, times: Option<u32>) -> Fault {
        Fault { effect, target: Target::default(), times }
    }

    /// Answers of `api` leave `delay` later than they would. What the request asks for is done at once, and the requests
    /// behind it keep their order. Until it is removed.
    #[must_use]
    pub fn delay(api: ApiKey, delay: Duration) -> Fault {
        Fault::new(Effect::Delay(api, delay), None)
    }

    /// The next `times` requests of `api` are not served: their answers have the API's own shape and say `code` wherever
    /// Apache Kafka would say it. On a partition: the next `times` answers about it say `code`, other partitions of
    /// the same requests are served. Planted one after another they are a script; `ErrorCode::NONE` in it serves.
    #[must_use]
    pub fn fail_next(api: ApiKey, code: ErrorCode, times: u32) -> Fault {
        Fault::new(Effect::Fail(api, code), Some(times))
    }

    /// The next request of `api` is not served: its connection closes.
    #[must_use]
    pub fn drop_connection(api: ApiKey) -> Fault {
        Fault::new(Effect::Drop(api), Some(1))
    }

    /// The next request of `api` is served, and its connection closes instead of an answer: whoever asks again asks for
    /// something that is done.
    #[must_use]
    pub fn lose_answer(api: ApiKey) -> Fault {
        Fault::new(Effect::Lose(api), Some(1))
    }

    /// Each read, write and sync of a file takes `delay` longer. Until it is removed.
    #[must_use]
    pub fn slow_disk(delay: Duration) -> Fault {
        Fault::new(Effect::SlowDisk(delay), None)
    }

    /// Segments of topics take nothing more, as on a full disk: produce answers `KAFKA_STORAGE_ERROR`. Metadata still has
    /// room, as it has from a broker's reserve. Until it is removed.
    #[must_use]
    pub fn disk_full() -> Fault {
        Fault::new(Effect::DiskFull, None)
    }

    /// The next sync of a topic's segment fails, and with it the log directory. Only a broker that syncs can be told so.
    #[must_use]
    pub fn fail_next_sync() -> Fault {
        Fault::new(Effect::FailSync, Some(1))
    }

    /// Only where a request names this topic.
    #[must_use]
    pub fn on_topic(mut self, topic: &str) -> Fault {
        self.target = Target { topic: Some(topic.to_owned()), partition: None };
        self
    }

    /// Only where a request names this partition.
    #[must_use]
    pub fn on_partition(mut self, topic: &str, partition: i32) -> Fault {
        self.target = Target { topic: Some(topic.to_owned()), partition: Some(partition) };
        self
    }

    /// So many times, instead of the number that goes with the fault.
    #[must_use]
    pub fn times(mut self, times: u32) -> Fault {
        self.times = Some(times);
        self
    }

    /// Until it is removed.
    #[must_use]
    pub fn always(mut self) -> Fault {
        self.times = None;
        self
    }

    /// The API whose requests it meets; `None` for a fault of the disk.
    #[must_use]
    pub fn api(&self) -> Option<ApiKey> {
        match self.effect {
            Effect::Delay(api, _) | Effect::Fail(api, _) | Effect::Drop(api) | Effect::Lose(api) => Some(api),
            Effect::SlowDisk(_) | Effect::DiskFull | Effect::FailSync => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.effect {
            Effect::Delay(api, delay) => write!(f, "{api} answers {delay:?} later")?,
            Effect::Fail(api, code) => write!(f, "{api} answers {code}")?,
            Effect::Drop(api) => write!(f, "{api} closes the connection")?,
            Effect::Lose(api) => write!(f, "{api} is served and closes the connection")?,
            Effect::SlowDisk(delay) => write!(f, "the disk takes {delay:?} longer")?,
            Effect::DiskFull => f.write_str("the disk is full")?,
            Effect::FailSync => f.write_str("a sync fails")?,
        }
        write!(f, ", for {}", self.target)?;
        match self.times {
            Some(times) => write!(f, ", {times} times"),
            None => f.write_str(", always"),
        }
    }
}
