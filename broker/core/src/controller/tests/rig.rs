//! A controller, the log behind it, and brokers that do as they are told.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, PartitionIndex, Uuid};

use crate::controller::{
    AlterPartition, AlterPartitionError, BrokerHeartbeat, Config, Controller, Effect, Event, HeartbeatReply, Input,
    IsrChange, NewTopic, PartitionState, ProposalId, RegisterBroker, Request, RequestId, Response,
};
use crate::endpoint::{Endpoint, SecurityProtocol};
use crate::image::{Broker, FEATURE_ELR, FEATURE_METADATA, FeatureRange, Image, Partition, Record};
use crate::machine::{Machine as _, Tick};
use crate::settings::Statics;

/// For each topic its counts, or code and words of the error.
pub(super) type Rows = Vec<(String, Result<(i32, i16), (i16, String)>)>;

pub(super) struct Rig {
    pub(super) controller: Controller,
    pub(super) image: Image,
    pub(super) index: u64,
    pub(super) now: Tick,
    pub(super) open: Option<(ProposalId, Vec<Record>)>,
    pub(super) answers: BTreeMap<RequestId, Response>,
    /// What was told since the test last looked.
    pub(super) events: Vec<Event>,
    /// Everything that was committed.
    pub(super) log: Vec<(u64, Vec<Record>)>,
    next_request: RequestId,
    epochs: BTreeMap<BrokerId, i64>,
}

/// What controller and brokers can work at.
const FEATURE_RANGES: [(&str, i16, i16); 2] = [(FEATURE_METADATA, 1, 25), (FEATURE_ELR, 0, 1)];

pub(super) fn controller(elr: bool, settings: &[(&str, &str)]) -> Controller {
    let pairs = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (statics, _) = Statics::merge(pairs).expect("the tests give valid settings");
    let mut bootstrap_features = vec![(FEATURE_METADATA.to_owned(), 25)];
    if elr {
        bootstrap_features.push((FEATURE_ELR.to_owned(), 1));
    }
    let supported_features = FEATURE_RANGES.map(|(name, min, max)| (name.to_owned(), FeatureRange { min, max })).into();
    let mut counter = 0u8;
    let entropy = Box::new(move || {
        counter = counter.wrapping_add(1);
        [counter; 16]
    });
    Controller::new(Config { node: 1, statics, bootstrap_features, supported_features }, entropy)
        .expect("the settings agree")
}

impl Rig {
    /// An active controller of an empty cluster.
    pub(super) fn new(elr: bool, settings: &[(&str, &str)]) -> Rig {
        let mut rig = Rig {
            controller: controller(elr, settings),
            image: Image::default(),
            index: 10,
            now: 1_000,
            open: None,
            answers: BTreeMap::new(),
            events: Vec::new(),
            log: Vec::new(),
            next_request: 0,
            epochs: BTreeMap::new(),
        };
        rig.step(Input::Lead { image: Image::default(), deposed: None });
        rig.commit();
        assert_eq!(rig.controller.epoch(), Some(10));
        rig
    }

    /// An active controller with these brokers, all of them unfenced.
    pub(super) fn with_brokers(elr: bool, brokers: &[BrokerId], settings: &[(&str, &str)]) -> Rig {
        let mut rig = Rig::new(elr, settings);
        for id in brokers {
            rig.register(*id, 1, -1).expect("a new broker is let in");
            assert!(!rig.beat(*id).is_fenced);
        }
        rig
    }

    pub(super) fn step(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.controller.step(self.now, input, &mut effects);
        self.controller.check();
        for effect in effects {
            match effect {
                Effect::Propose { proposal, records } => {
                    assert!(self.open.is_none(), "proposal {proposal} while another is open");
                    assert!(!records.is_empty(), "proposal {proposal} says nothing");
                    self.open = Some((proposal, records));
                }
                Effect::Happened(event) => self.events.push(event),
                Effect::Respond { to, response } => {
                    assert!(self.answers.insert(to, response).is_none(), "request {to} was answered twice");
                }
            }
        }
    }

    /// Commits what is proposed, until nothing is.
    pub(super) fn commit(&mut self) {
        while let Some((proposal, records)) = self.open.take() {
            self.image.apply(self.index, &records);
            self.image.check();
            self.log.push((self.index, records));
            let (index, image) = (self.index, self.image.clone());
            self.index += 1;
            self.step(Input::Committed { proposal, index, image });
        }
    }

    pub(super) fn send(&mut self, request: Request) -> RequestId {
        let id = self.next_request;
        self.next_request += 1;
        self.step(Input::Request { id, request });
        id
    }

    pub(super) fn answer(&mut self, id: RequestId) -> Option<Response> {
        self.answers.remove(&id)
    }

    pub(super) fn ask(&mut self, request: Request) -> Response {
        let id = self.send(request);
        self.commit();
        self.answer(id).expect("everything is committed, so the answer is there")
    }

    /// Time passes: timers fire, and `alive` brokers give signs of life in between.
    pub(super) fn pass(&mut self, ms: Tick, alive: &[BrokerId]) {
        let end = self.now + ms;
        while self.now < end {
            self.now = (self.now + 1_000).min(end);
            for id in alive {
                self.beat(*id);
            }
            self.step(Input::Timer);
            self.commit();
        }
    }

