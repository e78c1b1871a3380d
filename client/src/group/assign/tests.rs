//! Results of the assignors beside those of Kafka's Java classes.

use super::*;

fn member(id: &str, instance_id: Option<&str>, topics: &[&str]) -> Candidate {
    let topics = topics.iter().map(|&topic| topic.to_owned()).collect();
    Candidate { id: id.to_owned(), instance_id: instance_id.map(str::to_owned), subscription: Subscription::to(topics) }
}

fn counts(rows: &[(&str, i32)]) -> BTreeMap<String, i32> {
    rows.iter().map(|(topic, count)| ((*topic).to_owned(), *count)).collect()
}

/// `id=t-0,t-1;…`, members in order.
fn assigned(assignor: Assignor, members: &[Candidate], rows: &[(&str, i32)]) -> String {
    let rows = assignor.assign(members, &counts(rows)).into_iter().map(|(id, partitions)| {
        let all = partitions.iter().flat_map(|(topic, list)| list.iter().map(move |p| format!("{topic}-{p}")));
        format!("{id}={}", all.collect::<Vec<_>>().join(","))
    });
    rows.collect::<Vec<_>>().join(";")
}

/// From `RangeAssignorTest` and `RoundRobinAssignorTest` of Apache Kafka.
#[test]
fn javas_own_examples_come_out_the_same() {
    let two = [member("c2", None, &["t1", "t2"]), member("c1", None, &["t1", "t2"])];
    let topics = [("t1", 3), ("t2", 3)];
    let range = assigned(Assignor::Range, &two, &topics);
    assert_eq!(range, "c1=t1-0,t1-1,t2-0,t2-1;c2=t1-2,t2-2");
    let round = assigned(Assignor::RoundRobin, &two, &topics);
    assert_eq!(round, "c1=t1-0,t1-2,t2-1;c2=t1-1,t2-0,t2-2");
    let mixed = [member("c1", None, &["t1"]), member("c2", None, &["t1", "t2"]), member("c3", None, &["t1"])];
    let topics = [("t1", 3), ("t2", 2)];
    assert_eq!(assigned(Assignor::Range, &mixed, &topics), "c1=t1-0;c2=t1-1,t2-0,t2-1;c3=t1-2");
    assert_eq!(assigned(Assignor::RoundRobin, &mixed, &topics), "c1=t1-0;c2=t1-1,t2-0,t2-1;c3=t1-2");
}

#[test]
fn more_members_than_partitions_leave_the_last_ones_without() {
    let members: Vec<_> = ["c", "a", "b"].iter().map(|id| member(id, None, &["t"])).collect();
    assert_eq!(assigned(Assignor::Range, &members, &[("t", 2)]), "a=t-0;b=t-1;c=");
    assert_eq!(assigned(Assignor::RoundRobin, &members, &[("t", 2)]), "a=t-0;b=t-1;c=");
}

#[test]
fn static_members_come_first_in_the_order_of_their_instance_ids() {
    let members = [member("a", None, &["t"]), member("z", Some("i1"), &["t"]), member("b", Some("i2"), &["t"])];
    assert_eq!(assigned(Assignor::Range, &members, &[("t", 4)]), "a=t-3;b=t-2;z=t-0,t-1");
    assert_eq!(assigned(Assignor::RoundRobin, &members, &[("t", 4)]), "a=t-2;b=t-1;z=t-0,t-3");
}

#[test]
fn a_topic_that_is_not_there_or_that_nobody_wants_is_left_out() {
    let members = [member("a", None, &["gone", "t"])];
    for assignor in [Assignor::Range, Assignor::RoundRobin] {
        assert_eq!(assigned(assignor, &members, &[("t", 1), ("other", 4)]), "a=t-0");
        assert_eq!(assigned(assignor, &members, &[("t", 0)]), "a=");
        assert_eq!(assigned(assignor, &[], &[("t", 3)]), "");
    }
}

#[test]
fn every_partition_goes_to_one_member_that_wants_it_whatever_the_subscriptions() {
    // All subscriptions of three members to subsets of two topics.
    for choice in 0..64u32 {
        let members: Vec<_> = (0..3)
            .map(|at| {
                let bits = choice >> (2 * at);
                let topics: Vec<&str> =
                    [(1, "t"), (2, "u")].iter().filter(|(b, _)| bits & b != 0).map(|(_, t)| *t).collect();
                member(&format!("m{at}"), None, &topics)
            })
            .collect();
        for assignor in [Assignor::Range, Assignor::RoundRobin] {
            let given = assignor.assign(&members, &counts(&[("t", 5), ("u", 2)]));
            for (topic, count) in [("t", 5), ("u", 2)] {
                let mut seen: Vec<i32> = Vec::new();
                for member in &members {
                    let part = given[&member.id].get(topic).cloned().unwrap_or_default();
                    assert!(part.is_empty() || member.wants(topic), "{choice}: {} does not read {topic}", member.id);
                    seen.extend(part);
                }
                seen.sort_unstable();
                let wanted = members.iter().any(|member| member.wants(topic));
                assert_eq!(seen, if wanted { (0..count).collect() } else { Vec::new() }, "{choice} {assignor:?}");
            }
        }
    }
}

#[test]
fn assignors_are_found_by_their_names_and_javas() {
    for (name, found) in [
        ("range", Some(Assignor::Range)),
        ("org.apache.kafka.clients.consumer.RoundRobinAssignor", Some(Assignor::RoundRobin)),
        ("cooperative-sticky", None),
    ] {
        assert_eq!(Assignor::from_name(name), found);
    }
}
