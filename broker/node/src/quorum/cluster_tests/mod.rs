//! Several nodes of a quorum in this process, over real connections: founding, electing, losing, catching up, coming back.

mod doubles;
mod removed;
mod strangers;
mod town;

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_core::image::{Record, encode_records, encode_snapshot};
use ballast_wire::{BrokerId, Uuid};
use tokio::time::timeout;

use self::town::{Member, SOON, Town, id, leader, observers, propose, topic, until, voters};
use super::*;

#[tokio::test]
async fn three_voters_found_a_quorum_only_together_and_agree_on_every_entry() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let (mut one, mut two) = (town.start_still(1, 1).await, town.start_still(2, 1).await);
    for member in [&one, &two, &one, &two] {
        member.looks(1).await;
        assert!(voters(member).is_empty() && !member.is_backed().await, "nobody begins without the third");
    }
    one.goes_on();
    two.goes_on();
    let three = town.start(3, 1).await;
    let members = [&one, &two, &three];
    for n in 0..50 {
        propose(&members, n).await;
    }
    for member in members {
        member.catches_up().await;
        assert_eq!(member.topics(), 50);
        assert_eq!(voters(member), [id(1, 1), id(2, 1), id(3, 1)]);
    }
    let image = |member: &Member| encode_snapshot(&member.quorum.image());
    assert!(image(&one) == image(&two) && image(&two) == image(&three), "the images are the same");
}

#[tokio::test]
async fn two_of_three_go_on_without_the_leader_which_comes_back_and_misses_nothing() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let mut members: BTreeMap<BrokerId, Member> = BTreeMap::new();
    for node in 1..=3 {
        members.insert(node, town.start(node, 1).await);
    }
    for n in 0..6 {
        let all: Vec<&Member> = members.values().collect();
        let led = propose(&all, 2 * n).await;
        let lost = *members.keys().nth(led).unwrap();
        members.remove(&lost).unwrap().crash().await;
        let rest: Vec<&Member> = members.values().collect();
        propose(&rest, 2 * n + 1).await;
        let back = town.start(lost, 1).await;
        back.catches_up().await;
        assert_eq!(back.topics() as u64, 2 * n + 2, "after losing node {lost}");
        members.insert(lost, back);
    }
}

#[tokio::test]
async fn one_of_three_commits_nothing() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    let led = propose(&members.each_ref(), 1).await;
    let [one, two, three] = members;
    let mut rest = vec![one, two, three];
    let alone = rest.swap_remove(led);
    for member in rest {
        member.crash().await;
    }
    let proposed = timeout(Duration::from_secs(3), alone.quorum.propose(topic(2))).await;
    assert!(proposed.is_err(), "an entry that only one of three has: {proposed:?}");
    assert_eq!(alone.topics(), 1);
}

#[tokio::test]
async fn a_voter_that_was_away_for_long_catches_up_from_a_snapshot_in_chunks() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let (one, two, three) = (town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await);
    propose(&[&one, &two, &three], 0).await;
    three.catches_up().await;
    three.crash().await;
    // More than one chunk of image: names are long.
    for n in 1..=60_u64 {
        let records: Vec<Record> = (0..200_u64)
            .map(|m| {
                let mut topic = [0; 16];
                topic[..8].copy_from_slice(&(1000 * n + m).to_be_bytes());
                Record::Topic { name: format!("{:0>200}", 1000 * n + m), id: Uuid(topic) }
            })
            .collect();
        let at = leader(&[&one, &two]).await;
        [&one, &two][at].quorum.propose(encode_records(&records)).await.unwrap();
    }
    let at = leader(&[&one, &two]).await;
    let leading = [&one, &two][at];
    let covered = leading.quorum.image().index();
    leading.quorum.raft.trigger().snapshot().await.unwrap();
    let wait = leading.quorum.raft.wait(Some(SOON));
    wait.metrics(|seen| seen.snapshot.is_some_and(|at| at.index >= covered), "a snapshot").await.unwrap();
    leading.quorum.raft.trigger().purge_log(covered).await.unwrap();
    let wait = leading.quorum.raft.wait(Some(SOON));
    wait.metrics(|seen| seen.purged.is_some_and(|at| at.index >= covered), "a purge").await.unwrap();
    let bytes = encode_snapshot(&leading.quorum.image()).len();
    assert!(bytes > 2 << 20, "{bytes} bytes go in one or two chunks");

    let three = town.start(3, 1).await;
    three.catches_up().await;
    assert_eq!(three.topics(), 12_001);
    assert!(three.quorum.store.bounds().0 > 1, "it took the snapshot, not the entries");
}

