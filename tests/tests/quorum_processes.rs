//! A metadata quorum of processes: it grows from one node, loses that one, and takes it back; it forgets who is gone for good,
//! and takes a voter that lost its disk.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ballast_tests::nodes::{Nodes, wipe};
use ballast_tests::process::{Serve, ballast};
use serde_json::Value;

/// Looks before a quorum counts as stuck, each after a tenth of a second.
const LOOKS: usize = 600;

/// A silent node is noticed within two seconds.
const SOON_FENCED: &str = "broker.session.timeout.ms=2000";

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

fn node(folder: &Path, id: usize, ports: &[u16; 3]) -> Serve {
    let node = format!("node.id={id}");
    let listeners = format!("listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{}", ports[id - 1]);
    let voters = format!("controller.quorum.voters=1@127.0.0.1:{}", ports[0]);
    let settings = [node.as_str(), &listeners, "controller.listener.names=CONTROLLER", &voters, SOON_FENCED];
    Serve::start_in(&folder.join(id.to_string()), "127.0.0.1:0", &settings)
}

/// `ballast cluster quorum` at a node.
fn command(broker: &Serve, words: &[&str]) -> Result<Value, String> {
    of_cluster(broker, &[&["quorum"], words].concat())
}

fn of_cluster(broker: &Serve, words: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(ballast());
    command.arg("cluster").args(words).args(["--json", "-b", &broker.bootstrap]);
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

/// How many members the quorum has, of any role.
fn members(quorum: &Value) -> usize {
    quorum["replicas"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_broker_that_is_unregistered_is_forgotten_by_the_quorum_and_may_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ports = [free_port(), free_port(), free_port()];
    let (one, mut two) = (node(folder.path(), 1, &ports), node(folder.path(), 2, &ports));
    until(&one, "an observer", |quorum| members(quorum) == 2);
    let lives = of_cluster(&one, &["unregister", "2"]).expect_err("it takes part");
    assert!(lives.contains("broker 2 takes part in the cluster; stop it first"), "{lives}");

    two.kill();
    let mut told = of_cluster(&one, &["unregister", "2"]);
    for _ in 0..LOOKS {
        match &told {
            Err(error) if error.contains("takes part") => std::thread::sleep(Duration::from_millis(100)),
            _ => break,
        }
        told = of_cluster(&one, &["unregister", "2"]);
    }
    assert_eq!(told.expect("it is fenced by now")["outcome"], "unregistered");
    of_cluster(&one, &["unregister", "2"]).expect_err("it is gone");
    until(&one, "nobody but the voter", |quorum| members(quorum) == 1);

    two.restart();
    let back = until(&one, "the observer again", |quorum| members(quorum) == 2);
    assert_eq!(voters(&back), [1]);
    let nodes = of_cluster(&two, &["nodes"]).expect("it answers");
    assert_eq!(nodes["nodes"].as_array().map(Vec::len), Some(2), "{nodes}");
}

#[test]
fn a_founding_voter_goes_on_without_its_vote_whether_it_hears_of_it_or_not() {
    let mut nodes = Nodes::start(3, None, &[SOON_FENCED]);
    let observes = |quorum: &Value| {
        let rows = quorum["replicas"].as_array().expect("replicas");
        voters(quorum) == [1, 2] && rows.iter().any(|row| row["id"] == 3 && row["lag"] == 0)
    };
    let begun = until(nodes.node(1), "three voters", |quorum| voters(quorum) == [1, 2, 3]);
    let rows = begun["replicas"].as_array().expect("replicas");
    let third = rows.iter().find(|row| row["id"] == 3).expect("the third is there");
    let address = third["listeners"][0].as_str().and_then(|at| at.split_once("://")).expect("a listener").1.to_owned();
    command(nodes.node(1), &["remove", "3"]).expect("3 is removed");
    until(nodes.node(1), "3 observes", observes);
    command(nodes.node(1), &["add", &format!("3@{address}")]).expect("3 is added");

    nodes.node_mut(3).kill();
    command(nodes.node(1), &["remove", "3"]).expect("3 is removed while it is down");
    nodes.restart(&[3]);
    until(nodes.node(1), "3 observes again", observes);
    let told = until(nodes.node(3), "3 knows", |quorum| voters(quorum) == [1, 2]);
    assert!(told["leader"].as_i64().is_some_and(|leader| leader != 3), "{told}");
}

#[test]
fn a_voter_that_lost_its_disk_is_replaced_by_hand() {
    // Nothing is replaced by itself while the test runs.
    let mut nodes = Nodes::start(3, None, &["broker.session.timeout.ms=600000"]);
    let begun = until(nodes.node(1), "three voters", |quorum| voters(quorum) == [1, 2, 3]);
    let of_three = |quorum: &Value, field: &str| {
        let rows = quorum["replicas"].as_array().expect("replicas");
        rows.iter().find(|row| row["id"] == 3).map(|row| row[field].clone()).expect("the third is there")
    };
    let listener = of_three(&begun, "listeners")[0].as_str().expect("a listener").to_owned();
    let (_, address) = listener.split_once("://").expect("a name before the address");

    nodes.node_mut(3).kill();
    wipe(&nodes.data(3));
    command(nodes.node(1), &["remove", "3"]).expect("3 is removed");
    let left = until(nodes.node(1), "two voters and an observer", |quorum| voters(quorum) == [1, 2]);
    assert!(left["leader"].as_i64().is_some_and(|leader| leader != 3), "{left}");
    // Its broker half waits for the session of its earlier life; its quorum half does not.
    nodes.node_mut(3).relaunch();
    let new = until(nodes.node(1), "the new directory observes", |quorum| {
        let rows = quorum["replicas"].as_array().expect("replicas");
        let directory = |row: &&Value| row["id"] == 3 && row["directory_id"] != of_three(&begun, "directory_id");
        rows.iter().any(|row| directory(&row))
    });
    assert_eq!(voters(&new), [1, 2]);
    command(nodes.node(2), &["add", &format!("3@{address}")]).expect("3 is added");
    let whole = until(nodes.node(1), "three voters", |quorum| voters(quorum) == [1, 2, 3]);
    assert_ne!(of_three(&whole, "directory_id"), of_three(&begun, "directory_id"));
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
