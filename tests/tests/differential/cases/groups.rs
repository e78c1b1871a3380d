//! Classic groups: FindCoordinator (key 10), JoinGroup (11), Heartbeat (12), LeaveGroup (13) and SyncGroup (14).

use ballast_tests::raw::text;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest,
};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const FIND: ApiKey = ApiKey::FIND_COORDINATOR;
const JOIN: ApiKey = ApiKey::JOIN_GROUP;
const BEAT: ApiKey = ApiKey::HEARTBEAT;
const LEAVE: ApiKey = ApiKey::LEAVE_GROUP;
const SYNC: ApiKey = ApiKey::SYNC_GROUP;

/// Longer than all cases take: nobody may fall out of a group meanwhile.
const SESSION_MS: i32 = 1_800_000;
/// What a member of [`Member::stable`] was given.
const ASSIGNMENT: &[u8] = b"all of it";

pub(crate) const CASES: &[Case] = &[
    accepted(FIND, "of a group", |side, v| find(side, v, "a-group", 0)),
    refused(FIND, 42, "of a kind that there is not", |side, v| find(side, v, "a-group", 9))
        .from(1)
        .meets(Meets::Anything),
    accepted(FIND, "of an empty name", |side, v| find(side, v, "", 0)).meets(Meets::Anything),
    accepted(FIND, "of two groups", |side, v| {
        side.ask(v, &FindCoordinatorRequest::default().with_coordinator_keys(vec![text("a-group"), text("other")]));
    })
    .from(4),
    accepted(JOIN, "the first member, before it must come twice", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, ""));
    })
    .to(3),
    refused(JOIN, 79, "the first member, and then with its id", |side, v| {
        let group = side.unique("group");
        let Some(first) = side.ask(v, &join(v, &group, "")) else { return };
        side.ask(v, &join(v, &group, &first.member_id));
    })
    .from(4),
    accepted(JOIN, "a member with an instance id", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "").with_group_instance_id(Some(text("i1"))));
    })
    .from(5),
    accepted(JOIN, "an instance that comes again", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        side.ask(v, &join(v, &member.group, "").with_group_instance_id(Some(text("i1"))));
    })
    .from(5),
    accepted(JOIN, "the leader of a stable group again", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &join(v, &member.group, &member.id));
    }),
    refused(JOIN, 24, "no name", |side, v| {
        side.ask(v, &join(v, "", ""));
    }),
    refused(JOIN, 26, "too short a session", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "").with_session_timeout_ms(1));
    }),
    refused(JOIN, 26, "too long a session", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "").with_session_timeout_ms(i32::MAX));
    }),
    refused(JOIN, 25, "a member that the group has not", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "nobody"));
    }),
    refused(JOIN, 25, "a member that a stable group has not", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &join(v, &member.group, "nobody"));
    }),
    refused(JOIN, 82, "another member of an instance", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        side.ask(v, &join(v, &member.group, "nobody").with_group_instance_id(Some(text("i1"))));
    })
    .from(5)
    .meets(Meets::Anything),
    refused(JOIN, 23, "another protocol type", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &join(v, &member.group, "").with_protocol_type(text("connect")));
    }),
    refused(JOIN, 23, "no protocol in common", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &join(v, &member.group, "").with_protocols(vec![protocol("other")]));
    }),
    refused(JOIN, 23, "no protocol", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "").with_protocols(vec![]));
    }),
    refused(JOIN, 23, "no protocol type", |side, v| {
        let group = side.unique("group");
        side.ask(v, &join(v, &group, "").with_protocol_type(text("")));
    }),
    accepted(SYNC, "the leader", |side, v| {
        let member = Member::joined(side, None);
        side.ask(v, &sync(v, &member, member.generation));
    }),
    accepted(SYNC, "the leader again", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &sync(v, &member, member.generation));
    }),
    refused(SYNC, 22, "another generation", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &sync(v, &member, 99));
    }),
    refused(SYNC, 25, "a member that the group has not", |side, v| {
        let member = Member { id: "nobody".to_owned(), ..Member::stable(side) };
        side.ask(v, &sync(v, &member, 1));
    }),
    refused(SYNC, 25, "a group that is not there", |side, v| {
        let group = side.unique("group");
        let member = Member { group, id: "nobody".to_owned(), generation: 1 };
        side.ask(v, &sync(v, &member, 1));
    }),
    refused(SYNC, 24, "no name", |side, v| {
        let member = Member { group: String::new(), id: "nobody".to_owned(), generation: 1 };
        side.ask(v, &sync(v, &member, 1));
    }),
    refused(SYNC, 23, "another protocol than was chosen", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &sync(v, &member, member.generation).with_protocol_name(Some(text("other"))));
    })
    .from(5),
    refused(SYNC, 82, "another member of an instance", |side, v| {
        let member = Member { id: "nobody".to_owned(), ..Member::with_instance(side, Some("i1")) };
        side.ask(v, &sync(v, &member, 1).with_group_instance_id(Some(text("i1"))));
    })
    .from(3),
    accepted(BEAT, "a member", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &beat(&member.group, &member.id, member.generation));
    }),
    refused(BEAT, 27, "while another one joins", |side, v| {
        let member = Member::stable(side);
        let mut other = side.open();
        other.start(3, &join(3, &member.group, ""));
        // The newcomer's request is under way: ask until it is there.
        ballast_tests::raw::rows::eventually("the group rebalances", || {
            let beat = side.call(0, &beat(&member.group, &member.id, member.generation));
            (beat.error_code == 27).then_some(())
        });
        side.ask(v, &beat(&member.group, &member.id, member.generation));
    }),
    refused(BEAT, 22, "another generation", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &beat(&member.group, &member.id, 99));
    }),
    refused(BEAT, 25, "a member that the group has not", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &beat(&member.group, "nobody", member.generation));
    }),
    refused(BEAT, 25, "a group that is not there", |side, v| {
        let group = side.unique("group");
        side.ask(v, &beat(&group, "nobody", 1));
    }),
    refused(BEAT, 24, "no name", |side, v| {
        side.ask(v, &beat("", "nobody", 1));
    }),
    refused(BEAT, 82, "another member of an instance", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        side.ask(v, &beat(&member.group, "nobody", member.generation).with_group_instance_id(Some(text("i1"))));
    })
    .from(3),
    accepted(LEAVE, "a member", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &leave(v, &member.group, &[(&member.id, None)]));
        side.ask(0, &beat(&member.group, &member.id, member.generation));
    })
    .meets(Meets::Code(25)),
    accepted(LEAVE, "an instance, by its name alone", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        side.ask(v, &leave(v, &member.group, &[("", Some("i1"))]));
    })
    .from(3),
    refused(LEAVE, 25, "two that the group has not", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &leave(v, &member.group, &[("nobody", None), ("", Some("i9"))]));
    })
    .from(3),
    refused(LEAVE, 25, "a member that the group has not", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &leave(v, &member.group, &[("nobody", None)]));
    }),
    refused(LEAVE, 25, "a group that is not there", |side, v| {
        let group = side.unique("group");
        side.ask(v, &leave(v, &group, &[("nobody", None)]));
    }),
    refused(LEAVE, 24, "no name", |side, v| {
        side.ask(v, &leave(v, "", &[("nobody", None)]));
    }),
];

