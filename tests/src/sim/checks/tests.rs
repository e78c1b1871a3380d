//! Every check finds the history that is wrong on purpose, and passes the one beside it that is right.

use super::*;
use crate::sim::beside::Beside;
use crate::sim::evidence::Kept;
use crate::sim::history::{BrokerEvent, Entry, Event, Place, Value};

const GROUP: &str = "g";

fn place() -> Place {
    Place::new("t", 0)
}

fn value(sequence: u64) -> Value {
    Value { producer: 1, sequence }
}

fn kept(offset: i64, sequence: u64) -> Kept {
    Kept { offset, leader_epoch: 0, producer_id: 7, value: Some(value(sequence)) }
}

fn acked(sequence: u64, offset: i64) -> Event {
    Event::Acked { at: place(), value: value(sequence), offset }
}

fn read(offset: i64, sequence: Option<u64>) -> Event {
    Event::Read { reader: 1, at: place(), offset, leader_epoch: 0, value: sequence.map(value) }
}

fn broker(broker: i32, what: BrokerEvent) -> Event {
    Event::Broker { broker, what }
}

fn evidence(events: Vec<Event>, logs: &[&[Kept]]) -> Evidence {
    let history = events.into_iter().zip(0..).map(|(event, ms)| Entry { ms, event }).collect();
    let logs = logs.iter().zip(1..).map(|(log, broker)| ((place(), broker), log.to_vec())).collect();
    Evidence { history, logs, ..Evidence::default() }
}

fn found(name: &str, evidence: &Evidence) -> usize {
    let checks = CHECKS.iter().filter(|check| check.name == name);
    checks.map(|check| (check.run)(evidence).len()).sum()
}

#[track_caller]
fn tells_apart(name: &str, wrong: &Evidence, right: &Evidence) {
    assert_eq!((found(name, wrong), found(name, right)), (1, 0), "{name} on the wrong and the right one");
}

#[test]
fn c1_a_record_that_one_replica_lost_is_missed() {
    let (whole, short) = ([kept(0, 5), kept(1, 6)], [kept(0, 5)]);
    let events = || vec![acked(5, 0), acked(6, 1)];
    tells_apart("C1", &evidence(events(), &[&whole, &short]), &evidence(events(), &[&whole, &whole]));
}

/// What broker 1, alone in the ISR, goes through when power fails.
fn blackout() -> [Event; 2] {
    let high = BrokerEvent::High { at: place(), leader_epoch: 0, high: 1, isr: vec![1] };
    [broker(1, high), broker(1, BrokerEvent::Died { of_power: true })]
}

#[test]
fn c1_a_blackout_takes_an_end_of_the_log_and_neither_its_middle_nor_what_comes_after() {
    let sent = |sequence| Event::Sent { at: place(), value: value(sequence) };
    let before = [sent(5), acked(5, 0), sent(6), acked(6, 1)];
    let after = [sent(7), acked(7, 1)];
    let events = || [&before[..], &blackout(), &after].concat();
    let right = evidence(events(), &[&[kept(0, 5), kept(1, 7)]]);
    tells_apart("C1", &evidence(events(), &[&[kept(0, 4), kept(1, 7)], &[kept(0, 5)]]), &right);
    let holed = evidence([&before[..], &blackout()].concat(), &[&[kept(0, 4), kept(1, 6)]]);
    tells_apart("C1", &holed, &right);
    let synced = Evidence { synced: ["t".into()].into(), ..evidence(events(), &[&[kept(0, 5), kept(1, 7)]]) };
    assert_eq!(found("C1", &synced), 1, "it was synced before it was acknowledged");
}

#[test]
fn c2_a_value_that_is_there_twice_or_too_late_is_seen() {
    let right = evidence(vec![], &[&[kept(0, 5), kept(1, 6)]]);
    tells_apart("C2", &evidence(vec![], &[&[kept(0, 5), kept(1, 5)]]), &right);
    tells_apart("C2", &evidence(vec![], &[&[kept(0, 6), kept(1, 5)]]), &right);
    let plain = Evidence { plain: ["t".into()].into(), ..evidence(vec![], &[&[kept(0, 5), kept(1, 5)]]) };
    assert_eq!(found("C2", &plain), 0, "its producer asked for no better");
}