    pub(super) fn registration(&self, id: BrokerId, life: u8, previous_epoch: i64) -> RegisterBroker {
        let byte = u8::try_from(id).expect("the tests have few brokers");
        let listener = Endpoint {
            listener: "PLAINTEXT".to_owned(),
            host: format!("broker-{id}"),
            port: 9092,
            protocol: SecurityProtocol::Plaintext,
        };
        RegisterBroker {
            cluster_id: self.image.cluster_id().expect("the cluster has begun").to_string(),
            broker: Broker {
                id,
                epoch: 0,
                incarnation: Uuid([life; 16]),
                listeners: vec![listener],
                rack: None,
                log_dirs: vec![Uuid([100 + byte; 16])],
                features: FEATURE_RANGES.map(|(name, min, max)| (name.to_owned(), FeatureRange { min, max })).into(),
                fenced: false,
                in_controlled_shutdown: false,
            },
            previous_epoch,
            in_process: false,
        }
    }

    pub(super) fn register(&mut self, id: BrokerId, life: u8, previous_epoch: i64) -> Result<i64, i16> {
        let request = self.registration(id, life, previous_epoch);
        self.register_as(request)
    }

    pub(super) fn register_as(&mut self, request: RegisterBroker) -> Result<i64, i16> {
        let id = request.broker.id;
        match self.ask(Request::RegisterBroker(request)) {
            Response::RegisterBroker(Ok(epoch)) => {
                self.epochs.insert(id, epoch);
                Ok(epoch)
            }
            Response::RegisterBroker(Err(error)) => Err(error.code()),
            other => panic!("a registration was answered with {other:?}"),
        }
    }

    pub(super) fn epoch(&self, id: BrokerId) -> i64 {
        self.epochs[&id]
    }

    pub(super) fn heartbeat(&self, id: BrokerId) -> BrokerHeartbeat {
        BrokerHeartbeat { id, epoch: self.epoch(id), metadata_index: self.image.index(), ..BrokerHeartbeat::default() }
    }

    pub(super) fn beat_as(&mut self, beat: BrokerHeartbeat) -> Result<HeartbeatReply, i16> {
        match self.ask(Request::BrokerHeartbeat(beat)) {
            Response::BrokerHeartbeat(reply) => reply.map_err(|error| error.code()),
            other => panic!("a heartbeat was answered with {other:?}"),
        }
    }

    pub(super) fn beat(&mut self, id: BrokerId) -> HeartbeatReply {
        let beat = self.heartbeat(id);
        self.beat_as(beat).expect("the broker is registered")
    }

    /// Fences a broker as its silence would.
    pub(super) fn fence(&mut self, id: BrokerId) {
        let beat = BrokerHeartbeat { want_fence: true, ..self.heartbeat(id) };
        assert!(self.beat_as(beat).expect("the broker is registered").is_fenced);
    }

    pub(super) fn create(&mut self, topics: &[NewTopic]) -> Rows {
        self.create_as(topics, false)
    }

    pub(super) fn create_as(&mut self, topics: &[NewTopic], validate_only: bool) -> Rows {
        match self.ask(Request::CreateTopics { topics: topics.to_vec(), validate_only, timeout_ms: 1_000 }) {
            Response::CreateTopics(rows) => rows
                .into_iter()
                .map(|(name, result)| {
                    let counts = result.map(|created| (created.partitions, created.replication_factor));
                    (name, counts.map_err(|error| (error.code(), error.to_string())))
                })
                .collect(),
            other => panic!("CreateTopics was answered with {other:?}"),
        }
    }

    /// Creates a topic with these replicas.
    pub(super) fn topic(&mut self, name: &str, partitions: &[&[BrokerId]]) -> Uuid {
        let rows = self.create(&[by_hand(name, partitions)]);
        assert!(rows[0].1.is_ok(), "{rows:?}");
        self.image.topic(name).expect("it was created").id
    }

    pub(super) fn partition(&self, topic: Uuid, index: PartitionIndex) -> Partition {
        (**self.image.partition(topic, index).expect("the tests name partitions that exist")).clone()
    }

    /// The leader asks for another ISR, with everything it should know.
    pub(super) fn ask_isr(
        &mut self,
        topic: Uuid,
        index: PartitionIndex,
        isr: &[BrokerId],
    ) -> Result<PartitionState, i16> {
        let change = self.isr_change(topic, index, isr);
        let leader = self.partition(topic, index).leader;
        self.alter(leader, change).map_err(|error| error.code())
    }

    pub(super) fn isr_change(&self, topic: Uuid, index: PartitionIndex, isr: &[BrokerId]) -> IsrChange {
        let now = self.partition(topic, index);
        IsrChange {
            topic,
            index,
            leader_epoch: now.leader_epoch,
            partition_epoch: now.partition_epoch,
            isr: isr.iter().map(|id| (*id, self.epochs.get(id).copied().unwrap_or(-1))).collect(),
            recovery: 0,
        }
    }

    pub(super) fn alter(&mut self, leader: BrokerId, change: IsrChange) -> Result<PartitionState, AlterPartitionError> {
        let broker_epoch = self.epoch(leader);
        let request = AlterPartition { broker: leader, broker_epoch, partitions: vec![change] };
        match self.ask(Request::AlterPartition(request)) {
            Response::AlterPartition(Ok(mut rows)) => rows.remove(0).result,
            other => panic!("AlterPartition was answered with {other:?}"),
        }
    }
}

pub(super) fn new_topic(name: &str, partitions: i32, replication_factor: i16) -> NewTopic {
    NewTopic { name: name.to_owned(), partitions, replication_factor, ..NewTopic::default() }
}

pub(super) fn by_hand(name: &str, partitions: &[&[BrokerId]]) -> NewTopic {
    let assignments = (0..).zip(partitions).map(|(index, replicas)| (index, replicas.to_vec())).collect();
    NewTopic { assignments, ..new_topic(name, -1, -1) }
}

pub(super) fn with_configs(topic: NewTopic, configs: &[(&str, Option<&str>)]) -> NewTopic {
    let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
    NewTopic { configs, ..topic }
}
