//! Two nodes with one id: whoever is alive keeps it, and nothing is written of the other.

use super::super::rpc::{Joining, Refused};
use super::*;

#[tokio::test]
async fn a_node_whose_id_is_alive_elsewhere_is_turned_away_and_nothing_is_written() {
    let town = Town::new(4, &[1, 2, 3]).await;
    let members = [town.start(1, 1).await, town.start(2, 1).await, town.start(3, 1).await];
    let at = propose(&members.each_ref(), 0).await;
    let led = &members[at];
    let away = id(if at == 2 { 2 } else { 3 }, 1);
    until("it has answered", || {
        let view = led.quorum.describe();
        view.voters.iter().any(|voter| voter.id == away && voter.last_fetch_ms > 0)
    })
    .await;
    let double = NodeId { directory: Uuid([9; 16]), ..away };
    let end = led.quorum.store.bounds().1;
    for _ in 0..20 {
        let (at, elsewhere) = (town.addresses[&away.node].clone(), town.addresses[&4].clone());
        let joining = Joining { at, cluster: None, may_vote: true, listens_at: Some(elsewhere) };
        let refused = led.quorum.join_as_learner(double, joining).await;
        let Err(Refused::InUse(text)) = refused else { panic!("{refused:?}") };
        let (here, there) = (&town.addresses[&away.node], &town.addresses[&4]);
        assert_eq!(
            text,
            format!(
                "node id {} is in use: the node at {here} is alive; the one at {there} (directory {}) is not taken in",
                away.node, double.directory
            )
        );
    }
    let intruder = town.start_double(double, 4).await;
    intruder.looks(5).await;
    assert_eq!(led.quorum.store.bounds().1, end, "nothing was written");
    assert_eq!((voters(led), observers(led)), (vec![id(1, 1), id(2, 1), id(3, 1)], vec![]));
}

#[tokio::test]
async fn an_id_that_falls_silent_is_given_to_the_node_that_waits_for_it() {
    let town = Town::new(3, &[1]).await;
    let (one, two) = (town.start(1, 1).await, town.start(2, 1).await);
    propose(&[&one], 0).await;
    two.catches_up().await;
    let mut waiting = town.start_double(id(2, 2), 3).await;
    waiting.looks(2).await;
    assert_eq!(observers(&one), [id(2, 1)], "its id is alive");
    waiting.goes_on();
    two.crash().await;
    waiting.catches_up().await;
    assert_eq!(waiting.topics(), 1);
    until("the other directory is forgotten", || observers(&one) == [id(2, 2)]).await;
}
