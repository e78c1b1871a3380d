//! Help: every command has one, and an example in it.

use std::process::Command;

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ballast")).args(words).arg("--help").output().expect("it runs");
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// The names under `Commands:`.
fn commands_in(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_explains_itself_and_gives_an_example() {
    let mut open = vec![Vec::<String>::new()];
    let mut leaves = 0;
    while let Some(path) = open.pop() {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let text = help(&words);
        let below = commands_in(&text);
        if below.is_empty() {
            leaves += 1;
            let example = text.split_once("Example").map_or("", |(_, example)| example);
            assert!(example.contains("ballast "), "{words:?} has no example:\n{text}");
        }
        open.extend(below.into_iter().map(|name| [path.clone(), vec![name]].concat()));
    }
    assert!(leaves >= 23, "only {leaves} commands were found");
}