#[test]
fn c2_a_blackout_excuses_two_batches_that_were_on_their_way_together_and_no_others() {
    let sent = |sequence| Event::Sent { at: place(), value: value(sequence) };
    let swapped: &[&[Kept]] = &[&[kept(0, 6), kept(1, 5)]];
    let together = [sent(5), sent(6), acked(6, 0), acked(5, 1)];
    assert_eq!(found("C2", &evidence([&blackout()[..], &together].concat(), swapped)), 0);
    assert_eq!(found("C2", &evidence([&together[..], &blackout()].concat(), swapped)), 1, "it came later");
    let one_by_one = [sent(5), acked(5, 1), sent(6), acked(6, 0)];
    assert_eq!(found("C2", &evidence([&blackout()[..], &one_by_one].concat(), swapped)), 1);
    let twice: &[&[Kept]] = &[&[kept(0, 5), kept(1, 5)]];
    assert_eq!(found("C2", &evidence([&blackout()[..], &together].concat(), twice)), 1);
}

#[test]
fn c4_an_offset_with_two_meanings_is_seen() {
    let log = [kept(0, 5)];
    tells_apart(
        "C4",
        &evidence(vec![read(0, Some(4))], &[&log]),
        &evidence(vec![read(0, Some(5)), acked(5, 0)], &[&log]),
    );
    let [high, dies] = blackout();
    let given_anew = |leader_epoch| {
        let log = [Kept { leader_epoch, ..kept(0, 5) }];
        evidence(vec![high.clone(), read(0, Some(4)), dies.clone()], &[&log])
    };
    tells_apart("C4", &given_anew(0), &given_anew(1));
}

#[test]
fn c5_a_reader_that_skips_or_goes_back_is_seen() {
    let sought = || Event::Sought { reader: 1, at: place(), offset: 0 };
    let right = evidence(vec![sought(), read(0, Some(1)), read(1, Some(2))], &[]);
    tells_apart("C5", &evidence(vec![sought(), read(1, Some(2))], &[]), &right);
    tells_apart("C5", &evidence(vec![sought(), read(0, Some(1)), read(0, Some(1))], &[]), &right);
    let [high, dies] = blackout();
    let with_blackout = |offset| {
        let events =
            vec![sought(), high.clone(), read(0, Some(1)), read(1, Some(2)), dies.clone(), read(offset, Some(3))];
        evidence(events, &[])
    };
    tells_apart("C5", &with_blackout(3), &with_blackout(1));
    let told = || Event::ReadFailed { reader: 1, error: "reading t-0 at offset 1: OFFSET_OUT_OF_RANGE (1)".to_owned() };
    let excused = evidence(vec![sought(), high.clone(), dies.clone(), told()], &[]);
    tells_apart("C5", &evidence(vec![sought(), told()], &[]), &excused);
}

#[test]
fn c6_two_leaders_of_one_epoch_are_seen() {
    let leads = |leader_epoch| BrokerEvent::Leads { at: place(), leader_epoch };
    let right = evidence(vec![broker(1, leads(3)), broker(2, leads(4))], &[]);
    tells_apart("C6", &evidence(vec![broker(1, leads(3)), broker(2, leads(3))], &[]), &right);
    let high = |high| BrokerEvent::High { at: place(), leader_epoch: 3, high, isr: vec![1] };
    tells_apart("C6", &evidence(vec![broker(1, high(5)), broker(1, high(4))], &[]), &right);
}

