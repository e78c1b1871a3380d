//! How many tests there are, by area: the table in docs/TESTING.md.
//!
//! `cargo test -p ballast-tests --test counts -- --nocapture` prints it; with `BALLAST_UPDATE_DOCS=1` it is written
//! into the page. The page may be behind by what was added since; an area without tests fails here.

use std::fs;
use std::path::{Path, PathBuf};

/// What is counted, and where.
const AREAS: [(&str, &str); 17] = [
    ("bytes: frames, batches, compression", "client/wire"),
    ("transport, clock", "client/net"),
    ("the client", "client/src"),
    ("the log", "broker/log"),
    ("the machines", "broker/core"),
    ("the broker's parts", "broker/node"),
    ("the command line", "tools"),
    ("the log and the metadata log on the faulty disk", "tests/tests/log tests/tests/quorum_storage tests/src/disk"),
    ("whole clusters, simulated, and their checks", "tests/tests/simulation tests/src/sim"),
    ("answers that Apache Kafka gives too", "tests/tests/traps tests/tests/admin tests/tests/groups"),
    ("answers beside Apache Kafka's, field by field (a test is a table)", "tests/tests/differential"),
    ("our group consumer, alone and beside librdkafka", "tests/tests/client_groups"),
    ("a leader and its followers, step by step", "tests/tests/replication"),
    ("a broker inside a test", "tests/tests/embedding"),
    ("what users of such brokers reported", "tests/tests/field_reports tests/tests/scale"),
    ("hostile bytes", "tests/tests/hostile"),
    ("the program from outside, and the house", "tests/tests/*"),
];
const BEGIN: &str = "<!-- counts: begin -->\n";
const END: &str = "<!-- counts: end -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in the workspace").to_owned()
}

fn tests_in(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| *line == "#[test]" || line.starts_with("#[tokio::test")).count()
}

/// Tests below a path; with `/*` at its end, in the files of the folder alone.
fn count(path: &str) -> usize {
    let (folder, deep) = path.strip_suffix("/*").map_or((path, true), |folder| (folder, false));
    let mut count = 0;
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() && deep && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                count += tests_in(&fs::read_to_string(&path).expect("it can be read"));
            }
        }
    }
    count
}

#[test]
fn every_area_has_tests() {
    let mut table = "| area | where | tests |\n|---|---|---|\n".to_owned();
    let mut total = 0;
    for (area, paths) in AREAS {
        let count: usize = paths.split(' ').map(count).sum();
        assert!(count > 0, "{area}: no tests in {paths}");
        total += count;
        table.push_str(&format!("| {area} | {} | {count} |\n", paths.replace("/*", "/*.rs").replace(' ', ", ")));
    }
    table.push_str(&format!("| all | | {total} |\n"));
    println!("{table}");
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() {
        let page = root().join("docs/TESTING.md");
        let text = fs::read_to_string(&page).expect("it can be read");
        let (before, rest) = text.split_once(BEGIN).expect("the page has a table");
        let (_, after) = rest.split_once(END).expect("the table ends");
        fs::write(&page, format!("{before}{BEGIN}{table}{END}{after}")).expect("it can be written");
    }
}
