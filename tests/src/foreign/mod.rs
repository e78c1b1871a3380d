//! Programs of others that the tests drive: found where they are, skipped by name where they are not.
//!
//! With `BALLAST_TEST_REQUIRE_ALL` set, a missing program fails the test instead: whoever installs everything wants to know.

pub mod jars;
pub mod java;
pub mod kafka;
pub mod kcat;
pub mod peers;
pub mod suites;

use std::path::PathBuf;
use std::process::{Command, Output};

/// The folder that cargo builds into.
///
/// # Panics
/// If the program that runs does not lie there.
#[must_use]
pub fn build_folder() -> PathBuf {
    crate::process::build_folders().0
}

/// A program on the search path.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Says that a test is skipped because something is missing.
///
/// # Panics
/// If `BALLAST_TEST_REQUIRE_ALL` is set.
pub fn skip(what: &str, missing: &str) {
    assert!(std::env::var_os("BALLAST_TEST_REQUIRE_ALL").is_none(), "{what}: {missing} is missing");
    eprintln!("SKIPPED {what}: {missing} is missing");
}

/// Lets a program find the libraries that it has at home: cargo points its tests at those that it built itself, and kcat would
/// run with the librdkafka of rdkafka instead of its own.
pub fn at_home(command: &mut Command) {
    command.env_remove("LD_LIBRARY_PATH");
}

/// Runs a program to its end and gives what it printed.
///
/// # Panics
/// If it cannot be started or ends with an error; both outputs are in the message.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, both(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a program printed, on both outputs.
#[must_use]
pub fn both(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
