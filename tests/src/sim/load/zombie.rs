//! A zombie of the group: it goes by the name of a member and commits in a generation that is over. It must be refused.

use ballast_client::admin::Admin;
use ballast_client::{Cluster, Target};
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::{GroupId, OffsetCommitRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::group::GROUP;
use super::{Phase, Surroundings, pause};
use crate::sim::history::{Event, Place, Recorder};

/// The zombie's number among the members.
const ZOMBIE: u32 = 900;

/// A member, the generation that it was seen in, and how long the history was then.
struct Body {
    member_id: String,
    generation: i32,
    since: usize,
}

/// Looks for members and lets them rise again, while the load lasts.
pub async fn haunt(around: Surroundings) {
    let dice = around.dice("zombie");
    let cluster = around.cluster(&dice);
    let admin = Admin::new(cluster.clone());
    let mut bodies: Vec<Body> = Vec::new();
    around.phase.reached(Phase::LOAD).await;
    while around.phase.now() == Phase::LOAD {
        pause(&dice, 200, 800).await;
        let over = bodies.iter().enumerate().find_map(|(at, body)| Some((at, left_behind(&around.recorder, body)?)));
        if let Some((at, place)) = over {
            let body = bodies.remove(at);
            rise(&around.recorder, &cluster, &body, place).await;
            continue;
        }
        let newest = around.recorder.last(|event| match event {
            Event::Assigned { generation, .. } => Some(*generation),
            _ => None,
        });
        let (Some(generation), Ok(group)) = (newest, admin.describe_group(GROUP).await) else { continue };
        let since = around.recorder.len();
        for member in group.members {
            if !bodies.iter().any(|body| body.member_id == member.id && body.generation == generation) {
                bodies.push(Body { member_id: member.id, generation, since });
            }
        }
    }
}

/// A partition that a later generation has committed, since the body was seen.
fn left_behind(recorder: &Recorder, body: &Body) -> Option<Place> {
    recorder.after(body.since).into_iter().find_map(|entry| match entry.event {
        Event::Committed { generation, offsets, .. } if generation > body.generation => {
            offsets.into_iter().next().map(|(place, _)| place)
        }
        _ => None,
    })
}

async fn rise(recorder: &Recorder, cluster: &Cluster, body: &Body, place: Place) {
    let (group, member, generation) = (GROUP, ZOMBIE, body.generation);
    let row = OffsetCommitRequestPartition::default().with_partition_index(place.partition).with_committed_offset(0);
    let name = TopicName(StrBytes::from_string(place.topic.to_string()));
    let topic = OffsetCommitRequestTopic::default().with_name(name).with_partitions(vec![row]);
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(StrBytes::from_static_str(GROUP)))
        .with_generation_id_or_member_epoch(generation)
        .with_member_id(StrBytes::from_string(body.member_id.clone()))
        .with_topics(vec![topic]);
    let offsets = vec![(place, 0)];
    recorder.note(Event::Committing { group, member, generation, offsets: offsets.clone() });
    let asked = cluster.call(Target::Coordinator(GROUP), "a zombie's commit", |_| request.clone(), |_| Ok(())).await;
    let Ok((_, answer)) = asked else { return };
    if answer.topics.iter().flat_map(|topic| &topic.partitions).all(|row| row.error_code == 0) {
        recorder.note(Event::Committed { group, member, generation, offsets });
    }
}
