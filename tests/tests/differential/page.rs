//! docs/COMPATIBILITY.md shows the accepted differences between two markers.
//!
//! `BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test differential the_page` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

use super::accepted::{ACCEPTED, Accepted};
use super::nodes::accepted::ON_NODES;

const BEGIN: &str = "<!-- differences: begin -->\n";
const END: &str = "<!-- differences: end -->\n";

const HEAD: &str = "\
`tests/tests/differential` brings about the same situations on both brokers, an accepted one and every refusal of each API, in
every version that both have, and compares every field of the answers; what only a cluster can be asked it asks three nodes of
each, at leaders, at followers and at the listeners of controllers, also when a node was away. What differs, ids, clocks and ports
aside, is this:

| API | situation | field | Apache Kafka 4.4 | Ballast | why |
|---|---|---|---|---|---|
";

fn rendered() -> String {
    let mut out = HEAD.to_owned();
    for Accepted { key, versions, case, path, kafka, ballast, why } in ACCEPTED.iter().chain(ON_NODES) {
        let versions = match versions {
            (0, i16::MAX) => String::new(),
            (first, i16::MAX) => format!(" v{first}+"),
            (first, last) => format!(" v{first}–{last}"),
        };
        let (case, path) = (or_any(case), or_any(path));
        let (kafka, ballast) = (shown(kafka), shown(ballast));
        writeln!(out, "| {key}{versions} | {case} | {path} | {kafka} | {ballast} | {why} |")
            .expect("a string takes whatever is written");
    }
    out
}

fn or_any(pattern: &str) -> String {
    match pattern {
        "*" | "" => "any".to_owned(),
        // Cases are sentences, paths are not.
        text if text.contains(' ') || !text.contains(['.', '[', '*']) => text.to_owned(),
        text => format!("`{}`", text.trim_start_matches("*.")),
    }
}

fn shown(value: &str) -> String {
    match value {
        "*" => "other".to_owned(),
        "<text>" => "a text".to_owned(),
        "absent" => "absent".to_owned(),
        value => format!("`{value}`"),
    }
}

#[test]
fn the_page_of_differences_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/COMPATIBILITY.md");
    let found = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = found.split_once(BEGIN).expect("the page says where the differences begin");
    let (_, after) = rest.split_once(END).expect("the page says where the differences end");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", rendered());
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).expect("docs can be written");
        return;
    }
    assert!(
        found == wanted,
        "docs/COMPATIBILITY.md is out of date: BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test differential"
    );
}
