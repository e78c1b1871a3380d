//! Each rule alone; what nodes do about it together is in `cluster_tests::strangers`.

use openraft::LeaderId;

use super::*;

fn vote(term: u64, node: u64) -> Vote {
    Vote { leader_id: LeaderId::new(term, NodeId::from(node)), committed: true }
}

fn at(term: u64, index: u64) -> LogId {
    LogId { leader_id: vote(term, 1).leader_id, index }
}

/// Node 2, which follows 1 in term 7, and of whose log 5 entries are committed.
fn follower() -> Known {
    Known { me: NodeId::from(2), vote: vote(7, 1), committed: Some(at(6, 4)), hears_leader: true, is_voter: true }
}

fn says(of: Vote) -> AppendEntriesRequest<TypeConfig> {
    AppendEntriesRequest { vote: of, prev_log_id: None, entries: Vec::new(), leader_commit: None }
}

fn heard(of: Vote, known: &Known) -> Result<(), Refused> {
    append(&mut says(of), of.leader_id.node_id, known)
}

fn is_put_off(outcome: Result<(), Refused>) -> bool {
    matches!(outcome, Err(Refused::NotNow(_)))
}

#[test]
fn a_stranger_is_believed_only_once_no_leader_is_heard_of() {
    let stranger = Known { is_voter: false, ..follower() };
    assert!(is_put_off(heard(vote(8, 99), &stranger)));
    assert_eq!(heard(vote(8, 99), &Known { hears_leader: false, ..stranger.clone() }), Ok(()));
    assert_eq!(heard(vote(8, 3), &follower()), Ok(()), "a voter of a later term");
    assert_eq!(heard(vote(7, 1), &stranger), Ok(()), "the leader that we follow, whatever the membership says now");
    assert_eq!(heard(vote(5, 99), &stranger), Ok(()), "openraft tells it of the newer one");
}

#[test]
fn a_second_leader_of_a_term_is_heard_only_once_the_first_is_silent() {
    assert!(is_put_off(heard(vote(7, 3), &follower())));
    assert_eq!(heard(vote(7, 3), &Known { hears_leader: false, ..follower() }), Ok(()));
}

#[test]
fn a_term_is_within_reach_up_to_the_step_and_up_to_what_a_log_can_keep() {
    assert!(is_within_reach(TERM_STEP_MAX, 0) && !is_within_reach(TERM_STEP_MAX + 1, 0));
    assert!(is_within_reach(TERM_MAX, TERM_MAX - 1) && !is_within_reach(TERM_MAX + 1, TERM_MAX));
    assert!(is_within_reach(0, TERM_MAX));
    let nothing = Known { vote: Vote::default(), committed: None, hears_leader: false, ..follower() };
    assert!(matches!(heard(vote(TERM_MAX, 3), &nothing), Err(Refused::Never(_))), "not without a log either");
}

#[test]
fn who_speaks_in_anothers_name_or_in_ours_is_refused_whatever_the_term() {
    let other = append(&mut says(vote(8, 3)), NodeId::from(1), &follower());
    assert!(matches!(other, Err(Refused::Never(_))));
    for term in [1, 7, 8] {
        assert!(matches!(heard(vote(term, 2), &follower()), Err(Refused::Never(_))), "term {term}");
    }
}

#[test]
fn a_ballot_of_one_who_leads_already_is_none() {
    let candidate = |committed| VoteRequest { vote: Vote { committed, ..vote(8, 3) }, last_log_id: Some(at(7, 9)) };
    assert_eq!(ballot(&candidate(false), NodeId::from(3), &follower()), Ok(()));
    assert!(matches!(ballot(&candidate(true), NodeId::from(3), &follower()), Err(Refused::Never(_))));
    let later = VoteRequest { last_log_id: Some(at(9, 9)), ..candidate(false) };
    assert!(matches!(ballot(&later, NodeId::from(3), &follower()), Err(Refused::Never(_))), "a log of after its term");
}

#[test]
fn what_is_committed_beyond_what_was_sent_counts_up_to_that_alone() {
    let mut beyond = says(vote(7, 1));
    beyond.prev_log_id = Some(at(6, 6));
    beyond.leader_commit = Some(at(7, 50));
    assert_eq!(append(&mut beyond, NodeId::from(1), &follower()), Ok(()));
    assert_eq!(beyond.leader_commit, Some(at(6, 6)));
    beyond.leader_commit = Some(at(7, 6));
    assert!(matches!(append(&mut beyond, NodeId::from(1), &follower()), Err(Refused::Never(_))), "two entries at 6");
    beyond.leader_commit = Some(at(6, 5));
    assert_eq!(append(&mut beyond, NodeId::from(1), &follower()), Ok(()));
    assert_eq!(beyond.leader_commit, Some(at(6, 5)));
}

#[test]
fn nothing_newer_stands_before_what_is_committed_and_nothing_older_after_it() {
    let after = |prev: LogId| {
        let mut append = says(vote(7, 1));
        append.prev_log_id = Some(prev);
        append
    };
    for (prev, fits) in [(at(6, 4), true), (at(5, 3), true), (at(7, 3), false), (at(5, 4), true), (at(5, 5), false)] {
        assert_eq!(append(&mut after(prev), NodeId::from(1), &follower()).is_ok(), fits, "{prev}");
    }
}
