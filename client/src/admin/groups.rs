//! Groups: which there are, who is in them, and their end. Each group's coordinator is asked.
//!
//! Read next: `group_offsets` (what they have committed).

use std::collections::BTreeMap;

use ballast_wire::BrokerId;
use kafka_protocol::messages::consumer_group_describe_response as newer;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, DeleteGroupsRequest, DescribeGroupsRequest, GroupId, LeaveGroupRequest,
    ListGroupsRequest,
};

use super::{Admin, only, outcome, text};
use crate::group::{Partitions, decode_assignment};
use crate::{ClientError, ErrorCode, Target};

/// From these versions on ListGroups takes a filter of states, and tells a group's type.
const STATES_FIRST: i16 = 4;
const TYPES_FIRST: i16 = 5;
/// From this version on a member says why it leaves.
const LEAVE_REASON_FIRST: i16 = 5;

/// A group as its coordinator lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its id.
    pub id: String,
    /// Its coordinator.
    pub coordinator: BrokerId,
    /// What its members speak: `consumer` for consumers, empty for committed offsets without members.
    pub protocol_type: String,
    /// `Stable`, `Empty` and the like; empty if the broker is too old to tell.
    pub state: String,
    /// `Classic`, `Consumer` and the like; `Classic` if the broker is too old to know others.
    pub group_type: String,
}

/// A group and its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its id.
    pub id: String,
    /// Its coordinator.
    pub coordinator: BrokerId,
    /// `Stable`, `Empty` and the like; `Dead` for a group that is not there.
    pub state: String,
    /// `Classic` or `Consumer`.
    pub group_type: String,
    /// What its members speak.
    pub protocol_type: String,
    /// The assignor that they agreed on, empty for none.
    pub assignor: String,
    /// Who is in it.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// As the coordinator named it.
    pub id: String,
    /// `group.instance.id`, if it has one.
    pub instance_id: Option<String>,
    /// `client.id`.
    pub client_id: String,
    /// Where it came from.
    pub host: String,
    /// What it reads.
    pub assignment: Partitions,
}

