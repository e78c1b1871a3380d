//! What a change of a partition does to its leader, ISR and epochs.

use super::*;

/// Replicas 1, 2, 3; all in sync; 1 leads in epoch 5.
fn healthy() -> Partition {
    Partition {
        replicas: vec![1, 2, 3],
        directories: vec![Uuid([1; 16]), Uuid([2; 16]), Uuid([3; 16])],
        isr: vec![1, 2, 3],
        elr: vec![],
        last_known_elr: vec![],
        adding: vec![],
        removing: vec![],
        leader: 1,
        leader_epoch: 5,
        partition_epoch: 9,
        recovery: Recovery::Recovered,
    }
}

/// Puts a change together: `alive` may lead, `edit` says what is asked for.
fn change(old: &Partition, alive: &[BrokerId], elr: bool, edit: impl FnOnce(&mut Change<'_>)) -> Option<Partition> {
    let acceptable = |broker: BrokerId| alive.contains(&broker);
    let new_directory = |_: BrokerId| Uuid([9; 16]);
    let mut change = Change {
        old,
        acceptable: &acceptable,
        drained: &|_| false,
        new_directory: &new_directory,
        elr_enabled: elr,
        min_isr: 2,
        election: Election::Online,
        isr: old.isr.clone(),
        replicas: old.replicas.clone(),
        adding: old.adding.clone(),
        removing: old.removing.clone(),
        recovery: old.recovery,
        distrusted: None,
    };
    edit(&mut change);
    let new = change.build().map(|(new, _)| new);
    if let Some(new) = &new {
        new.check("topic", 0);
        assert_eq!(new.partition_epoch, old.partition_epoch + 1);
        let dropped = old.replicas.iter().any(|replica| !new.replicas.contains(replica));
        let rises = i32::from(new.leader != old.leader || dropped);
        assert_eq!(new.leader_epoch - old.leader_epoch, rises, "{old:?} became {new:?}");
    }
    new
}

fn without(members: &[BrokerId], gone: BrokerId) -> Vec<BrokerId> {
    members.iter().copied().filter(|member| *member != gone).collect()
}

#[test]
fn a_change_that_asks_for_nothing_is_none() {
    assert_eq!(change(&healthy(), &[1, 2, 3], true, |_| {}), None);
}

#[test]
fn a_follower_that_leaves_the_isr_moves_no_leader_epoch() {
    let new = change(&healthy(), &[1, 2], false, |change| change.isr = vec![1, 2]).expect("the ISR changes");
    assert_eq!((new.leader, new.leader_epoch, new.isr), (1, 5, vec![1, 2]));
}

#[test]
fn a_lost_leader_is_followed_by_the_first_in_assignment_order() {
    let new = change(&healthy(), &[2, 3], false, |change| change.isr = vec![3, 2]).expect("somebody leads");
    assert_eq!((new.leader, new.leader_epoch), (2, 6));
}

//@ KIP-966: without eligible leader replicas the last member of the ISR stays in it.
#[test]
fn without_elr_the_last_member_stays_in_the_isr_and_nobody_leads() {
    let alone = Partition { isr: vec![1], ..healthy() };
    let new = change(&alone, &[2, 3], false, |change| change.isr = vec![]).expect("the leader is gone");
    assert_eq!((new.leader, new.isr, new.elr), (NO_LEADER, vec![1], vec![]));
    assert_eq!(new.leader_epoch, 6);
}

//@ KIP-966: members that leave while the ISR is below the minimum become eligible leader replicas.
#[test]
fn with_elr_members_that_leave_below_the_minimum_become_eligible() {
    let two = Partition { isr: vec![1, 2], ..healthy() };
    let one = change(&two, &[1], true, |change| change.isr = vec![1]).expect("the ISR changes");
    assert_eq!((&one.isr, &one.elr, &one.last_known_elr), (&vec![1], &vec![2], &vec![]));
    let none = change(&one, &[], true, |change| change.isr = vec![]).expect("the ISR empties");
    assert_eq!((none.leader, &none.isr, &none.elr), (NO_LEADER, &vec![], &vec![2, 1]));
    assert_eq!(none.last_known_elr, [1], "who led last is remembered");
}

#[test]
fn an_eligible_replica_leads_once_the_isr_is_empty() {
    let dead = Partition { isr: vec![], elr: vec![2, 1], last_known_elr: vec![1], leader: NO_LEADER, ..healthy() };
    let new = change(&dead, &[2, 3], true, |_| {}).expect("2 is eligible");
    assert_eq!((new.leader, &new.isr, &new.elr, new.recovery), (2, &vec![2], &vec![1], Recovery::Recovered));
    let still_alive = Partition { isr: vec![3], elr: vec![2], leader: 3, ..healthy() };
    assert_eq!(change(&still_alive, &[2, 3], true, |_| {}), None, "3 leads, in sync");
}

#[test]
fn elr_is_cleared_when_the_isr_is_back_at_the_minimum() {
    let low = Partition { isr: vec![1], elr: vec![2], last_known_elr: vec![1], ..healthy() };
    let new = change(&low, &[1, 3], true, |change| change.isr = vec![1, 3]).expect("the ISR grows");
    assert_eq!((new.elr, new.last_known_elr), (vec![], vec![]));
}

//@ KIP-966: a broker that stopped uncleanly is in no ISR and no ELR until it has caught up.
#[test]
fn a_distrusted_broker_leaves_isr_and_elr_alike() {
    let low = Partition { isr: vec![1], elr: vec![2], ..healthy() };
    let new = change(&low, &[1], true, |change| change.distrusted = Some(2)).expect("the ELR changes");
    assert_eq!(new.elr, []);
    let new = change(&healthy(), &[2, 3], true, |change| {
        change.distrusted = Some(1);
        change.isr = without(&change.isr, 1);
    });
    let new = new.expect("the leader is gone");
    assert_eq!((new.leader, new.isr, new.elr), (2, vec![2, 3], vec![]));
}

#[test]
fn a_sole_replica_back_from_an_unclean_stop_leads_again_with_a_new_epoch() {
    let sole = Partition { replicas: vec![1], directories: vec![Uuid([1; 16])], isr: vec![1], ..healthy() };
    let gone = change(&sole, &[], true, |change| {
        change.distrusted = Some(1);
        change.isr = vec![];
    });
    let gone = gone.expect("nobody leads");
    assert_eq!((gone.leader, &gone.isr, &gone.elr, &gone.last_known_elr), (NO_LEADER, &vec![], &vec![], &vec![1]));
    let back = change(&gone, &[1], true, |_| {}).expect("it is the last known leader");
    assert_eq!((back.leader, &back.isr, back.recovery), (1, &vec![1], Recovery::Recovering));
    assert_eq!((back.leader_epoch, back.last_known_elr), (7, vec![]));
}

#[test]
fn a_last_known_leader_that_is_no_replica_any_more_does_not_lead() {
    let dead = Partition { isr: vec![], last_known_elr: vec![4], leader: NO_LEADER, ..healthy() };
    assert_eq!(change(&dead, &[2, 4], true, |_| {}), None);
}

#[test]
fn only_an_unclean_election_takes_a_replica_that_is_out_of_sync() {
    let dead = Partition { isr: vec![1], leader: NO_LEADER, ..healthy() };
    assert_eq!(change(&dead, &[3], false, |_| {}), None);
    let new = change(&dead, &[3], false, |change| change.election = Election::Unclean).expect("3 is alive");
    assert_eq!((new.leader, new.isr, new.recovery), (3, vec![3], Recovery::Recovering));
}

#[test]
fn a_preferred_election_moves_the_leader_only_to_a_replica_in_sync() {
    let moved = Partition { leader: 2, ..healthy() };
    let prefer = |change: &mut Change<'_>| change.election = Election::Preferred;
    let new = change(&moved, &[1, 2, 3], true, prefer).expect("1 is in sync");
    assert_eq!((new.leader, new.leader_epoch), (1, 6));
    let out_of_sync = Partition { isr: vec![2, 3], ..moved };
    assert_eq!(change(&out_of_sync, &[1, 2, 3], true, prefer), None);
}

#[test]
fn a_reassignment_ends_when_every_added_replica_is_in_sync() {
    let moving =
        Partition { replicas: vec![4, 2, 1], isr: vec![1, 2], adding: vec![4], removing: vec![1], ..healthy() };
    let new = change(&moving, &[1, 2, 4], true, |change| change.isr = vec![1, 2, 4]).expect("4 has caught up");
    assert_eq!((&new.replicas, &new.isr, &new.adding, &new.removing), (&vec![4, 2], &vec![2, 4], &vec![], &vec![]));
    assert_eq!((new.leader, new.leader_epoch), (4, 6), "the old leader was dropped");
    let still = change(&moving, &[1, 2, 4], true, |change| change.isr = vec![1]).expect("the ISR changes");
    assert_eq!((&still.replicas, &still.adding), (&vec![4, 2, 1], &vec![4]), "4 is not in sync yet");
}

#[test]
fn a_new_replica_gets_a_directory_and_the_others_keep_theirs() {
    let new = change(&healthy(), &[1, 2, 3, 4], true, |change| {
        change.replicas = vec![4, 1, 2, 3];
        change.adding = vec![4];
    });
    let new = new.expect("a replica is added");
    assert_eq!(new.directories, [Uuid([9; 16]), Uuid([1; 16]), Uuid([2; 16]), Uuid([3; 16])]);
}
