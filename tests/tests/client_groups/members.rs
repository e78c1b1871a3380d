//! Who reads what, while members come and go.

use std::collections::BTreeMap;

use ballast_client::group::Assignor;
use ballast_client::{Admin, ErrorCode};

use super::rig::{PATIENCE, Rig, all_places, poll_until, share, sorted};

#[tokio::test(flavor = "multi_thread")]
async fn two_members_share_a_topic_and_the_one_that_stays_reads_the_rest_once() {
    let rig = Rig::new(4, 50).await;
    let (mut first, mut second) = (rig.member(), rig.member());
    let (mut read_first, mut read_second) = (Vec::new(), Vec::new());
    poll_until(&mut [(&mut first, &mut read_first), (&mut second, &mut read_second)], |members| {
        members.iter().all(|(member, _)| share(member) == 2 && member.is_at_end())
    })
    .await;
    assert_ne!(first.assignment(), second.assignment());

    second.close(PATIENCE).await.expect("it commits and leaves");
    rig.write(0..4, 50).await;
    poll_until(&mut [(&mut first, &mut read_first)], |members| share(members[0].0) == 4 && members[0].1.len() >= 100)
        .await;
    poll_until(&mut [(&mut first, &mut read_first)], |members| members[0].0.is_at_end()).await;
    assert_eq!(sorted(&[&read_first, &read_second]), all_places(4, 100), "every record once");
    first.close(PATIENCE).await.expect("it commits and leaves");
    assert_eq!(rig.committed().await, (0..4).map(|partition| (partition, 100)).collect::<BTreeMap<_, _>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_listed_and_described_with_its_members_and_refuses_to_be_deleted_or_reset_while_it_has_any() {
    let rig = Rig::new(3, 5).await;
    let mut member = rig.member_with(|config| config.assignors = vec![Assignor::RoundRobin]);
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 15).await;

    let described = rig.admin.describe_group(&rig.group).await.expect("it is there");
    assert_eq!((described.state.as_str(), described.assignor.as_str()), ("Stable", "roundrobin"));
    assert_eq!((described.group_type.as_str(), described.protocol_type.as_str()), ("Classic", "consumer"));
    let [one] = &described.members[..] else { panic!("{described:?}") };
    assert_eq!(one.assignment, member.assignment());
    assert_eq!(one.client_id, "ballast");
    let listed = rig.admin.list_groups().await.expect("the brokers answer");
    let listed = listed.iter().find(|group| group.id == rig.group).expect("it is listed");
    assert_eq!(listed.state, "Stable");

    let refused = rig.admin.delete_group(&rig.group).await.expect_err("it has a member");
    assert_eq!(refused.code(), Some(ErrorCode::NON_EMPTY_GROUP));
    let offsets = [((rig.topic.clone(), 0), ballast_client::admin::CommittedOffset::at(1))].into();
    let refused = rig.admin.set_group_offsets(&rig.group, &offsets).await.expect_err("it has a member");
    assert_eq!(refused.code(), Some(ErrorCode::UNKNOWN_MEMBER_ID));

    member.close(PATIENCE).await.expect("it commits and leaves");
    rig.admin.set_group_offsets(&rig.group, &offsets).await.expect("it is empty");
    assert_eq!(rig.committed().await[&0], 1);
    rig.admin.delete_group_offsets(&rig.group, &[(rig.topic.clone(), 0)]).await.expect("nobody reads it");
    assert_eq!(rig.committed().await.get(&0), None);
    rig.admin.delete_group(&rig.group).await.expect("it is empty");
    let missing = rig.admin.describe_group(&rig.group).await.expect_err("it is gone");
    assert_eq!(missing.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_a_topic_gets_later_are_read_without_a_restart() {
    let rig = Rig::new(1, 5).await;
    let mut member = rig.member();
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 5).await;
    Admin::new(rig.cluster.clone()).create_partitions(&rig.topic, 3, false).await.expect("it can grow");
    rig.write(1..3, 5).await;
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 15).await;
    assert_eq!(sorted(&[&read]), all_places(3, 5), "every record once, also those written before we knew");
    member.close(PATIENCE).await.expect("it commits and leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_gone_without_a_word_is_replaced_when_its_session_ends() {
    let rig = Rig::new(2, 10).await;
    let (mut first, mut second) = (rig.member(), rig.member());
    let (mut read_first, mut read_second) = (Vec::new(), Vec::new());
    poll_until(&mut [(&mut first, &mut read_first), (&mut second, &mut read_second)], |members| {
        members.iter().all(|(member, _)| share(member) == 1)
    })
    .await;
    drop(second);
    poll_until(&mut [(&mut first, &mut read_first)], |members| share(members[0].0) == 2).await;
    first.close(PATIENCE).await.expect("it commits and leaves");
}
