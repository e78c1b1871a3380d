//! `ballast group`, and `ballast consume --group`.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use super::rig::Session;

#[test]
fn a_group_goes_on_where_it_has_come_to_and_is_set_back() {
    let mut session = Session::new();
    session.run("topic create orders --partitions 2").run("group list");
    session.output(&["produce", "orders", "--partition", "1"], "1\n2\n3\n4\n5\n6\n");
    session
        .run("consume orders --group billing --from beginning --count 4")
        .run("group list")
        .run("group list --state Stable")
        .run("group list --json")
        .run("group describe billing")
        .run("consume orders --group billing --until-end")
        .run("group describe billing --json")
        .run("group reset billing --topic orders --to 5 --dry-run")
        .run("group reset billing --topic orders --to earliest")
        .run("group reset billing --topic orders --partition 1 --to 3 --json")
        .run("consume orders --group billing --until-end")
        .run("group reset fresh --topic orders --to latest")
        .run("group delete fresh --dry-run")
        .run("group delete fresh billing")
        .run("group delete billing --if-exists")
        .run("group list");
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn a_group_with_a_member_is_shown_and_neither_reset_nor_deleted_and_an_interrupt_commits() {
    let mut session = Session::new();
    session.output(&["topic", "create", "orders"], "");
    session.output(&["produce", "orders"], "1\n2\n3\n");
    let mut member = session.start("consume orders --group billing --from beginning");
    let mut printed = BufReader::new(member.stdout.take().expect("it is piped")).lines();
    for expected in ["1", "2", "3"] {
        assert_eq!(printed.next().expect("it prints").expect("it is text"), expected);
    }
    session
        .run("group describe billing")
        .run("group reset billing --topic orders --to earliest")
        .run("group delete billing --dry-run")
        .run("group delete billing");
    let interrupt = Command::new("kill").args(["-INT", &member.id().to_string()]).status().expect("kill runs");
    assert!(interrupt.success());
    let output = member.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    session.run("group describe billing");
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn what_a_group_cannot_do_is_said_in_one_line() {
    let mut session = Session::new();
    session
        .run("topic create orders")
        .run("group describe nobody")
        .run("group delete nobody")
        .run("group reset billing --topic nothing --to earliest")
        .run("group reset billing --topic orders --partition 7 --to earliest")
        .run("consume orders --group billing --from 3")
        .run("consume orders --group billing --partition 0")
        .run("consume nothing --group billing");
    insta::assert_snapshot!(session.transcript());
}