#[tokio::test]
async fn a_wiped_voter_comes_back_as_a_learner_and_takes_its_own_place() {
    for wiped in 1..=3 {
        let town = Town::new(3, &[1, 2, 3]).await;
        let mut members: BTreeMap<BrokerId, Member> = BTreeMap::new();
        for node in 1..=3 {
            members.insert(node, town.start(node, 1).await);
        }
        let all: Vec<&Member> = members.values().collect();
        propose(&all, 0).await;
        for member in members.values() {
            member.catches_up().await;
        }
        members.remove(&wiped).unwrap().crash().await;
        let rest: Vec<&Member> = members.values().collect();
        propose(&rest, 1).await;

        let back = town.start(wiped, 2).await;
        back.catches_up().await;
        assert_eq!(back.topics(), 2, "node {wiped} learns everything");
        let expected: Vec<NodeId> = (1..=3).map(|node| id(node, if node == wiped { 2 } else { 1 })).collect();
        until("it votes in its old place", || voters(&back) == expected && observers(&back).is_empty()).await;
        members.insert(wiped, back);
        // The new directory counts: with it and one more there is a majority.
        let gone = if wiped == 3 { 2 } else { 3 };
        members.remove(&gone).unwrap().crash().await;
        let rest: Vec<&Member> = members.values().collect();
        propose(&rest, 2).await;
    }
}

#[tokio::test]
async fn a_majority_that_was_wiped_is_not_founded_again_over_the_one_that_remembers() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    propose(&members.each_ref(), 0).await;
    members[2].catches_up().await;
    for member in members {
        member.crash().await;
    }
    let members = [town.start_still(1, 2).await, town.start_still(2, 2).await, town.start_still(3, 1).await];
    for member in members.iter().cycle().take(3 * members.len()) {
        member.looks(1).await;
        assert!(!*member.quorum.leads().borrow() && !member.is_backed().await, "nobody leads, and nobody could");
    }
    assert!(voters(&members[0]).is_empty() && voters(&members[1]).is_empty());
    assert_eq!(voters(&members[2]), [id(1, 1), id(2, 1), id(3, 1)]);
}

#[tokio::test]
async fn a_node_that_is_not_listed_listens_as_a_learner() {
    let town = Town::new(4, &[1, 2, 3]).await;
    let (one, two, three) = (town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await);
    propose(&[&one, &two, &three], 0).await;
    let four = town.start(4, 1).await;
    four.catches_up().await;
    assert_eq!(four.topics(), 1);
    let at = propose(&[&one, &two, &three], 1).await;
    until("the learner follows", || four.topics() == 2).await;
    let led = [&one, &two, &three][at];
    assert_eq!((voters(led).len(), observers(led)), (3, vec![id(4, 1)]));
    let view = led.quorum.describe();
    assert_eq!(view.observers[0].node, town.addresses[&4]);
    assert!(view.observers[0].last_fetch_ms > 0 && view.observers[0].last_caught_up_ms > 0, "{view:?}");
}