#[test]
fn c7_two_owners_a_zombie_and_a_lost_commit_are_seen() {
    let assigned = |member, generation| Event::Assigned { group: GROUP, member, generation, partitions: vec![place()] };
    let asks = |member, generation, offset| Event::Committing {
        group: GROUP,
        member,
        generation,
        offsets: vec![(place(), offset)],
    };
    let done = |member, generation, offset| Event::Committed {
        group: GROUP,
        member,
        generation,
        offsets: vec![(place(), offset)],
    };
    let end = |offset| {
        [
            Event::AskingCommitted { group: GROUP },
            Event::FinallyCommitted { group: GROUP, offsets: vec![(place(), offset)] },
        ]
    };
    let with_end = |mut events: Vec<Event>, offset| {
        events.extend(end(offset));
        evidence(events, &[])
    };
    let right = with_end(vec![assigned(1, 1), asks(1, 1, 5), done(1, 1, 5), assigned(2, 2), asks(2, 2, 9)], 9);
    tells_apart("C7", &evidence(vec![assigned(1, 1), assigned(2, 1)], &[]), &right);
    let zombie = vec![asks(2, 2, 7), done(2, 2, 7), asks(1, 1, 5), done(1, 1, 5)];
    tells_apart("C7", &evidence(zombie, &[]), &right);
    tells_apart("C7", &with_end(vec![asks(1, 1, 5), done(1, 1, 5)], 4), &right);
    let at = Place::new("__consumer_offsets", 0);
    let high = broker(1, BrokerEvent::High { at, leader_epoch: 0, high: 1, isr: vec![1] });
    let [_, dies] = blackout();
    let before = with_end(vec![high.clone(), asks(1, 1, 5), done(1, 1, 5), dies.clone()], 4);
    // What was answered as power failed is of before, and its generation is counted again.
    let told_late = |late_ms| {
        let mut told = evidence(vec![high.clone(), dies.clone(), assigned(1, 2), assigned(2, 2)], &[]);
        told.history[2].ms = late_ms;
        told.history[3].ms = 3_000;
        told
    };
    tells_apart("C7", &told_late(2_900), &told_late(100));
    tells_apart("C7", &with_end(vec![high, dies, asks(1, 1, 5), done(1, 1, 5)], 4), &before);
}

#[test]
fn c8_metadata_logs_that_disagree_are_seen() {
    let with = |second: u8| {
        let mut evidence = Evidence::default();
        evidence.metadata.insert(1, [(0, vec![1; 80]), (1, vec![2; 80])].into());
        evidence.metadata.insert(2, [(0, vec![1; 80]), (1, vec![second; 80])].into());
        evidence
    };
    tells_apart("C8", &with(3), &with(2));
}

#[test]
fn c8_a_vote_or_an_entry_that_a_crash_took_and_an_entry_that_came_back_are_seen() {
    let bounds = |from, upto| broker(1, BrokerEvent::MetadataBounds { from, upto });
    let votes = |term, candidate| broker(1, BrokerEvent::Votes { term, candidate });
    let opens = |end, term, candidate| broker(1, BrokerEvent::MetadataOpens { end, last_term: 3, term, candidate });
    let takes = |term| broker(1, BrokerEvent::MetadataEntry { index: 4, term });
    let again = |term| evidence(vec![takes(2), takes(term), opens(5, 3, 2)], &[]);
    tells_apart("C8", &again(4), &again(3));
    let history = |event| evidence(vec![votes(3, 2), bounds(5, 7), event], &[]);
    for right in [opens(5, 3, 2), opens(7, 4, 1)] {
        for wrong in [opens(4, 3, 2), opens(8, 3, 2), opens(6, 2, 3), opens(6, 3, 1)] {
            tells_apart("C8", &history(wrong), &history(right.clone()));
        }
    }
}

#[test]
fn c9_epochs_and_snapshots_that_are_not_of_the_log_are_seen() {
    let log = [kept(0, 5), kept(1, 6)];
    let with = |epochs: &[(i32, i64)], snapshots: &[(i64, Vec<(i64, i64)>)]| {
        let mut evidence = evidence(vec![], &[&log]);
        let beside = Beside { epochs: epochs.to_vec(), snapshots: snapshots.to_vec() };
        evidence.beside.insert((place(), 1), beside);
        evidence
    };
    let right = with(&[(0, 0), (3, 2)], &[(1, vec![(7, 0)]), (2, vec![(7, 1)])]);
    tells_apart("C9", &with(&[(0, 0), (3, 1)], &[]), &right);
    for wrong in [(1, vec![(8, 0)]), (2, vec![(7, 0)]), (2, vec![]), (2, vec![(7, 1), (8, 0)])] {
        tells_apart("C9", &with(&[(0, 0)], &[wrong]), &right);
    }
    tells_apart("C9", &with(&[(0, 0)], &[(3, vec![(7, 1)])]), &right);
}

