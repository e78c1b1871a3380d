//! Static members (KIP-345): a restart moves nothing, and two of the same name exclude each other.

use ballast_client::ErrorCode;
use ballast_client::admin::MemberName;
use ballast_client::group::{GroupConfig, GroupConsumer};

use super::rig::{PATIENCE, Rig, poll_until, share};

fn named(name: &str) -> impl FnOnce(&mut GroupConfig) {
    let name = name.to_owned();
    move |config| config.instance_id = Some(name)
}

fn generation(member: &GroupConsumer) -> i32 {
    member.generation().expect("it has partitions")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_member_that_restarts_has_its_partitions_back_in_the_same_generation() {
    let rig = Rig::new(4, 10).await;
    let (mut first, mut second) = (rig.member_with(named("a")), rig.member_with(named("b")));
    let (mut read_first, mut read_second) = (Vec::new(), Vec::new());
    poll_until(&mut [(&mut first, &mut read_first), (&mut second, &mut read_second)], |members| {
        members.iter().all(|(member, _)| share(member) == 2 && member.is_at_end())
    })
    .await;
    let (before, had) = (generation(&first), second.assignment());
    assert_eq!(generation(&second), before);

    second.close(PATIENCE).await.expect("it commits and falls silent");
    let mut second = rig.member_with(named("b"));
    read_second.clear();
    poll_until(&mut [(&mut first, &mut read_first), (&mut second, &mut read_second)], |members| {
        share(members[1].0) == 2
    })
    .await;
    assert_eq!((generation(&second), second.assignment()), (before, had));
    assert_eq!(generation(&first), before, "the others noticed nothing");
    assert_eq!(read_second, [], "it goes on where it was");

    second.close(PATIENCE).await.expect("it falls silent");
    rig.admin.remove_group_member(&rig.group, MemberName::Instance("b")).await.expect("an administrator puts it out");
    poll_until(&mut [(&mut first, &mut read_first)], |members| share(members[0].0) == 4).await;
    first.close(PATIENCE).await.expect("it falls silent");
    rig.admin.remove_group_member(&rig.group, MemberName::Instance("a")).await.expect("an administrator puts it out");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_with_one_name_is_fenced_for_good() {
    let rig = Rig::new(1, 10).await;
    let mut older = rig.member_with(named("a"));
    let mut read = Vec::new();
    poll_until(&mut [(&mut older, &mut read)], |members| members[0].1.len() == 10).await;
    let mut newer = rig.member_with(named("a"));
    poll_until(&mut [(&mut newer, &mut Vec::new())], |members| share(members[0].0) == 1).await;
    let fenced = async {
        loop {
            if let Err(error) = older.poll(std::time::Duration::from_millis(100)).await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, fenced).await.expect("it is told");
    assert_eq!(error.code(), Some(ErrorCode::FENCED_INSTANCE_ID), "{error}");
    assert_eq!(older.poll(PATIENCE).await.expect_err("for good").code(), Some(ErrorCode::FENCED_INSTANCE_ID));
    newer.close(PATIENCE).await.expect("it is the one");
}
