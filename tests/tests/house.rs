//! The house keeps its shape: which crate may import which, where `unsafe` and the wire schemas may live, how long a file
//! may get. docs/ARCHITECTURE.md draws the same picture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crate folder, and what of ours it may depend on. `tests` and `benches` may use anything.
const ARROWS: &[(&str, &[&str])] = &[
    ("client/wire", &[]),
    ("client/net", &["ballast-wire"]),
    ("client", &["ballast-net", "ballast-wire"]),
    ("broker/planted", &[]),
    ("broker/log", &["ballast-planted", "ballast-wire"]),
    ("broker/core", &["ballast-planted", "ballast-wire"]),
    ("broker/node", &["ballast-core", "ballast-log", "ballast-net", "ballast-planted", "ballast-wire"]),
    ("tools", &["ballast-broker", "ballast-client", "ballast-core", "ballast-log", "ballast-net", "ballast-wire"]),
];

/// Crates that may name the wire schemas or a runtime.
const MAY_USE: &[(&str, &[&str])] = &[
    ("kafka-protocol", &["client", "broker/node"]),
    ("tokio", &["client/net", "client", "broker/node", "tools"]),
    ("openraft", &["broker/node"]),
    ("memmap2", &["broker/log"]),
];

const FILE_LINES_MAX: usize = 600;
/// Columns of a comment; code has fewer, by rustfmt, which leaves comments as they are.
const COMMENT_COLUMNS_MAX: usize = 127;

/// Rooms of `broker/core/src` that decide: none of them may name another, all may read the image and the settings.
const MACHINES: &[&str] = &["controller", "replica", "registration", "fetch_session", "group"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above").to_owned()
}

fn manifest(krate: &str) -> toml::Table {
    let path = root().join(krate).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dependencies(krate: &str) -> Vec<String> {
    let manifest = manifest(krate);
    manifest.get("dependencies").and_then(toml::Value::as_table).map_or(vec![], |table| table.keys().cloned().collect())
}

/// Every Rust file of a crate's `src`, with its text.
fn sources(krate: &str) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root().join(krate).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                files.insert(path, text);
            }
        }
    }
    files
}

fn all_crates() -> impl Iterator<Item = &'static str> {
    ARROWS.iter().map(|(krate, _)| *krate).chain(["tests", "benches"])
}

#[test]
fn crates_import_only_along_the_arrows() {
    for (krate, allowed) in ARROWS {
        for dependency in dependencies(krate).iter().filter(|name| name.starts_with("ballast-")) {
            assert!(allowed.contains(&dependency.as_str()), "{krate} may not depend on {dependency}");
        }
    }
}

#[test]
fn runtimes_schemas_and_maps_stay_in_their_crates() {
    for (dependency, allowed) in MAY_USE {
        for (krate, _) in ARROWS {
            let uses = dependencies(krate).iter().any(|name| name == dependency);
            assert!(!uses || allowed.contains(krate), "{krate} may not depend on {dependency}");
        }
    }
}

#[test]
fn versions_are_declared_at_the_root_alone() {
    for krate in all_crates() {
        for section in ["dependencies", "dev-dependencies"] {
            let manifest = manifest(krate);
            let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else { continue };
            for (name, value) in table {
                let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
                assert!(inherited, "{krate}: {name} must be `workspace = true`");
            }
        }
    }
}

#[test]
fn a_program_that_is_built_for_use_has_no_planted_bugs() {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "ballast-cli", "--edges", "normal,build,features"])
        .current_dir(root())
        .output()
        .expect("cargo can be asked");
    let tree = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(tree.contains("ballast-planted"), "the program does not ask for planted bugs at all: {tree}");
    assert!(!tree.contains("planted-bugs"), "the program is built with planted bugs: {tree}");
}

#[test]
fn machines_do_not_import_each_other() {
    for machine in MACHINES {
        for (path, text) in sources("broker/core") {
            let inside = path.to_string_lossy().contains(&format!("/src/{machine}"));
            for other in MACHINES.iter().filter(|other| inside && *other != machine) {
                let names = text.contains(&format!("crate::{other}"));
                assert!(!names, "{} names the machine `{other}`: they meet in their drivers", path.display());
            }
        }
    }
}

#[test]
fn unsafe_lives_in_the_log_alone_and_every_block_is_argued() {
    for krate in all_crates() {
        for (path, text) in sources(krate) {
            for (number, line) in text.lines().enumerate() {
                let code = line.trim_start();
                let has_unsafe = ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|words| code.contains(words));
                let is_code = !code.starts_with("//") && !code.contains('"');
                assert!(!(has_unsafe && is_code) || krate == "broker/log", "{}:{}: unsafe", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_and_stays_readable() {
    for krate in all_crates() {
        for (path, text) in sources(krate) {
            assert!(text.starts_with("//!"), "{} has no header", path.display());
            let lines = text.lines().count();
            assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines, at most {FILE_LINES_MAX}", path.display());
            let wide = wide_comments(&text);
            assert!(wide.is_empty(), "{}: comments above {COMMENT_COLUMNS_MAX} columns: {wide:?}", path.display());
        }
    }
}

/// Comments that are too wide: line and columns. Pictures and tables are as wide as they are.
fn wide_comments(text: &str) -> Vec<(usize, usize)> {
    let (mut is_picture, mut found) = (false, Vec::new());
    for (at, line) in text.lines().enumerate() {
        let Some(words) = line.trim_start().strip_prefix("//") else {
            is_picture = false;
            continue;
        };
        let words = words.trim_start_matches(['/', '!', ' ']);
        is_picture ^= words.starts_with("```");
        let columns = line.chars().count();
        if columns > COMMENT_COLUMNS_MAX && !is_picture && !words.starts_with('|') {
            found.push((at + 1, columns));
        }
    }
    found
}
