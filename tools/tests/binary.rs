//! The built program, from outside. That this test exists makes cargo build the program before any test of the workspace.

use std::process::Command;

fn ballast(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ballast")).args(arguments).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn it_tells_its_version() {
    assert_eq!(ballast(&["--version"]), (Some(0), format!("ballast {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn every_command_shows_what_it_takes() {
    for command in ["serve", "topic", "produce", "consume", "cluster", "log", "completions"] {
        let (status, text) = ballast(&[command, "--help"]);
        assert!(status == Some(0) && text.contains("Usage: ballast"), "{command}: {text}");
    }
}

#[test]
fn what_it_does_not_understand_ends_with_status_2_and_what_fails_with_1_on_one_line() {
    assert_eq!(ballast(&["serve", "--set", "nonsense"]).0, Some(2));
    assert_eq!(ballast(&["no-such-command"]).0, Some(2));
    let (status, text) = ballast(&["log", "verify", "no/such/folder"]);
    assert!(status == Some(1) && text.starts_with("ballast: ") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_value_that_makes_no_sense_refuses_to_start_with_its_name() {
    let (status, text) = ballast(&["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--set", "num.partitions=many"]);
    let line = text.lines().last().unwrap_or_default();
    assert!(status == Some(1) && line.contains("num.partitions") && line.contains("many"), "{text}");
}
