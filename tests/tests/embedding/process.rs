//! `ballast serve --ephemeral`, the way in for other languages: how it says that it is there, and what it leaves.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use ballast_tests::process::ballast;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch};

/// Starts one whose temporary folders lie in `folder`, and gives what its ready file says.
fn start(folder: &Path, ready: &Path) -> (Child, Vec<String>) {
    start_with(folder, ready, &[])
}

fn start_with(folder: &Path, ready: &Path, more: &[&str]) -> (Child, Vec<String>) {
    let mut command = Command::new(ballast());
    command.args(["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--ready-file"]).arg(ready);
    command.args(["--set", "test.faults.enable=true"]).args(more).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("the program runs");
    let said = eventually("the ready file is there", || std::fs::read_to_string(ready).ok());
    (child, said.lines().map(str::to_owned).collect())
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("the folder is there").count()
}

#[test]
fn an_ephemeral_process_says_where_it_is_and_takes_its_data_along() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut child, said) = start(folder.path(), &other.path().join("ready"));
    assert!(said[0].starts_with("127.0.0.1:") && said[1].starts_with("http=127.0.0.1:"), "{said:?}");
    assert_eq!(entries(folder.path()), 1);
    let mut connection = Connection::open(&said[0]);
    connection.create_topic("t", 1, &[]);
    connection.append("t", 0, batch(&["a"]));
    Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
    assert!(child.wait().unwrap().success(), "SIGTERM stops it in order");
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn a_cluster_in_a_process_says_where_each_broker_is_and_takes_its_data_along() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut child, said) = start_with(folder.path(), &other.path().join("ready"), &["--cluster", "3"]);
    let brokers: Vec<&str> = said[0].split(',').collect();
    let http = said[1].trim_start_matches("http=").split(',').count();
    assert_eq!((brokers.len(), http), (3, 3), "{said:?}");
    assert_eq!(entries(folder.path()), 1);
    let request = kafka_protocol::messages::MetadataRequest::default();
    for broker in brokers {
        assert_eq!(Connection::open(broker).call(12, &request).brokers.len(), 3, "as {broker} tells");
    }
    Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
    assert!(child.wait().unwrap().success(), "SIGTERM ends it");
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn the_curl_lines_of_the_documentation_do_what_it_says() {
    if Command::new("curl").arg("--version").output().is_err() {
        ballast_tests::foreign::skip("the documentation's curl lines", "curl");
        return;
    }
    let page = include_str!("../../../docs/EMBEDDING.md");
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("curl ")).collect();
    assert!(lines.len() >= 10, "only {} lines", lines.len());
    let folder = tempfile::tempdir().unwrap();
    let (mut child, said) = start(folder.path(), &folder.path().join("ready"));
    let http = said[1].trim_start_matches("http=");
    for line in lines {
        let output = Command::new("sh").args(["-c", line]).env("HTTP", http).output().expect("a shell runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
