//! What a broker asks of a controller in another node by itself, not for a client.
//!
//! Holds: a row that the controller left out is no answer; its errors come back by their codes.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_core::controller::{
    AlterPartition, AlterPartitionError, AlteredPartition, AssignError, AssignedDir, BrokerError, CreatedTopic,
    DirAssignment, IsrChange, NewTopic, PartitionState, ProducerIds, Request, Response, TopicError,
};
use ballast_wire::Uuid;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::{
    AllocateProducerIdsRequest, AlterPartitionRequest, AssignReplicasToDirsRequest, BrokerId, CreateTopicsRequest,
    TopicName, alter_partition_request as isr, assign_replicas_to_dirs_request as dirs,
};
use kafka_protocol::protocol::StrBytes;

use super::{NOT_CONTROLLER, ask, id};
use crate::quorum::Quorum;

const ALTER_PARTITION_VERSION: i16 = 3;
const ALLOCATE_PRODUCER_IDS_VERSION: i16 = 0;
const ASSIGN_DIRS_VERSION: i16 = 0;
const CREATE_TOPICS_VERSION: i16 = 7;

/// What came of it.
pub(crate) enum Decided {
    /// The controller answered.
    Answered(Response),
    /// The node that was asked is none.
    NotController,
    /// Nobody leads, or there is no way, or no answer: it may have been carried out.
    Silent,
}

/// Asks the leader of the quorum. `None` for what no broker asks by itself.
pub(crate) async fn decide(quorum: &Quorum, request: &Request, within: Duration) -> Option<Decided> {
    let decided = match request {
        Request::AlterPartition(asked) => alter_partition(quorum, asked, within).await,
        Request::AllocateProducerIds { broker, broker_epoch } => allocate(quorum, *broker, *broker_epoch, within).await,
        Request::AssignReplicasToDirs { broker, broker_epoch, assignments } => {
            assign(quorum, *broker, *broker_epoch, assignments, within).await
        }
        Request::CreateTopics { topics, validate_only, timeout_ms } => {
            create(quorum, topics, *validate_only, *timeout_ms, within).await
        }
        Request::DeleteTopics { .. }
        | Request::CreatePartitions { .. }
        | Request::IncrementalAlterConfigs { .. }
        | Request::AlterConfigs { .. }
        | Request::ElectLeaders { .. }
        | Request::UpdateFeatures { .. }
        | Request::RegisterBroker(_)
        | Request::BrokerHeartbeat(_)
        | Request::UnregisterBroker { .. } => return None,
    };
    Some(decided)
}

async fn alter_partition(quorum: &Quorum, asked: &AlterPartition, within: Duration) -> Decided {
    let mut topics: BTreeMap<Uuid, Vec<isr::PartitionData>> = BTreeMap::new();
    for change in &asked.partitions {
        topics.entry(change.topic).or_default().push(isr_row(change));
    }
    let topics = topics.into_iter().map(|(topic, rows)| {
        let data = isr::TopicData::default().with_topic_id(id(&topic));
        data.with_partitions(rows)
    });
    let request = AlterPartitionRequest::default()
        .with_broker_id(BrokerId(asked.broker))
        .with_broker_epoch(asked.broker_epoch)
        .with_topics(topics.collect());
    let Some(answer) = ask(quorum, ALTER_PARTITION_VERSION, &request, within).await else { return Decided::Silent };
    let rows = answer.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|row| AlteredPartition {
            topic: Uuid(*topic.topic_id.as_bytes()),
            index: row.partition_index,
            result: match row.error_code {
                0 => Ok(PartitionState {
                    leader: row.leader_id.0,
                    leader_epoch: row.leader_epoch,
                    isr: row.isr.iter().map(|member| member.0).collect(),
                    recovery: row.leader_recovery_state,
                    partition_epoch: row.partition_epoch,
                }),
                code => Err(AlterPartitionError::Told(code)),
            },
        })
    });
    by_code(answer.error_code, |refused| Response::AlterPartition(refused.map(|()| rows.collect())))
}

fn isr_row(change: &IsrChange) -> isr::PartitionData {
    let members = change
        .isr
        .iter()
        .map(|(broker, epoch)| isr::BrokerState::default().with_broker_id(BrokerId(*broker)).with_broker_epoch(*epoch));
    isr::PartitionData::default()
        .with_partition_index(change.index)
        .with_leader_epoch(change.leader_epoch)
        .with_new_isr_with_epochs(members.collect())
        .with_leader_recovery_state(change.recovery)
        .with_partition_epoch(change.partition_epoch)
}

