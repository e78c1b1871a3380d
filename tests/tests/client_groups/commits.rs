//! What is committed, when, and who goes on from there.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_client::admin::MemberName;

use super::rig::{PATIENCE, Rig, all_places, poll_until, share, sorted};

#[tokio::test(flavor = "multi_thread")]
async fn the_next_member_goes_on_where_the_last_one_committed() {
    let rig = Rig::new(1, 10).await;
    let mut member = rig.member_with(|config| config.auto_commit = false);
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 10).await;
    assert!(member.seek(&rig.topic, 0, 4), "records 4 to 9 are not used");
    member.commit().await.expect("it is a member");
    member.close(PATIENCE).await.expect("it leaves");
    assert_eq!(rig.committed().await, [(0, 4)].into());

    let mut next = rig.member();
    let mut read = Vec::new();
    poll_until(&mut [(&mut next, &mut read)], |members| members[0].1.len() >= 6).await;
    assert_eq!(read, (4..10).map(|offset| (0, offset)).collect::<Vec<_>>());
    next.close(PATIENCE).await.expect("it commits and leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_out_is_committed_in_the_background_and_nothing_before() {
    let rig = Rig::new(1, 10).await;
    let mut member = rig.member_with(|config| config.auto_commit_interval = Duration::from_millis(50));
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 10).await;
    assert_ne!(rig.committed().await.get(&0), Some(&10), "it has just been handed out");
    let committed = async {
        while rig.committed().await.get(&0) != Some(&10) {
            member.poll(Duration::from_millis(20)).await.expect("the membership goes on");
        }
    };
    tokio::time::timeout(PATIENCE, committed).await.expect("it is committed");
    // Gone without a word: nobody reads it again.
    drop(member);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_a_member_that_was_put_out_is_refused_and_it_comes_back() {
    let rig = Rig::new(2, 10).await;
    let mut member = rig.member_with(|config| config.auto_commit = false);
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 20).await;
    let described = rig.admin.describe_group(&rig.group).await.expect("it is there");
    let name = MemberName::Id(&described.members[0].id);
    rig.admin.remove_group_member(&rig.group, name).await.expect("it is a member");
    let refused = member.commit().await.expect_err("it is no member any more");
    assert!(matches!(refused.code().map(|code| code.0), Some(22 | 25)), "{refused}");
    let mut again = Vec::new();
    poll_until(&mut [(&mut member, &mut again)], |members| share(members[0].0) == 2 && members[0].1.len() == 20).await;
    assert_eq!(sorted(&[&again]), all_places(2, 10), "nothing was committed: all is read again");
    member.close(PATIENCE).await.expect("it leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_called_committed_by_who_has_lost_its_partitions_meanwhile() {
    let rig = Rig::new(2, 10).await;
    let mut member = rig.member_with(|config| {
        config.auto_commit = false;
        config.poll_interval_max = Duration::from_millis(500);
    });
    let mut read = Vec::new();
    poll_until(&mut [(&mut member, &mut read)], |members| members[0].1.len() == 20).await;
    let gone = async {
        while !rig.admin.describe_group(&rig.group).await.is_ok_and(|group| group.members.is_empty()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("nobody polls: it leaves");
    member.poll(Duration::ZERO).await.expect("it joins again");
    assert_eq!(member.generation(), None, "before it has");
    let refused = member.commit().await.expect_err("others may read it");
    assert_eq!(refused.code().map(|code| code.0), Some(25), "{refused}");
    let mut again = Vec::new();
    poll_until(&mut [(&mut member, &mut again)], |members| members[0].1.len() == 20).await;
    member.commit().await.expect("it is a member again");
    assert_eq!(rig.committed().await, BTreeMap::from([(0, 10), (1, 10)]));
}
