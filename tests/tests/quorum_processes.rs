//! A metadata quorum of processes: it grows from one node, loses that one, and takes it back.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ballast_tests::process::{Serve, ballast};
use serde_json::Value;

/// Looks before a quorum counts as stuck, each after a tenth of a second.
const LOOKS: usize = 600;

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

fn node(folder: &Path, id: usize, ports: &[u16; 3]) -> Serve {
    let node = format!("node.id={id}");
    let listeners = format!("listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{}", ports[id - 1]);
    let voters = format!("controller.quorum.voters=1@127.0.0.1:{}", ports[0]);
    let settings = [node.as_str(), &listeners, "controller.listener.names=CONTROLLER", &voters];
    Serve::start_in(&folder.join(id.to_string()), "127.0.0.1:0", &settings)
}

fn command(broker: &Serve, words: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(ballast());
    command.args(["cluster", "quorum"]).args(words).args(["--json", "-b", &broker.bootstrap]);
    let output = command.output().expect("the program runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The quorum as `broker` tells it, once it is as it should be.
fn until(broker: &Serve, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut last = Err("not asked".to_owned());
    for _ in 0..LOOKS {
        last = command(broker, &[]);
        if let Ok(quorum) = &last
            && is_so(quorum)
        {
            return last.expect("it is one");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: {last:?}\n{}", broker.log());
}

fn voters(quorum: &Value) -> Vec<i64> {
    let replicas = quorum["replicas"].as_array().expect("replicas");
    let votes = |replica: &&Value| replica["role"] != "observer";
    replicas.iter().filter(votes).map(|replica| replica["id"].as_i64().expect("an id")).collect()
}

#[test]
fn a_node_grows_to_a_quorum_of_three_which_goes_on_without_it_and_takes_it_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ports = [free_port(), free_port(), free_port()];
    let mut one = node(folder.path(), 1, &ports);
    let (two, three) = (node(folder.path(), 2, &ports), node(folder.path(), 3, &ports));
    let alone = until(&one, "two observers", |quorum| quorum["replicas"].as_array().is_some_and(|all| all.len() == 3));
    assert_eq!(voters(&alone), [1]);

    // Any node takes the order.
    command(&three, &["add", &format!("2@127.0.0.1:{}", ports[1])]).expect("2 is added");
    command(&one, &["add", &format!("3@127.0.0.1:{}", ports[2])]).expect("3 is added");
    let again = command(&one, &["add", &format!("3@127.0.0.1:{}", ports[2])]).expect_err("3 votes already");
    assert!(again.contains("already part of the set of voters"), "{again}");

    one.kill();
    let gone = until(&two, "a leader without the first", |quorum| {
        quorum["leader"].as_i64().is_some_and(|leader| leader == 2 || leader == 3)
    });
    assert_eq!(voters(&gone), [1, 2, 3]);
    one.restart();
    until(&three, "the first follows", |quorum| quorum["replicas"][0]["id"] == 1 && quorum["replicas"][0]["lag"] == 0);

    command(&two, &["remove", "1"]).expect("1 is removed");
    let left = until(&three, "two voters", |quorum| voters(quorum) == [2, 3]);
    assert!(left["leader"].as_i64().is_some_and(|leader| leader != 1), "{left}");
}

/// A node of a cluster whose roles are told apart. A controller has no listener for clients.
fn of_roles(folder: &Path, id: usize, role: &str, ports: &[u16; 3]) -> Serve {
    let voters: Vec<String> = (1..).zip(ports).map(|(id, port)| format!("{id}@127.0.0.1:{port}")).collect();
    let listeners = match role {
        "controller" => format!("CONTROLLER://127.0.0.1:{}", ports[id - 1]),
        _ => "PLAINTEXT://127.0.0.1:0".to_owned(),
    };
    let settings = [
        format!("process.roles={role}"),
        format!("node.id={id}"),
        format!("listeners={listeners}"),
        "controller.listener.names=CONTROLLER".to_owned(),
        format!("controller.quorum.voters={}", voters.join(",")),
    ];
    let pairs: Vec<String> = settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect();
    Serve::launch(Vec::new(), &folder.join(id.to_string()), "127.0.0.1:0", &pairs)
}

#[test]
fn three_controllers_and_two_brokers_go_on_without_the_active_controller() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ports = [free_port(), free_port(), free_port()];
    let launched: Vec<Serve> =
        (1..=5).map(|id| of_roles(folder.path(), id, if id <= 3 { "controller" } else { "broker" }, &ports)).collect();
    let mut nodes: Vec<Serve> = launched.into_iter().map(Serve::awaited).collect();
    let begun = until(&nodes[3], "three voters and two observers", |quorum| {
        quorum["replicas"].as_array().is_some_and(|all| all.len() == 5) && quorum["leader"].as_i64().is_some()
    });
    assert_eq!(voters(&begun), [1, 2, 3]);
    let active = begun["leader"].as_i64().expect("a leader");
    nodes[active as usize - 1].kill();
    let later = until(&nodes[4], "another active controller", |quorum| {
        quorum["leader"].as_i64().is_some_and(|leader| leader != active && (1..=3).contains(&leader))
    });
    assert_eq!(voters(&later), [1, 2, 3], "a broker alone never votes");
}