async fn allocate(quorum: &Quorum, broker: i32, broker_epoch: i64, within: Duration) -> Decided {
    let request =
        AllocateProducerIdsRequest::default().with_broker_id(BrokerId(broker)).with_broker_epoch(broker_epoch);
    let Some(answer) = ask(quorum, ALLOCATE_PRODUCER_IDS_VERSION, &request, within).await else {
        return Decided::Silent;
    };
    let ids = ProducerIds { first: answer.producer_id_start.0, len: answer.producer_id_len.max(0) };
    by_code(answer.error_code, |refused| Response::AllocateProducerIds(refused.map(|()| ids)))
}

async fn assign(
    quorum: &Quorum,
    broker: i32,
    broker_epoch: i64,
    assignments: &[DirAssignment],
    within: Duration,
) -> Decided {
    let mut tree: BTreeMap<Uuid, BTreeMap<Uuid, Vec<i32>>> = BTreeMap::new();
    for assignment in assignments {
        tree.entry(assignment.dir).or_default().entry(assignment.topic).or_default().push(assignment.index);
    }
    let row = |index: i32| dirs::PartitionData::default().with_partition_index(index);
    let topic_data = |(topic, indexes): (Uuid, Vec<i32>)| {
        let rows = indexes.into_iter().map(row).collect();
        dirs::TopicData::default().with_topic_id(id(&topic)).with_partitions(rows)
    };
    let directories = tree.into_iter().map(|(dir, topics)| {
        let topics = topics.into_iter().map(topic_data).collect();
        dirs::DirectoryData::default().with_id(id(&dir)).with_topics(topics)
    });
    let request = AssignReplicasToDirsRequest::default()
        .with_broker_id(BrokerId(broker))
        .with_broker_epoch(broker_epoch)
        .with_directories(directories.collect());
    let Some(answer) = ask(quorum, ASSIGN_DIRS_VERSION, &request, within).await else { return Decided::Silent };
    let mut codes = BTreeMap::new();
    for dir in &answer.directories {
        for topic in &dir.topics {
            for row in &topic.partitions {
                codes.insert((dir.id, topic.topic_id, row.partition_index), row.error_code);
            }
        }
    }
    let rows: Option<Vec<AssignedDir>> = assignments
        .iter()
        .map(|assignment| {
            let code = codes.get(&(id(&assignment.dir), id(&assignment.topic), assignment.index))?;
            Some((*assignment, if *code == 0 { Ok(()) } else { Err(AssignError::Told(*code)) }))
        })
        .collect();
    match (answer.error_code, rows) {
        (0, None) => Decided::Silent,
        (code, rows) => {
            let rows = rows.unwrap_or_default();
            by_code(code, |refused| Response::AssignReplicasToDirs(refused.map(|()| rows)))
        }
    }
}

async fn create(
    quorum: &Quorum,
    topics: &[NewTopic],
    validate_only: bool,
    timeout_ms: i32,
    within: Duration,
) -> Decided {
    let request = CreateTopicsRequest::default()
        .with_topics(topics.iter().map(creatable).collect())
        .with_validate_only(validate_only)
        .with_timeout_ms(timeout_ms);
    let Some(answer) = ask(quorum, CREATE_TOPICS_VERSION, &request, within).await else { return Decided::Silent };
    if answer.topics.iter().any(|row| row.error_code == NOT_CONTROLLER) {
        return Decided::NotController;
    }
    let rows = answer.topics.into_iter().map(|row| {
        let created = match row.error_code {
            // Who makes a topic by itself has no use for its configs.
            0 => Ok(CreatedTopic {
                id: Uuid(*row.topic_id.as_bytes()),
                partitions: row.num_partitions,
                replication_factor: row.replication_factor,
                configs: Vec::new(),
            }),
            code => Err(TopicError::Told(code, row.error_message.map(|words| words.to_string()).unwrap_or_default())),
        };
        (row.name.to_string(), created)
    });
    Decided::Answered(Response::CreateTopics(rows.collect()))
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let assignments = topic.assignments.iter().map(|(index, replicas)| {
        let row = CreatableReplicaAssignment::default().with_partition_index(*index);
        row.with_broker_ids(replicas.iter().map(|id| BrokerId(*id)).collect())
    });
    let configs = topic.configs.iter().map(|(key, value)| {
        CreatableTopicConfig::default().with_name(text(key)).with_value(value.as_deref().map(text))
    });
    CreatableTopic::default()
        .with_name(TopicName(text(&topic.name)))
        .with_num_partitions(topic.partitions)
        .with_replication_factor(topic.replication_factor)
        .with_assignments(assignments.collect())
        .with_configs(configs.collect())
}

/// The answer, by the code that it has for the request as a whole.
fn by_code(code: i16, response: impl FnOnce(Result<(), BrokerError>) -> Response) -> Decided {
    match code {
        0 => Decided::Answered(response(Ok(()))),
        NOT_CONTROLLER => Decided::NotController,
        code => Decided::Answered(response(Err(BrokerError::Told(code)))),
    }
}