#[tokio::test]
async fn a_quorum_of_one_grows_to_three_and_goes_on_without_the_first() {
    let town = Town::new(3, &[1]).await;
    let (one, two, three) = (town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await);
    one.leads().await;
    propose(&[&one], 0).await;
    let any = |node| NodeId { node, directory: Uuid::ZERO };
    for node in [2, 3] {
        let added = one.quorum.add_voter(any(node), town.addresses[&node].clone());
        timeout(SOON, added).await.expect("it catches up soon").expect("it becomes a voter");
    }
    assert_eq!(voters(&one), [id(1, 1), id(2, 1), id(3, 1)]);
    let twice = one.quorum.add_voter(id(3, 1), town.addresses[&3].clone()).await;
    assert_eq!(twice, Err(VoterError::Duplicate(id(3, 1))));
    let not_leading = two.quorum.add_voter(any(4), town.addresses[&3].clone()).await;
    assert_eq!(not_leading, Err(VoterError::NotLeader));

    one.quorum.remove_voter(id(1, 1)).await.expect("a leader removes itself");
    propose(&[&two, &three], 1).await;
    until("both know", || [&two, &three].iter().all(|member| voters(member) == [id(2, 1), id(3, 1)])).await;
    let at = leader(&[&two, &three]).await;
    let (led, other) = if at == 0 { (&two, id(3, 1)) } else { (&three, id(2, 1)) };
    assert_eq!(led.quorum.remove_voter(id(1, 1)).await, Err(VoterError::NotFound(id(1, 1))));
    led.quorum.remove_voter(other).await.expect("two can become one");
    let last = led.quorum.me();
    assert_eq!(led.quorum.remove_voter(last).await, Err(VoterError::Last(last)));
}

#[tokio::test]
async fn nobody_is_added_who_is_not_there_or_is_somebody_else() {
    let town = Town::new(3, &[1]).await;
    let (one, two) = (town.start(1, 1).await, town.start(2, 1).await);
    one.leads().await;
    let absent = one.quorum.add_voter(id(3, 1), town.addresses[&3].clone()).await;
    assert!(matches!(absent, Err(VoterError::NotThere { .. })), "{absent:?}");
    let wiped = one.quorum.add_voter(id(2, 9), town.addresses[&2].clone()).await;
    assert!(matches!(wiped, Err(VoterError::NotThere { .. })), "{wiped:?}");
    assert_eq!(voters(&one), [id(1, 1)]);
    drop(two);
}

#[tokio::test]
async fn all_three_restart_at_once_and_hold_what_was_committed() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    for n in 0..20 {
        propose(&members.each_ref(), n).await;
    }
    for member in members {
        member.crash().await;
    }
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    for member in &members {
        member.catches_up().await;
        assert_eq!(member.topics(), 20);
    }
}

#[tokio::test]
async fn one_listed_voter_alone_leads_without_waiting_for_anybody() {
    let town = Town::new(1, &[1]).await;
    let one = town.start(1, 1).await;
    one.leads().await;
    assert_eq!(voters(&one), [id(1, 1)]);
}

#[tokio::test]
async fn a_broker_alone_is_taken_in_by_whichever_controller_it_knows_and_never_votes() {
    let town = Town::new(5, &[1, 2, 3]).await;
    let (one, two, three) = (town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await);
    propose(&[&one, &two, &three], 0).await;
    for (learner, at) in [(4, 1), (5, 3)] {
        let learning = town.start_learner(id(learner, 1), at, None).await;
        learning.catches_up().await;
        assert_eq!(learning.topics(), 1);
        let led = [&one, &two, &three][leader(&[&one, &two, &three]).await];
        let any = NodeId { node: learner, directory: Uuid::ZERO };
        let added = led.quorum.add_voter(any, town.addresses[&learner].clone()).await;
        assert_eq!(added, Err(VoterError::Voteless(id(learner, 1))));
        learning.crash().await;
    }
    let led = [&one, &two, &three][leader(&[&one, &two, &three]).await];
    assert_eq!((voters(led).len(), observers(led)), (3, vec![id(4, 1), id(5, 1)]));
}

