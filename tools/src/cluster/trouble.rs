//! What is wrong with a partition, why, and what would help: one line each.
//!
//! Holds: everything said here follows from what Kafka's own APIs told (Metadata, DescribeTopicPartitions, DescribeCluster,
//! DescribeConfigs), so any node can be asked, of any make.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is known of a partition.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) leader: i32,
    pub(super) replicas: Vec<i32>,
    pub(super) isr: Vec<i32>,
    pub(super) elr: Vec<i32>,
    pub(super) last_known: Vec<i32>,
    /// Replicas that are not alive, or whose directory has failed.
    pub(super) offline: Vec<i32>,
    /// `min.insync.replicas`, if it is known.
    pub(super) min_isr: Option<usize>,
    /// `unclean.leader.election.enable`, if it is known.
    pub(super) unclean: Option<bool>,
}

/// A broker's state, as far as partitions are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Alive,
    Fenced,
    /// Does not answer here, though it is not fenced.
    Silent,
}

/// Registered brokers.
pub(super) type Brokers = BTreeMap<i32, State>;

/// How bad it is; worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Leaderless,
    UnderMinIsr,
    UnderReplicated,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Leaderless => "no leader",
            Kind::UnderMinIsr => "under min ISR",
            Kind::UnderReplicated => "under-replicated",
        }
    }
}

/// One partition in trouble.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    pub(super) topic: String,
    pub(super) partition: i32,
    /// Why, in one line.
    pub(super) why: String,
    /// What would help, in one line.
    pub(super) help: String,
}

/// What is wrong with the partition, if anything is.
pub(super) fn of(facts: &Facts, brokers: &Brokers) -> Option<Trouble> {
    let in_sync = facts.isr.len();
    // More than there are replicas cannot be asked for.
    let min_isr = facts.min_isr.map(|min| min.min(facts.replicas.len()));
    let (kind, why, help) = if facts.leader < 0 {
        let (why, help) = leaderless(facts, brokers);
        (Kind::Leaderless, why, help)
    } else if let Some(min) = min_isr.filter(|min| in_sync < *min) {
        let missing = missing(facts, brokers);
        let why = format!("{in_sync} of min.insync.replicas {min} in sync, acks=all is refused; missing: {missing}");
        (Kind::UnderMinIsr, why, help_missing(facts, brokers))
    } else if in_sync < facts.replicas.len() {
        let missing = missing(facts, brokers);
        let why = format!("{in_sync} of {} replicas in sync; missing: {missing}", facts.replicas.len());
        (Kind::UnderReplicated, why, help_missing(facts, brokers))
    } else {
        return None;
    };
    Some(Trouble { kind, topic: facts.topic.clone(), partition: facts.partition, why, help })
}

fn leaderless(facts: &Facts, brokers: &Brokers) -> (String, String) {
    let (waits_for, why) = if !facts.isr.is_empty() {
        (&facts.isr, "none of its in-sync replicas can lead")
    } else if !facts.elr.is_empty() {
        (&facts.elr, "nobody is in sync; it waits for an eligible replica, which lacks nothing")
    } else {
        (&facts.last_known, "every replica stopped uncleanly; it waits for the last that led")
    };
    let named = if waits_for.is_empty() { "nobody known".to_owned() } else { list(waits_for, facts, brokers) };
    let why = format!("{why}: {named}");
    let alive = |id: &&i32| brokers.get(id) == Some(&State::Alive) && !facts.offline.contains(id);
    let others: Vec<i32> = facts.replicas.iter().filter(alive).filter(|id| !waits_for.contains(id)).copied().collect();
    let start = match waits_for.as_slice() {
        [] => "bring a replica back".to_owned(),
        ids => format!("bring broker {} back", or(ids)),
    };
    let Some(first) = others.first() else {
        return (why, format!("{start}; no other replica is alive, so an unclean election would not help"));
    };
    let lost = "losing what it had not fetched yet";
    let help = match facts.unclean {
        Some(true) => {
            format!("unclean.leader.election.enable is on: broker {first} leads after the next sweep, {lost}")
        }
        _ => format!(
            "{start}; if that is impossible, unclean.leader.election.enable=true on the topic lets broker {first} lead, {lost}"
        ),
    };
    (why, help)
}

fn out_of_sync(facts: &Facts) -> Vec<i32> {
    facts.replicas.iter().filter(|id| !facts.isr.contains(id)).copied().collect()
}

fn missing(facts: &Facts, brokers: &Brokers) -> String {
    list(&out_of_sync(facts), facts, brokers)
}

/// Brokers, each with what keeps it.
fn list(ids: &[i32], facts: &Facts, brokers: &Brokers) -> String {
    let named: Vec<String> = ids.iter().map(|id| format!("{id} ({})", what_keeps(*id, facts, brokers))).collect();
    named.join(", ")
}

fn what_keeps(id: i32, facts: &Facts, brokers: &Brokers) -> &'static str {
    match brokers.get(&id) {
        None => "not registered",
        Some(State::Fenced) => "fenced",
        Some(State::Silent) => "silent",
        Some(State::Alive) if facts.offline.contains(&id) => "its log directory has failed",
        Some(State::Alive) if facts.isr.contains(&id) => "alive",
        Some(State::Alive) => "alive, catching up",
    }
}

