//! Tests of an application in Python and in Java, each with a broker of its own that misbehaves on demand: what
//! tests/embedding shows works. (Rust's is the snippet of README.md, which is run as a documentation test.)

use ballast_tests::foreign::suites;

#[test]
fn pytest_fixtures_bring_brokers_that_misbehave_on_demand() {
    if let Some(told) = suites::pytest("pytest fixtures") {
        assert!(told.contains("5 passed"), "{told}");
    }
}

#[test]
fn junit_extensions_bring_brokers_that_misbehave_on_demand() {
    if let Some(told) = suites::junit("JUnit extensions") {
        assert!(told.contains("Tests run: 4, Failures: 0, Errors: 0, Skipped: 0"), "{told}");
    }
}
