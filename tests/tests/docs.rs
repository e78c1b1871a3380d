//! Pages that are made from the code say what the code says.
//!
//! `BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test docs` writes them anew.

use std::path::Path;

#[test]
fn the_page_of_settings_is_the_settings_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CONFIG.md");
    let wanted = ballast_core::settings::render_markdown();
    if std::env::var_os("BALLAST_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).expect("docs can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/CONFIG.md is out of date: BALLAST_UPDATE_DOCS=1 cargo test -p ballast-tests --test docs"
    );
}

/// What stands between fences of this language.
fn snippets(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_readme_shows_tests_in_python_and_java_as_they_are_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let readme = read("README.md");
    let suites = [
        ("python", "tests/embedding/python/test_orders.py"),
        ("java", "tests/embedding/java/src/test/java/org/ballast/testing/OrdersTest.java"),
    ];
    for (language, path) in suites {
        let suite = read(path);
        let shown = snippets(&readme, language);
        assert!(!shown.is_empty(), "no {language} in README.md");
        // What is left out between two passages is an empty line.
        for passage in shown.iter().flat_map(|snippet| snippet.split("\n\n")) {
            assert!(suite.contains(passage.trim_end()), "{path} has not:\n{passage}");
        }
    }
}