fn help_missing(facts: &Facts, brokers: &Brokers) -> String {
    let of = |keeps: &str| -> Vec<i32> {
        out_of_sync(facts).into_iter().filter(|id| what_keeps(*id, facts, brokers) == keeps).collect()
    };
    let mut help = Vec::new();
    let (gone, silent, unknown) = (of("fenced"), of("silent"), of("not registered"));
    let (failed, behind) = (of("its log directory has failed"), of("alive, catching up"));
    if !gone.is_empty() {
        help.push(format!("start broker {} (`ballast cluster nodes` says why it is fenced)", and(&gone)));
    }
    if !silent.is_empty() {
        help.push(format!("look at broker {} and the way to it", and(&silent)));
    }
    if !unknown.is_empty() {
        help.push(format!("start a broker with id {}", and(&unknown)));
    }
    if !failed.is_empty() {
        help.push(format!("replace the disk of broker {} and start it again", and(&failed)));
    }
    if !behind.is_empty() {
        help.push(format!(
            "wait for broker {}; if it does not get nearer, look at its log, its disk and its way to broker {}",
            and(&behind),
            facts.leader
        ));
    }
    help.join("; ")
}

fn and(ids: &[i32]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

fn or(ids: &[i32]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(leader: i32, isr: &[i32]) -> Facts {
        let isr = isr.to_vec();
        Facts { topic: "t".to_owned(), leader, replicas: vec![1, 2, 3], isr, min_isr: Some(2), ..Facts::default() }
    }

    fn brokers(fenced: &[i32]) -> Brokers {
        let state = |id| if fenced.contains(&id) { State::Fenced } else { State::Alive };
        [1, 2, 3].map(|id| (id, state(id))).into()
    }

    #[test]
    fn a_healthy_partition_is_no_trouble() {
        assert_eq!(of(&facts(1, &[1, 2, 3]), &brokers(&[])), None);
    }

    #[test]
    fn who_is_missing_is_named_with_what_keeps_it() {
        let trouble = of(&facts(1, &[1, 2]), &brokers(&[3])).expect("one is missing");
        assert_eq!(trouble.kind, Kind::UnderReplicated);
        assert_eq!(trouble.why, "2 of 3 replicas in sync; missing: 3 (fenced)");
        assert!(trouble.help.starts_with("start broker 3 "), "{}", trouble.help);
        let trouble = of(&facts(1, &[1]), &brokers(&[3])).expect("two are missing");
        assert_eq!(trouble.kind, Kind::UnderMinIsr);
        assert_eq!(
            trouble.why,
            "1 of min.insync.replicas 2 in sync, acks=all is refused; missing: 2 (alive, catching up), 3 (fenced)"
        );
    }

    #[test]
    fn a_silent_broker_is_not_said_to_catch_up() {
        let brokers = Brokers::from([(1, State::Alive), (2, State::Alive), (3, State::Silent)]);
        let trouble = of(&facts(1, &[1, 2]), &brokers).expect("one is missing");
        assert_eq!(trouble.why, "2 of 3 replicas in sync; missing: 3 (silent)");
        assert_eq!(trouble.help, "look at broker 3 and the way to it");
    }

    #[test]
    fn a_minimum_above_the_replicas_is_met_by_all_of_them() {
        let alone = Facts { replicas: vec![1], ..facts(1, &[1]) };
        assert_eq!(of(&alone, &brokers(&[])), None);
    }

    #[test]
    fn a_leaderless_partition_says_whom_it_waits_for_and_what_an_unclean_election_costs() {
        let trouble = of(&facts(-1, &[2]), &brokers(&[2, 3])).expect("nobody leads");
        assert_eq!(trouble.kind, Kind::Leaderless);
        assert_eq!(trouble.why, "none of its in-sync replicas can lead: 2 (fenced)");
        assert_eq!(
            trouble.help,
            "bring broker 2 back; if that is impossible, unclean.leader.election.enable=true on the topic lets broker 1 lead, losing what it had not fetched yet"
        );
        let eligible = Facts { elr: vec![2, 3], ..facts(-1, &[]) };
        let trouble = of(&eligible, &brokers(&[1, 2, 3])).expect("nobody leads");
        assert!(trouble.why.ends_with("2 (fenced), 3 (fenced)"), "{}", trouble.why);
        assert!(trouble.help.contains("bring broker 2 or 3 back; no other replica is alive"), "{}", trouble.help);
        let last = Facts { last_known: vec![3], ..facts(-1, &[]) };
        let trouble = of(&last, &brokers(&[3])).expect("nobody leads");
        assert!(trouble.why.starts_with("every replica stopped uncleanly"), "{}", trouble.why);
    }

    #[test]
    fn a_failed_directory_is_not_taken_for_a_dead_broker() {
        let failed = Facts { offline: vec![3], ..facts(1, &[1, 2]) };
        let trouble = of(&failed, &brokers(&[])).expect("one is missing");
        assert!(trouble.why.ends_with("3 (its log directory has failed)"), "{}", trouble.why);
        assert!(trouble.help.starts_with("replace the disk of broker 3"), "{}", trouble.help);
    }
}