#[test]
fn c11_bytes_that_nobody_sent_are_seen() {
    tells_apart("C11", &evidence(vec![read(0, None)], &[]), &evidence(vec![read(0, Some(1))], &[]));
}

#[test]
fn c12_a_watermark_above_an_isr_members_end_is_seen() {
    let ends = |end| BrokerEvent::Ends { at: place(), end };
    let high = BrokerEvent::High { at: place(), leader_epoch: 3, high: 5, isr: vec![1, 2] };
    let events = |end| vec![broker(1, ends(9)), broker(2, ends(end)), broker(1, high.clone())];
    tells_apart("C12", &evidence(events(4), &[]), &evidence(events(5), &[]));
    // Broker 3 has joined, as somebody knows although the leader does not: it counts too.
    let joined =
        |partition_epoch, isr| broker(2, BrokerEvent::Isr { at: place(), leader_epoch: 3, partition_epoch, isr });
    let joining = |isr| {
        let heard = vec![joined(8, isr), joined(7, vec![1, 2, 3])];
        evidence([vec![broker(3, ends(4))], heard, events(5)].concat(), &[])
    };
    tells_apart("C12", &joining(vec![1, 2, 3]), &joining(vec![1, 2]));
    // After a blackout the log begins again below what it had.
    let after = |end| {
        let lower = BrokerEvent::High { at: place(), leader_epoch: 4, high: 3, isr: vec![1, 2] };
        let [_, dies] = blackout();
        let two = [broker(2, BrokerEvent::Died { of_power: true }), dies];
        [&events(5)[..], &two, &[broker(1, ends(3)), broker(2, ends(end)), broker(1, lower)]].concat()
    };
    tells_apart("C12", &evidence(after(2), &[]), &evidence(after(3), &[]));
    // Broker 2 cuts its log when the watermark is 5.
    let cuts = |to| evidence(vec![broker(2, ends(6)), broker(1, high.clone()), broker(2, ends(to))], &[]);
    tells_apart("C12", &cuts(4), &cuts(5));
    // Broker 3 led before, and was not in the ISR as this was committed: it has something else there.
    let other = evidence(vec![broker(3, ends(6)), broker(1, high.clone()), broker(3, ends(4))], &[]);
    tells_apart("C12", &cuts(4), &other);
}

#[test]
fn c10_and_c13_a_broker_that_ends_by_itself_on_a_good_disk_is_seen() {
    let gave_up = || broker(1, BrokerEvent::GaveUp { cause: "the log is corrupt".to_owned() });
    let excused = evidence(vec![broker(1, BrokerEvent::DiskTrouble), gave_up()], &[]);
    tells_apart("C10", &evidence(vec![gave_up()], &[]), &excused);
    tells_apart("C13", &evidence(vec![gave_up()], &[]), &excused);
}

#[test]
fn c14_a_run_that_does_not_recover_and_replicas_that_differ_are_seen() {
    let events = || vec![Event::Healed, Event::Recovered];
    let log = [kept(0, 5)];
    let right = evidence(events(), &[&log, &log]);
    tells_apart("C14", &evidence(vec![Event::Healed], &[]), &right);
    tells_apart("C14", &evidence(events(), &[&log, &[]]), &right);
    let mut late = evidence(events(), &[]);
    late.history[1].ms = RECOVERY_MS_MAX + 1;
    tells_apart("C14", &late, &right);
}

#[test]
fn c16_a_topic_made_twice_and_a_producer_id_given_twice_are_seen() {
    let made = |id| Event::TopicMade { name: "t".to_owned(), id: ballast_wire::Uuid::from_random([id; 16]) };
    let right = evidence(vec![made(1), made(1)], &[&[kept(0, 5)]]);
    tells_apart("C16", &evidence(vec![made(1), made(2)], &[]), &right);
    let other = Kept { value: Some(Value { producer: 2, sequence: 0 }), ..kept(1, 0) };
    tells_apart("C16", &evidence(vec![], &[&[kept(0, 5), other]]), &right);
}
