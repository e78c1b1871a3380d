//! Runs every case on both brokers, in lockstep, and sorts what differs into accepted and not.
//!
//! Holds: a case is run in every version that both brokers advertise and that it applies to; a case that panics on one
//! side differs; what differs in the same way in several versions is one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ballast_tests::raw::Connection;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::ApiVersionsRequest;

use super::accepted::Accepted;
use super::case::{Case, Meets, fits};
use super::side::{CLOSED, Side};
use super::tree::{Difference, Tree, differences};

/// What stands for the answers of a case that panics.
const FAILS: &str = "<the case fails";

/// From a key to the versions that a broker advertises.
pub(crate) type Advertised = BTreeMap<ApiKey, (i16, i16)>;

/// What a run found.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Every difference and the versions that it was seen in.
    pub(crate) found: BTreeMap<Found, BTreeSet<i16>>,
    /// What cases met on Kafka that they do not claim to meet.
    pub(crate) untrue: BTreeMap<String, BTreeSet<i16>>,
    /// Answers that were compared.
    pub(crate) compared: usize,
}

/// A difference of a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) key: ApiKey,
    pub(crate) case: &'static str,
    pub(crate) difference: Difference,
}

/// What a broker advertises.
pub(crate) fn advertised(bootstrap: &str) -> Advertised {
    let answer = Connection::open(bootstrap).call(0, &ApiVersionsRequest::default());
    answer.api_keys.iter().map(|entry| (ApiKey(entry.api_key), (entry.min_version, entry.max_version))).collect()
}

/// The versions of an API that can be written and read here.
pub(crate) fn readable(key: ApiKey) -> (i16, i16) {
    let known = kafka_protocol::messages::ApiKey::try_from(key.0);
    known.map_or((1, 0), |key| (key.valid_versions().min, key.valid_versions().max))
}

/// The versions of a case that both brokers serve.
pub(crate) fn versions(case: &Case, kafka: &Advertised, ballast: &Advertised) -> Vec<i16> {
    let (Some(theirs), Some(ours)) = (kafka.get(&case.key), ballast.get(&case.key)) else { return Vec::new() };
    let readable = readable(case.key);
    let first = [case.versions.0, readable.0, theirs.0, ours.0].into_iter().max();
    let last = [case.versions.1, readable.1, theirs.1, ours.1].into_iter().min();
    (first.expect("there are four")..=last.expect("there are four")).collect()
}

impl Outcome {
    /// Runs one case in one version on both sides. Where Kafka alone says that its controller is not active (41), it
    /// was electing another one: then `settle` is called, and both sides are asked again.
    pub(crate) fn run(
        &mut self,
        case: &Case,
        version: i16,
        (kafka, ballast): (&mut Side, &mut Side),
        settle: impl Fn(&mut Side),
    ) {
        let ask = |scope: &str, kafka: &mut Side, ballast: &mut Side| {
            (answer(case, version, scope, kafka), answer(case, version, scope, ballast))
        };
        let scope = format!("{}-{version}-{}", case.key.0, slug(case.name));
        let (mut theirs, mut ours) = ask(&scope, kafka, ballast);
        for again in 1..=TRIES_AGAIN {
            if !is_electing(&theirs) || is_electing(&ours) {
                break;
            }
            settle(kafka);
            (theirs, ours) = ask(&format!("{scope}-{again}"), kafka, ballast);
        }
        self.compared += 1;
        if !meets(case.meets, &theirs) {
            let claim = format!("{} ({}) does not meet {:?}: {theirs}", case.key, case.name, case.meets);
            self.untrue.entry(claim).or_default().insert(version);
        }
        for difference in differences(&theirs, &ours) {
            if case.aside.iter().any(|(pattern, _)| fits(pattern, &difference.path)) {
                continue;
            }
            let found = Found { key: case.key, case: case.name, difference };
            self.found.entry(found).or_default().insert(version);
        }
    }

    /// What is not accepted, a line each.
    pub(crate) fn unaccepted(&self, tables: &[&[Accepted]]) -> Vec<String> {
        let rows = self.found.iter().filter(|(found, versions)| {
            !versions.iter().all(|version| tables.iter().copied().flatten().any(|entry| entry.covers(found, *version)))
        });
        rows.map(|(found, versions)| found.line(versions)).collect()
    }

