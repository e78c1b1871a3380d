//! `ballast produce` and `ballast consume` without a group.

use super::rig::Session;

#[test]
fn lines_become_records_and_records_lines() {
    let mut session = Session::new();
    session
        .run("topic create orders")
        .run_with("produce orders --key-delimiter :", "a:1\nb:2\nno key\n")
        .run_with("produce orders --compression zstd --acks 1 --json", "four\n")
        .run("consume orders --from beginning --until-end")
        .run("consume orders --from beginning --until-end --format key-value")
        .run("consume orders --from 1 --count 2 --format %t-%p@%o=%v\\n")
        .run("consume orders --from 3 --until-end --format json")
        .run("consume orders --from 2 --count 1 --json")
        .run("consume orders --from end --until-end")
        .run("consume orders --from 9 --until-end");
    insta::assert_snapshot!(session.transcript());
}
