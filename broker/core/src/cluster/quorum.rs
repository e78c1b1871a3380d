//! The controllers: one machine that decides, a log that takes its time to commit, and failovers that may commit what was
//! proposed without telling, or lose it.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Uuid};

use super::network::Life;
use super::plan::Plan;
use crate::controller::{Config, Controller, Effect, Input, NewTopic, ProposalId, Request, RequestId, Response};
use crate::image::{FEATURE_ELR, FEATURE_METADATA, FeatureRange, Image, Partition, Record};
use crate::machine::{Machine as _, Tick};
use crate::settings::Statics;

/// What controllers and brokers can work at.
pub(super) const FEATURE_RANGES: [(&str, i16, i16); 2] = [(FEATURE_METADATA, 1, 25), (FEATURE_ELR, 0, 1)];

const TOPIC: &str = "t";

/// Who asked, and how to find the question again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) broker: BrokerId,
    pub(super) life: Life,
    pub(super) call: RequestId,
}

pub(super) struct Quorum {
    controller: Controller,
    /// As committed.
    pub(super) image: Image,
    index: u64,
    open: Option<(ProposalId, Vec<Record>)>,
    callers: BTreeMap<RequestId, Caller>,
    next_request: RequestId,
    /// Answers that are ready to go.
    pub(super) answers: Vec<(Caller, Response)>,
}

fn controller(plan: &Plan, session_timeout_ms: Tick, heartbeat_ms: Tick) -> Controller {
    let settings = [
        ("min.insync.replicas", plan.min_isr.to_string()),
        ("broker.session.timeout.ms", session_timeout_ms.to_string()),
        ("broker.heartbeat.interval.ms", heartbeat_ms.to_string()),
        ("leader.imbalance.check.interval.seconds", "5".to_owned()),
    ];
    let pairs = settings.into_iter().map(|(name, value)| (name.to_owned(), value));
    let (statics, _) = Statics::merge(pairs).expect("the settings are valid");
    let mut bootstrap_features = vec![(FEATURE_METADATA.to_owned(), 25)];
    if plan.elr {
        bootstrap_features.push((FEATURE_ELR.to_owned(), 1));
    }
    let supported_features = FEATURE_RANGES.map(|(name, min, max)| (name.to_owned(), FeatureRange { min, max })).into();
    let mut counter = 0u8;
    let entropy = Box::new(move || {
        counter = counter.wrapping_add(1);
        [counter; 16]
    });
    Controller::new(Config { node: 100, statics, bootstrap_features, supported_features }, entropy)
        .expect("the settings agree")
}

impl Quorum {
    /// An active controller of an empty cluster.
    pub(super) fn new(plan: &Plan, session_timeout_ms: Tick, heartbeat_ms: Tick) -> Quorum {
        let mut quorum = Quorum {
            controller: controller(plan, session_timeout_ms, heartbeat_ms),
            image: Image::default(),
            index: 1,
            open: None,
            callers: BTreeMap::new(),
            next_request: 0,
            answers: Vec::new(),
        };
        quorum.step(0, Input::Lead { image: Image::default(), deposed: None });
        quorum.commit(0);
        quorum
    }

    /// The one partition of the run.
    pub(super) fn partition(&self) -> Option<&Partition> {
        let topic = self.image.topic(TOPIC)?;
        topic.partition(0).map(|partition| &**partition)
    }

    pub(super) fn topic_id(&self) -> Option<Uuid> {
        self.image.topic(TOPIC).map(|topic| topic.id)
    }

    pub(super) fn create_topic(&mut self, now: Tick, replicas: &[BrokerId]) {
        let topic = NewTopic {
            name: TOPIC.to_owned(),
            partitions: -1,
            replication_factor: -1,
            assignments: vec![(0, replicas.to_vec())],
            ..NewTopic::default()
        };
        self.ask(now, Request::CreateTopics { topics: vec![topic], validate_only: false, timeout_ms: 1_000 });
    }

    /// A question of nobody who waits for the answer.
    pub(super) fn ask(&mut self, now: Tick, request: Request) {
        let id = self.next_request;
        self.next_request += 1;
        self.step(now, Input::Request { id, request });
    }

    pub(super) fn request(&mut self, now: Tick, caller: Caller, request: Request) {
        self.callers.insert(self.next_request, caller);
        self.ask(now, request);
    }

    fn step(&mut self, now: Tick, input: Input) {
        let mut effects = Vec::new();
        self.controller.step(now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Propose { proposal, records } => self.open = Some((proposal, records)),
                Effect::Happened(_) => {}
                Effect::Respond { to, response } => {
                    if let Some(caller) = self.callers.remove(&to) {
                        self.answers.push((caller, response));
                    }
                }
            }
        }
    }

    /// Commits what is proposed. False if nothing is.
    pub(super) fn commit(&mut self, now: Tick) -> bool {
        let Some((proposal, records)) = self.open.take() else { return false };
        let index = self.apply(&records);
        let image = self.image.clone();
        self.step(now, Input::Committed { proposal, index, image });
        self.controller.check();
        true
    }

    fn apply(&mut self, records: &[Record]) -> u64 {
        self.image.apply(self.index, records);
        self.index += 1;
        self.index - 1
    }

    /// Another controller takes over; what was proposed is committed or lost, and nobody is told which.
    pub(super) fn fail_over(&mut self, now: Tick, commits: bool) {
        if let Some((_, records)) = self.open.take()
            && commits
        {
            self.apply(&records);
        }
        self.step(now, Input::StepDown);
        self.step(now, Input::Lead { image: self.image.clone(), deposed: None });
    }

    pub(super) fn timer(&mut self, now: Tick) {
        if self.controller.wake_at().is_some_and(|at| at <= now) {
            self.step(now, Input::Timer);
        }
    }
}
