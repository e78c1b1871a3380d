//! DescribeGroups (key 15), ListGroups (16) and DeleteGroups (42).

use ballast_tests::raw::text;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::{DeleteGroupsRequest, DescribeGroupsRequest, LeaveGroupRequest, ListGroupsRequest};

use super::groups::Member;
use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const DESCRIBE: ApiKey = ApiKey::DESCRIBE_GROUPS;
const LIST: ApiKey = ApiKey::LIST_GROUPS;
const DELETE: ApiKey = ApiKey::DELETE_GROUPS;

pub(crate) const CASES: &[Case] = &[
    accepted(DESCRIBE, "a group with a member", |side, v| {
        let member = Member::stable(side);
        describe(side, v, &[&member.group]);
    }),
    accepted(DESCRIBE, "a group whose member has an instance id", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        describe(side, v, &[&member.group]);
    }),
    accepted(DESCRIBE, "a group without members", |side, v| {
        let group = emptied(side);
        describe(side, v, &[&group]);
    }),
    accepted(DESCRIBE, "what one may do", |side, v| {
        let group = emptied(side);
        let request = DescribeGroupsRequest::default().with_groups(vec![text(&group).into()]);
        side.ask(v, &request.with_include_authorized_operations(true));
    })
    .from(3),
    accepted(DESCRIBE, "a group that is not there", |side, v| describe(side, v, &["absent"])).meets(Meets::Anything),
    accepted(DESCRIBE, "no name", |side, v| describe(side, v, &[""])).meets(Meets::Anything),
    accepted(LIST, "every group", |side, v| {
        Member::stable(side);
        emptied(side);
        side.ask(v, &ListGroupsRequest::default());
    }),
    accepted(LIST, "groups in a state", |side, v| {
        emptied(side);
        side.ask(v, &ListGroupsRequest::default().with_states_filter(vec![text("Empty")]));
        side.ask(v, &ListGroupsRequest::default().with_states_filter(vec![text("eMPTY"), text("NoSuchState")]));
    })
    .from(4),
    accepted(LIST, "groups of a type", |side, v| {
        side.ask(v, &ListGroupsRequest::default().with_types_filter(vec![text("classic")]));
        side.ask(v, &ListGroupsRequest::default().with_types_filter(vec![text("consumer")]));
        side.ask(v, &ListGroupsRequest::default().with_types_filter(vec![text("nosuchtype")]));
    })
    .from(5)
    .meets(Meets::Anything),
    accepted(DELETE, "a group without members", |side, v| {
        let group = emptied(side);
        delete(side, v, &[&group]);
        describe(side, 5, &[&group]);
    }),
    refused(DELETE, 68, "a group with a member", |side, v| {
        let member = Member::stable(side);
        delete(side, v, &[&member.group]);
    }),
    refused(DELETE, 69, "a group that is not there", |side, v| delete(side, v, &["absent"])),
    refused(DELETE, 69, "no name", |side, v| delete(side, v, &[""])),
];

/// A group that had a member.
fn emptied(side: &mut Side) -> String {
    let member = Member::stable(side);
    let leave = LeaveGroupRequest::default().with_group_id(text(&member.group).into()).with_member_id(text(&member.id));
    assert_eq!(side.call(2, &leave).error_code, 0, "a member leaves");
    member.group
}

fn describe(side: &mut Side, v: i16, groups: &[&str]) {
    let groups = groups.iter().map(|group| text(group).into()).collect();
    side.ask(v, &DescribeGroupsRequest::default().with_groups(groups));
}

fn delete(side: &mut Side, v: i16, groups: &[&str]) {
    let groups = groups.iter().map(|group| text(group).into()).collect();
    side.ask(v, &DeleteGroupsRequest::default().with_groups_names(groups));
}
