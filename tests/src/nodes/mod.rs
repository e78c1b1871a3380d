//! A cluster of `ballast serve` processes, each in a folder and, where the system allows it, in a network of its own.
//!
//! Read next: `town` (the network, and how it is cut), `process` (one of them).

mod town;

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

pub use self::town::{NoTown, Town};
use crate::foreign::kafka::free_port;
use crate::process::Serve;

/// Where nodes without a network of their own are.
const HOST: &str = "127.0.0.1";

/// Processes that form a cluster, with node ids from 1 on.
pub struct Nodes {
    // Processes end before their network and their folder.
    running: Vec<Serve>,
    town: Option<Town>,
    folder: TempDir,
    /// Where each is asked for by controllers, and by clients: nobody may take a port while its node is down.
    quorum: Vec<(String, u16)>,
    ports: Vec<u16>,
    settings: Vec<String>,
}

impl Nodes {
    /// So many nodes on `town`, or on the loopback interface, with these settings (`key=value`, in which `{data}` stands for a
    /// node's data folder and `{id}` for its id); all of them vote. Done when all of them serve.
    ///
    /// # Panics
    /// If one does not come up.
    #[must_use]
    pub fn start(count: u8, town: Option<Town>, settings: &[&str]) -> Nodes {
        let host = |id| town.as_ref().map_or_else(|| HOST.to_owned(), |town| town.address(id).to_string());
        let free_port = || free_port().unwrap_or_else(|error| panic!("{error}"));
        let quorum = (1..=count).map(|id| (host(id), free_port())).collect();
        let ports = (1..=count).map(|_| free_port()).collect();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut nodes = Nodes { running: Vec::new(), town, folder, quorum, ports, settings };
        // Each waits for the others: they start together, and are awaited afterwards.
        let started: Vec<_> = (1..=count).map(|id| nodes.launch(id)).collect();
        nodes.running = started.into_iter().map(Serve::awaited).collect();
        nodes
    }

    fn launch(&self, id: u8) -> Serve {
        let (host, port) = &self.quorum[usize::from(id) - 1];
        let voter = |(id, (host, port)): (usize, &(String, u16))| format!("{id}@{host}:{port}");
        let voters: Vec<String> = (1..).zip(&self.quorum).map(voter).collect();
        let mut arguments = vec!["--node-id".to_owned(), id.to_string()];
        arguments.extend(["--controller".to_owned(), format!("{host}:{port}")]);
        arguments.extend(["--quorum".to_owned(), voters.join(",")]);
        let data = self.data(id).display().to_string();
        let own =
            |setting: &String| ["--set".to_owned(), setting.replace("{data}", &data).replace("{id}", &id.to_string())];
        arguments.extend(self.settings.iter().flat_map(own));
        let before = self.town.as_ref().map_or_else(Vec::new, |town| town.at(id));
        let listen = format!("{host}:{}", self.ports[usize::from(id) - 1]);
        Serve::launch(before, &self.data(id), &listen, &arguments)
    }

    /// `HOST:PORT,…` of all.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        let all: Vec<&str> = self.running.iter().map(|node| node.bootstrap.as_str()).collect();
        all.join(",")
    }

    /// Their node ids.
    pub fn ids(&self) -> impl Iterator<Item = u8> + use<> {
        1..=self.running.len() as u8
    }

    /// A node.
    ///
    /// # Panics
    /// If there is none of this id.
    #[must_use]
    pub fn node(&self, id: u8) -> &Serve {
        &self.running[usize::from(id) - 1]
    }

    /// A node, to be ended or started.
    ///
    /// # Panics
    /// If there is none of this id.
    pub fn node_mut(&mut self, id: u8) -> &mut Serve {
        &mut self.running[usize::from(id) - 1]
    }

    /// kill -9 of all of them, one right after another.
    pub fn kill_all(&mut self) {
        // None gets the time to notice that another one is gone.
        self.running.iter_mut().for_each(Serve::strike);
        self.running.iter_mut().for_each(Serve::kill);
    }

    /// Starts these nodes again, together; done when they serve.
    ///
    /// # Panics
    /// If one does not come up.
    pub fn restart(&mut self, ids: &[u8]) {
        for id in ids {
            self.node_mut(*id).relaunch();
        }
        for id in ids {
            self.node_mut(*id).await_ready();
        }
    }

    /// The folder of a node's data.
    #[must_use]
    pub fn data(&self, id: u8) -> std::path::PathBuf {
        self.folder.path().join(format!("node-{id}")).join("data")
    }

    /// SIGSTOP: it stands still, and time passes.
    pub fn freeze(&self, id: u8) {
        self.signal(id, "STOP");
    }

    /// SIGCONT.
    pub fn thaw(&self, id: u8) {
        self.signal(id, "CONT");
    }

    fn signal(&self, id: u8, name: &str) {
        let pid = self.node(id).pid().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(sent.success(), "SIG{name} to node {id}");
    }

    /// The network, if it is theirs.
    #[must_use]
    pub fn town(&self) -> Option<&Town> {
        self.town.as_ref()
    }

    /// What every node has logged in this life.
    #[must_use]
    pub fn logs(&self) -> String {
        let of = |(id, node): (usize, &Serve)| format!("--- node {id}\n{}", node.log());
        (1..).zip(&self.running).map(of).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
    }
}

/// Empties a folder, as a new disk does.
///
/// # Panics
/// If it cannot be emptied.
pub fn wipe(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}