/// A member of a group of its own.
pub(crate) struct Member {
    pub(crate) group: String,
    pub(crate) id: String,
    pub(crate) generation: i32,
}

impl Member {
    /// The one member of a group that has its assignment.
    pub(crate) fn stable(side: &mut Side) -> Member {
        Member::with_instance(side, None)
    }

    /// As [`Member::stable`], with an instance id.
    pub(crate) fn with_instance(side: &mut Side, instance: Option<&str>) -> Member {
        let member = Member::joined(side, instance);
        let request = sync(5, &member, member.generation).with_group_instance_id(instance.map(text));
        let synced = side.call(5, &request);
        assert_eq!(synced.error_code, 0, "the leader syncs");
        member
    }

    /// The one member of a group, before its assignment.
    fn joined(side: &mut Side, instance: Option<&str>) -> Member {
        let group = side.unique("group");
        let request = |id: &str| join(5, &group, id).with_group_instance_id(instance.map(text));
        let mut answer = side.call(5, &request(""));
        if answer.error_code == 79 {
            answer = side.call(5, &request(&answer.member_id));
        }
        assert_eq!(answer.error_code, 0, "a member joins");
        let (id, generation) = (answer.member_id.to_string(), answer.generation_id);
        Member { group, id, generation }
    }
}

fn find(side: &mut Side, v: i16, name: &str, kind: i8) {
    let request = FindCoordinatorRequest::default();
    let request = if v >= 4 { request.with_coordinator_keys(vec![text(name)]) } else { request.with_key(text(name)) };
    side.ask(v, &if v >= 1 { request.with_key_type(kind) } else { request });
}

fn protocol(name: &str) -> JoinGroupRequestProtocol {
    JoinGroupRequestProtocol::default().with_name(text(name)).with_metadata(Bytes::from_static(b"\0\0\0\0\0\0\0\0\0\0"))
}

fn join(v: i16, group: &str, member: &str) -> JoinGroupRequest {
    let request = JoinGroupRequest::default()
        .with_group_id(text(group).into())
        .with_member_id(text(member))
        .with_session_timeout_ms(SESSION_MS)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol("range"), protocol("roundrobin")]);
    if v >= 1 { request.with_rebalance_timeout_ms(60_000) } else { request }
}

fn sync(v: i16, member: &Member, generation: i32) -> SyncGroupRequest {
    let assignment = SyncGroupRequestAssignment::default()
        .with_member_id(text(&member.id))
        .with_assignment(Bytes::from_static(ASSIGNMENT));
    let request = SyncGroupRequest::default()
        .with_group_id(text(&member.group).into())
        .with_generation_id(generation)
        .with_member_id(text(&member.id))
        .with_assignments(vec![assignment]);
    if v < 5 {
        return request;
    }
    request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range")))
}

fn beat(group: &str, member: &str, generation: i32) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(text(group).into())
        .with_generation_id(generation)
        .with_member_id(text(member))
}

/// Members by id and instance.
fn leave(v: i16, group: &str, members: &[(&str, Option<&str>)]) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(text(group).into());
    if v < 3 {
        return request.with_member_id(text(members[0].0));
    }
    let members = members.iter().map(|(id, instance)| {
        MemberIdentity::default().with_member_id(text(id)).with_group_instance_id(instance.map(text))
    });
    request.with_members(members.collect())
}