    /// Entries of the table that were met by nothing, a line each.
    pub(crate) fn stale(&self, table: &[Accepted]) -> Vec<String> {
        let met = |entry: &Accepted| {
            self.found.iter().any(|(found, versions)| versions.iter().any(|version| entry.covers(found, *version)))
        };
        table.iter().filter(|entry| !met(entry)).map(|entry| format!("{entry:?}")).collect()
    }
}

impl Found {
    fn line(&self, versions: &BTreeSet<i16>) -> String {
        let Difference { path, kafka, ballast } = &self.difference;
        format!("{} {} ({}) {path}: kafka {kafka}, ballast {ballast}", self.key, ranges(versions), self.case)
    }
}

/// `v1–3, v5`.
pub(crate) fn ranges(versions: &BTreeSet<i16>) -> String {
    let mut out = String::new();
    let mut versions = versions.iter().copied().peekable();
    while let Some(first) = versions.next() {
        let mut last = first;
        while let Some(next) = versions.next_if_eq(&(last + 1)) {
            last = next;
        }
        let comma = if out.is_empty() { "v" } else { ", v" };
        let range = if first == last { first.to_string() } else { format!("{first}–{last}") };
        write!(out, "{comma}{range}").expect("a string takes whatever is written");
    }
    out
}

fn answer(case: &Case, version: i16, scope: &str, side: &mut Side) -> Tree {
    side.begin(scope.to_owned());
    let result = catch_unwind(AssertUnwindSafe(|| (case.run)(side, version)));
    let tree = side.finish();
    let Err(panic) = result else { return tree };
    let words = panic.downcast_ref::<String>().cloned();
    let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned())).unwrap_or_default();
    // What else was to come on this connection is of no use to the next case.
    side.connection = side.open();
    Tree::Leaf(format!("{FAILS}: {words}>"))
}

fn meets(meets: Meets, answer: &Tree) -> bool {
    let codes: Vec<String> =
        ["error_code", "topic_error_code"].iter().flat_map(|name| answer.values_of(name)).collect();
    let failed = matches!(answer, Tree::Leaf(text) if text.starts_with(FAILS));
    match meets {
        Meets::Success => !failed && codes.iter().all(|code| code == "0") && !answer.to_string().contains(CLOSED),
        Meets::Code(code) => codes.contains(&code.to_string()),
        Meets::Close => answer.to_string().contains(CLOSED),
        Meets::Anything => !failed,
    }
}

/// How often a case is run again that met an election.
const TRIES_AGAIN: u32 = 3;
const NOT_CONTROLLER: &str = "41";

/// Does an answer, or what it fails with, say NOT_CONTROLLER?
fn is_electing(answer: &Tree) -> bool {
    let fails = matches!(answer, Tree::Leaf(text) if text.starts_with(FAILS) && text.contains(NOT_CONTROLLER));
    fails
        || ["error_code", "topic_error_code"]
            .iter()
            .any(|name| answer.values_of(name).iter().any(|code| code == NOT_CONTROLLER))
}

/// Names of topics stay below 249 letters.
const SCOPE_CHARS: usize = 60;

fn slug(name: &str) -> String {
    let letters = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    letters.take(SCOPE_CHARS).collect()
}

#[test]
fn versions_in_a_row_are_a_range() {
    assert_eq!(ranges(&[1, 2, 3, 5, 7, 8].into()), "v1–3, v5, v7–8");
}

#[test]
fn an_election_is_seen_in_a_row_and_in_what_a_case_fails_with() {
    let leaf = |text: &str| Tree::Leaf(text.to_owned());
    let row = |code: &str| Tree::Struct(vec![("error_code".to_owned(), leaf(code))]);
    assert!(is_electing(&Tree::List(vec![row("0"), row("41")])));
    assert!(is_electing(&leaf("<the case fails: a topic is made: left: 41, right: 0>")));
    assert!(!is_electing(&row("36")) && !is_electing(&leaf("41")));
}
