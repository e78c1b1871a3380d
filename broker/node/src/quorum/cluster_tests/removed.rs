//! Voters that are removed while they are up: they lose their vote, and nothing else.

use super::*;

#[tokio::test]
async fn a_voter_that_is_removed_while_it_is_up_goes_on_as_an_observer_in_the_same_step() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    let at = propose(&members.each_ref(), 0).await;
    let (led, other) = (&members[at], &members[(at + 1) % 3]);
    let removed = other.quorum.me();
    until("it has answered", || {
        let view = led.quorum.describe();
        view.voters.iter().any(|voter| voter.id == removed && voter.last_fetch_ms > 0)
    })
    .await;
    let epoch = led.quorum.describe().epoch;
    for directory in [Uuid::ZERO, Uuid([9; 16])] {
        let other = NodeId { directory, ..removed };
        assert_eq!(led.quorum.remove_voter(other).await, Err(VoterError::NotFound(other)), "its directory is another");
    }
    led.quorum.remove_voter(removed).await.expect("two are left");
    assert_eq!((voters(led).len(), observers(led)), (2, vec![removed]));
    led.quorum.propose(topic(1)).await.expect("two of two agree");
    until("it misses nothing", || other.topics() == 2 && observers(other) == [removed]).await;
    assert_eq!(led.quorum.describe().epoch, epoch, "it deposes nobody");
}

#[tokio::test]
async fn a_leader_that_removes_itself_observes_whoever_is_elected() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    let at = propose(&members.each_ref(), 0).await;
    let removed = members[at].quorum.me();
    members[at].quorum.remove_voter(removed).await.expect("two are left");
    let rest: Vec<&Member> = members.iter().filter(|member| member.quorum.me() != removed).collect();
    propose(&rest, 1).await;
    until("it follows", || members[at].topics() == 2 && observers(&members[at]) == [removed]).await;
    let view = members[at].quorum.describe();
    assert!(view.leader.is_some_and(|leader| leader != removed), "{view:?}");
}
