//! What was found: an aligned table at the end of the run, and rows for docs/COMPATIBILITY.md.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::clients::{CLIENTS, Client, SCENARIO};
use crate::session::{Outcome, Step};

/// Did a client run?
#[derive(Debug)]
pub(crate) enum Verdict {
    Ran,
    /// What is missing.
    Skipped(String),
    /// Why it is not meant to run while nodes come and go.
    Steady(&'static str),
}

/// One client's result.
pub(crate) struct Report {
    client: &'static str,
    version: String,
    steps: Vec<Step>,
    verdict: Verdict,
}

/// Around the table of clients on one broker, and that of clients on nodes that come and go.
const STEADY: [&str; 2] =
    ["<!-- interop: begin (BALLAST_UPDATE_DOCS=1 writes these rows) -->", "<!-- interop: end -->"];
const BOUNCED: [&str; 2] =
    ["<!-- bounced: begin (BALLAST_UPDATE_DOCS=1 with --bounce writes these rows) -->", "<!-- bounced: end -->"];

impl Report {
    pub(crate) fn new(client: &Client, version: String, steps: Vec<Step>, verdict: Verdict) -> Report {
        Report { client: client.name, version, steps, verdict }
    }

    /// A skip is good unless everything is required.
    pub(crate) fn is_good(&self) -> bool {
        match self.verdict {
            Verdict::Ran => !self.steps.iter().any(Step::is_bad),
            Verdict::Steady(_) => true,
            Verdict::Skipped(_) => std::env::var_os("BALLAST_TEST_REQUIRE_ALL").is_none(),
        }
    }

    fn names(&self, outcome: Outcome) -> Vec<&str> {
        self.steps.iter().filter(|step| step.outcome == outcome).map(|step| step.name.as_str()).collect()
    }
}

/// Prints the table, and the line that test runners count by.
pub(crate) fn print(reports: &[Report]) {
    let width = |text: fn(&Report) -> usize, least: usize| reports.iter().map(text).max().unwrap_or(0).max(least);
    let (client, version) = (width(|r| r.client.len(), 6), width(|r| r.version.len(), 7));
    println!("\n{:client$}  {:version$}  {:>3}  {:>4}  {:>4}  remarks", "client", "version", "ok", "none", "fail");
    for report in reports {
        let count = |outcome| report.names(outcome).len();
        let remarks = match &report.verdict {
            Verdict::Skipped(missing) => format!("SKIPPED: {}", missing.lines().next().unwrap_or_default()),
            Verdict::Steady(why) => format!("not run: {why}"),
            Verdict::Ran if count(Outcome::Fail) > 0 => format!("FAILED: {}", report.names(Outcome::Fail).join(" ")),
            Verdict::Ran if count(Outcome::None) > 0 => format!("has no {}", report.names(Outcome::None).join(", ")),
            Verdict::Ran => String::new(),
        };
        let (ok, none, fail) = (count(Outcome::Ok), count(Outcome::None), count(Outcome::Fail));
        println!("{:client$}  {:version$}  {ok:>3}  {none:>4}  {fail:>4}  {remarks}", report.client, report.version);
    }
    let skipped = reports.iter().filter(|report| matches!(report.verdict, Verdict::Skipped(_))).count();
    let failed = reports.iter().filter(|report| !report.is_good()).count();
    let passed = reports.iter().filter(|r| matches!(r.verdict, Verdict::Ran) && r.is_good()).count();
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
}

/// Writes the rows of the clients that ran into docs/COMPATIBILITY.md; the others keep theirs.
pub(crate) fn update_docs(reports: &[Report], bounces: bool) {
    let [begin, end] = if bounces { BOUNCED } else { STEADY };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/COMPATIBILITY.md");
    let page = fs::read_to_string(&path).expect("docs can be read");
    let (before, rest) = page.split_once(begin).expect("the page has the marker of the beginning");
    let (old, after) = rest.split_once(end).expect("the page has the marker of the end");
    let mut table =
        String::from("\n| client | version | passes | not in the client | fails |\n|---|---|---|---|---|\n");
    for client in CLIENTS {
        let start = format!("| {} |", client.name);
        let ran = reports.iter().find(|r| r.client == client.name && !matches!(r.verdict, Verdict::Skipped(_)));
        if let Some(report) = ran {
            row(&mut table, client, report);
        } else if let Some(line) = old.lines().find(|line| line.starts_with(&start)) {
            writeln!(table, "{line}").expect("a string can be written");
        }
    }
    fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("docs can be written");
}

fn row(table: &mut String, client: &Client, report: &Report) {
    if let Verdict::Steady(why) = report.verdict {
        writeln!(table, "| {} | | not run: {why} | | |", client.name).expect("a string can be written");
        return;
    }
    let (ok, none) = (report.names(Outcome::Ok), report.names(Outcome::None));
    let common = client.steps.starts_with(&SCENARIO);
    let passes = match (common, ok.len() == client.steps.len()) {
        (true, true) if client.steps.len() == SCENARIO.len() => "all".to_owned(),
        (true, true) => format!("all, {}", client.steps[SCENARIO.len()..].join(", ")),
        (true, false) => format!("{} of {}", ok.len(), client.steps.len()),
        (false, _) => ok.join(", "),
    };
    let fails = report.names(Outcome::Fail).join(", ");
    writeln!(table, "| {} | {} | {passes} | {} | {fails} |", client.name, report.version, none.join(", "))
        .expect("a string can be written");
}
