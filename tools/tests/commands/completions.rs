//! What shells are offered.

use std::process::Command;

use super::rig::Session;

/// As bash asks for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ballast"));
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).args(["--", "ballast"]).args(words);
    let output = command.output().expect("it runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ballast")).args(["completions", shell]).output().expect("it runs");
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && script.contains("COMPLETE") && script.contains("ballast"),
            "{shell}: {script}"
        );
    }
}

#[test]
fn commands_options_and_live_names_of_topics_are_offered() {
    let session = Session::new();
    session.output(&["topic", "create", "orders"], "");
    session.output(&["topic", "create", "orders-dead"], "");
    session.output(&["topic", "create", "payments"], "");
    assert_eq!(offered(&["gro"]), ["group"]);
    assert_eq!(offered(&["topic", "create", "x", "--if-n"]), ["--if-not-exists"]);
    let at = session.bootstrap.as_str();
    assert_eq!(offered(&["topic", "-b", at, "describe", "ord"]), ["orders", "orders-dead"]);
    assert_eq!(offered(&["consume", "-b", at, "pay"]), ["payments"]);
    assert_eq!(offered(&["config", "-b", at, "describe", "--topic", "pay"]), ["payments"]);
    let nobody = offered(&["topic", "-b", "127.0.0.1:1", "describe", "ord"]);
    assert_eq!(nobody, Vec::<String>::new(), "a cluster that is not there offers nothing, and no noise");
}