/// Which member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberName<'a> {
    /// By the id that the coordinator gave it.
    Id(&'a str),
    /// A static one, by its `group.instance.id`.
    Instance(&'a str),
}

impl Admin {
    /// All groups, by id. Every broker is asked for those that it coordinates.
    ///
    /// # Errors
    /// `Refused`, or that a broker could not be reached: the list would not be whole.
    pub async fn list_groups(&self) -> Result<Vec<ListedGroup>, ClientError> {
        let mut groups = BTreeMap::new();
        for broker in self.cluster.all_topics().await?.brokers.keys().copied() {
            let what = format!("listing the groups of broker {broker}");
            let build = |_| ListGroupsRequest::default();
            let (version, answer) = self
                .cluster
                .call(Target::Broker(broker), &what, build, |answer| outcome(&what, answer.error_code, None))
                .await?;
            for group in answer.groups {
                let known =
                    |known: bool, value: &str, unknown: &str| if known { value.to_owned() } else { unknown.to_owned() };
                let listed = ListedGroup {
                    id: group.group_id.to_string(),
                    coordinator: broker,
                    protocol_type: group.protocol_type.to_string(),
                    state: known(version >= STATES_FIRST, &group.group_state, ""),
                    group_type: capital(known(version >= TYPES_FIRST, &group.group_type, "Classic")),
                };
                groups.insert(listed.id.clone(), listed);
            }
        }
        Ok(groups.into_values().collect())
    }

    /// Describes a group.
    ///
    /// # Errors
    /// `Refused` with `GROUP_ID_NOT_FOUND` if there is none.
    pub async fn describe_group(&self, group: &str) -> Result<GroupDescription, ClientError> {
        let what = format!("group {group}");
        let build = |_| DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
        let asked = self.cluster.call(Target::Coordinator(group), &what, build, |answer| {
            let row = only(&answer.groups, &what)?;
            outcome(&what, row.error_code, row.error_message.as_ref())
        });
        let coordinator = self.cluster.find_coordinator(group).await.map_or(-1, |found| found.id);
        let row = match asked.await {
            Ok((_, answer)) => only(answer.groups, &what)?,
            // Brokers from 4.0 on say so of groups of another type.
            Err(e) if e.code() == Some(ErrorCode::GROUP_ID_NOT_FOUND) => {
                return self.describe_newer_group(group, coordinator).await?.ok_or(e);
            }
            Err(e) => return Err(e),
        };
        // Older brokers call a group that is not there dead.
        if row.group_state.as_str() == "Dead" {
            let missing = ClientError::refused(&what, ErrorCode::GROUP_ID_NOT_FOUND);
            return self.describe_newer_group(group, coordinator).await?.ok_or(missing);
        }
        Ok(classic(coordinator, row))
    }

    /// A group of the protocol of KIP-848; `None` if it is none, or the broker knows none.
    async fn describe_newer_group(
        &self,
        group: &str,
        coordinator: BrokerId,
    ) -> Result<Option<GroupDescription>, ClientError> {
        let what = format!("group {group}");
        let build = |_| ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(group))]);
        let asked = self.cluster.call(Target::Coordinator(group), &what, build, |answer| {
            let row = only(&answer.groups, &what)?;
            outcome(&what, row.error_code, row.error_message.as_ref())
        });
        match asked.await {
            Ok((_, answer)) => Ok(Some(consumer(coordinator, only(answer.groups, &what)?))),
            Err(ClientError::Unsupported { .. }) => Ok(None),
            Err(e) if e.code() == Some(ErrorCode::GROUP_ID_NOT_FOUND) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Deletes a group and what it has committed.
    ///
    /// # Errors
    /// `Refused` with `NON_EMPTY_GROUP` while it has members, `GROUP_ID_NOT_FOUND` if there is none.
    pub async fn delete_group(&self, group: &str) -> Result<(), ClientError> {
        let what = format!("deleting group {group}");
        let build = |_| DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text(group))]);
        let check = |answer: &kafka_protocol::messages::DeleteGroupsResponse| {
            outcome(&what, only(&answer.results, &what)?.error_code, None)
        };
        self.cluster.call(Target::Coordinator(group), &what, build, check).await.map(|_| ())
    }

    /// Removes a member from a group, as if it had left (brokers from 2.4 on).
    ///
    /// # Errors
    /// `Refused` with `UNKNOWN_MEMBER_ID` if the group has no such member.
    pub async fn remove_group_member(&self, group: &str, who: MemberName<'_>) -> Result<(), ClientError> {
        let (MemberName::Id(name) | MemberName::Instance(name)) = who;
        let what = format!("removing member {name} from group {group}");
        let build = |version| {
            let member = match who {
                MemberName::Id(id) => MemberIdentity::default().with_member_id(text(id)),
                MemberName::Instance(id) => MemberIdentity::default().with_group_instance_id(Some(text(id))),
            };
            let reason = (version >= LEAVE_REASON_FIRST).then(|| text("removed by an administrator"));
            let request = LeaveGroupRequest::default().with_group_id(GroupId(text(group)));
            // A version before 3 cannot say whom: encoding it fails, and says so.
            request.with_members(vec![member.with_reason(reason)])
        };
        let check = |answer: &kafka_protocol::messages::LeaveGroupResponse| {
            outcome(&what, answer.error_code, None)?;
            outcome(&what, only(&answer.members, &what)?.error_code, None)
        };
        self.cluster.call(Target::Coordinator(group), &what, build, check).await.map(|_| ())
    }
}

/// Kafka lists `classic` and means what it calls `Classic` elsewhere.
fn capital(mut word: String) -> String {
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

fn classic(coordinator: BrokerId, row: DescribedGroup) -> GroupDescription {
    let is_consumers = row.protocol_type.as_str() == "consumer";
    let member = |member: DescribedGroupMember| GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.group_instance_id.map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        // Of other protocols we cannot read it, and members may send what they like.
        assignment: if is_consumers {
            decode_assignment(&member.member_assignment).unwrap_or_default()
        } else {
            Partitions::new()
        },
    };
    GroupDescription {
        id: row.group_id.to_string(),
        coordinator,
        state: row.group_state.to_string(),
        group_type: "Classic".to_owned(),
        protocol_type: row.protocol_type.to_string(),
        assignor: row.protocol_data.to_string(),
        members: row.members.into_iter().map(member).collect(),
    }
}

fn consumer(coordinator: BrokerId, row: newer::DescribedGroup) -> GroupDescription {
    let member = |member: newer::Member| GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.instance_id.map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        assignment: member
            .assignment
            .topic_partitions
            .into_iter()
            .map(|topic| (topic.topic_name.to_string(), topic.partitions))
            .collect(),
    };
    GroupDescription {
        id: row.group_id.to_string(),
        coordinator,
        state: row.group_state.to_string(),
        group_type: "Consumer".to_owned(),
        protocol_type: "consumer".to_owned(),
        assignor: row.assignor_name.to_string(),
        members: row.members.into_iter().map(member).collect(),
    }
}
