//! Faults on demand, and a record of what clients asked for.
//!
//! ```text
//! test -> Faults::plant -> rules -> intercept (requests) -> the API's handler, or an answer of `shapes`
//!                                -> disk      (files)    -> the real disk, or an error
//! ```
//! [`Faults`] belong to one broker and survive its restarts. A broker without them pays nothing.
//!
//! Read next: `fault` (what there is), `rules` (which one meets what), `intercept` and `disk` (where they act).

mod fault;
mod recorder;
mod rules;

use std::sync::atomic::{AtomicBool, Ordering};

use ballast_wire::ErrorCode;
use ballast_wire::frame::ApiKey;
use parking_lot::Mutex;

pub use self::fault::Fault;
pub(crate) use self::fault::{Effect, Target};
pub use self::recorder::Recorded;
use self::recorder::Recorder;
pub(super) use self::rules::{DiskCall, End};
use self::rules::{DiskVerdict, Named, RULES_MAX, Rules, Verdict};
pub use self::rules::{FaultId, Planted};
use crate::api::TABLE;

/// APIs whose answers say for each partition, or each topic, how it went, and can be told what to say of one.
const TARGETS: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::DELETE_RECORDS,
    ApiKey::OFFSET_FOR_LEADER_EPOCH,
];

/// Why a fault cannot be planted: it would never happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// Nobody can ask for it.
    #[error("{0} is not served by this broker")]
    NotServed(ApiKey),
    /// Failing is told of a request as a whole.
    #[error("answers of {0} cannot fail for one topic or partition alone; fail the request, or delay or drop it")]
    NoTargets(ApiKey),
    /// Metadata tells of a topic as a whole.
    #[error("answers of Metadata can fail for a topic, not for one of its partitions")]
    TopicOnly,
    /// The whole disk is slow, or none of it.
    #[error("a slow disk is slow for every topic")]
    WholeDisk,
    /// An ephemeral broker does not sync.
    #[error("this broker does not sync its files, so that no sync can fail; give it a data_dir, or make it durable")]
    NothingSyncs,
    /// Nobody meant that.
    #[error("{RULES_MAX} faults are planted already; remove some")]
    TooMany,
}

/// The faults of one broker, and the record of its requests.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Rules>,
    recorder: Mutex<Recorder>,
    /// Does a sync mean anything on the broker's disk?
    pub(super) syncs: AtomicBool,
}

impl Faults {
    /// Plants a fault. It acts from now on, for every client.
    ///
    /// # Errors
    /// It could never happen here.
    pub fn plant(&self, fault: Fault) -> Result<FaultId, FaultError> {
        self.check(&fault)?;
        let mut rules = self.rules.lock();
        if rules.all().len() == RULES_MAX {
            return Err(FaultError::TooMany);
        }
        Ok(rules.plant(fault))
    }

    fn check(&self, fault: &Fault) -> Result<(), FaultError> {
        let Target { topic, partition } = &fault.target;
        if let Some(api) = fault.api().filter(|api| TABLE.iter().all(|row| row.key != *api)) {
            return Err(FaultError::NotServed(api));
        }
        match fault.effect {
            Effect::Fail(ApiKey::METADATA, _) if partition.is_some() => Err(FaultError::TopicOnly),
            Effect::Fail(api, _) if topic.is_some() && !TARGETS.contains(&api) => Err(FaultError::NoTargets(api)),
            Effect::SlowDisk(_) if topic.is_some() => Err(FaultError::WholeDisk),
            Effect::FailSync if !self.syncs.load(Ordering::Relaxed) => Err(FaultError::NothingSyncs),
            _ => Ok(()),
        }
    }

    /// Every fault that was planted and not removed, used up or not.
    #[must_use]
    pub fn planted(&self) -> Vec<Planted> {
        self.rules.lock().all().to_vec()
    }

    /// How often a planted fault has happened; 0 for one that was removed.
    #[must_use]
    pub fn fired(&self, id: FaultId) -> u64 {
        self.rules.lock().all().iter().find(|planted| planted.id == id).map_or(0, |planted| planted.fired)
    }

    /// Removes a fault. What has become of it, if it was there.
    pub fn remove(&self, id: FaultId) -> Option<Planted> {
        self.rules.lock().remove(id)
    }

    /// Removes every fault, and says how many there were.
    pub fn clear(&self) -> usize {
        self.rules.lock().clear()
    }

    /// Writes requests down from now on, and forgets those of before.
    pub fn record(&self) {
        self.recorder.lock().start();
    }

    /// Writes nothing down any more, and forgets what was.
    pub fn stop_recording(&self) {
        self.recorder.lock().stop();
    }

    /// Are requests written down?
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.recorder.lock().is_on()
    }

    /// The requests since recording started, oldest first. The newest 65,536 are kept.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.recorder.lock().all()
    }

    /// Requests since recording started that were forgotten again, because newer ones needed the room.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.recorder.lock().forgotten()
    }

    /// Has anybody to know which topics a request of `api` names?
    pub(super) fn asks_for_topics(&self, api: ApiKey) -> bool {
        self.is_recording() || self.rules.lock().asks_for_topics(api)
    }

    pub(super) fn on_request(&self, request: Recorded) -> Verdict {
        let named: Named<'_> = &request.topics;
        let verdict = self.rules.lock().on_request(request.api, named);
        self.recorder.lock().add(request);
        verdict
    }

    /// The code that the answer of `api` about a partition, or about a topic as a whole, shall have.
    pub(crate) fn on_partition(&self, api: ApiKey, topic: &str, partition: Option<i32>) -> Option<ErrorCode> {
        self.rules.lock().on_partition(api, topic, partition)
    }

    pub(super) fn on_disk(&self, call: DiskCall<'_>) -> DiskVerdict {
        self.rules.lock().on_disk(call)
    }
}