#[tokio::test]
async fn a_broker_alone_with_a_voters_id_or_of_another_cluster_is_turned_away_in_one_line() {
    let town = Town::new(2, &[1]).await;
    let one = town.start(1, 1).await;
    one.leads().await;
    let (ours, theirs) = (Uuid([1; 16]), Uuid([2; 16]));
    one.quorum.propose(encode_records(&[Record::ClusterId { id: ours }])).await.unwrap();
    let stranger = town.start_learner(id(2, 1), 1, Some(theirs)).await;
    let why = timeout(SOON, stranger.quorum.fatal()).await.expect("it is told soon").to_string();
    assert!(why.contains(&format!("node 2 belongs to cluster {theirs}, and this is cluster {ours}")), "{why}");
    stranger.crash().await;
    let kin = town.start_learner(id(2, 2), 1, Some(ours)).await;
    kin.catches_up().await;
}

#[tokio::test]
async fn a_leader_that_restarts_does_not_believe_in_its_former_reign() {
    let town = Town::new(3, &[1, 2, 3]).await;
    let mut members: BTreeMap<BrokerId, Member> = BTreeMap::new();
    for node in 1..=3 {
        members.insert(node, town.start(node, 1).await);
    }
    let led = propose(&members.values().collect::<Vec<_>>(), 0).await;
    let first = *members.keys().nth(led).unwrap();
    for member in members.values() {
        member.catches_up().await;
    }
    for (node, member) in members {
        assert_eq!(member.topics(), 1, "node {node}");
        member.crash().await;
    }
    // Alone it reaches nobody who could confirm that it still leads.
    let back = town.start_still(first, 1).await;
    back.looks(1).await;
    assert!(!back.is_backed().await, "nobody answers");
    assert!(!*back.quorum.leads().borrow(), "it was given no vote in this life");
    assert_ne!(back.quorum.describe().leader, Some(id(first, 1)));
    assert_eq!(back.topics(), 1);
}

#[tokio::test]
async fn a_voter_that_was_removed_while_it_was_away_deposes_nobody_neither_when_it_is_back_nor_when_it_is_added_again()
{
    let town = Town::new(3, &[1, 2, 3]).await;
    let mut members: BTreeMap<BrokerId, Member> = BTreeMap::new();
    for node in 1..=3 {
        members.insert(node, town.start(node, 1).await);
    }
    let led = propose(&members.values().collect::<Vec<_>>(), 0).await;
    let leads = *members.keys().nth(led).unwrap();
    let away = *members.keys().find(|node| **node != leads).unwrap();
    members.remove(&away).unwrap().crash().await;
    members[&leads].quorum.remove_voter(id(away, 1)).await.expect("two of three agree");
    let reign = |members: &BTreeMap<BrokerId, Member>| {
        let view = members[&leads].quorum.describe();
        (view.leader, view.epoch)
    };
    let before = reign(&members);
    assert_eq!(before.0, Some(id(leads, 1)));

    let mut back = town.start_still(away, 1).await;
    assert_eq!(voters(&back).len(), 3, "it does not know that it was removed");
    for _ in 0..10 {
        assert!(!back.is_backed().await, "both of the others hear a leader, or are one");
    }
    back.goes_on();
    until("it is taken in as a learner", || observers(&members[&leads]) == [id(away, 1)]).await;
    until("it knows", || voters(&back).len() == 2).await;
    let added = members[&leads].quorum.add_voter(id(away, 1), town.addresses[&away].clone());
    timeout(SOON, added).await.expect("it catches up soon").expect("it votes again");
    assert_eq!(reign(&members), before, "the leader that did all that led throughout");
    propose(&members.values().collect::<Vec<_>>(), 1).await;
    back.catches_up().await;
    assert_eq!((back.topics(), reign(&members)), (2, before));
}
