//! Three brokers that form a cluster: each a process, controller and broker in one, on 127.0.0.1.
//!
//! Holds: node `id` keeps its place in `nodes`, its folder and its address, whoever else runs.

use std::path::Path;

use ballast_tests::foreign::kafka::Site;
use tempfile::TempDir;

use super::{Node, Software};
use crate::client::{Client, Topic, View};
use crate::clock::{SECOND_NS, now_ns, rest};
use crate::load::Cpu;
use crate::process::Footprint;
use crate::{Doing as _, Failure};

/// How many nodes.
const NODES: usize = 3;
/// How long until all nodes know each other, in seconds.
const MEETING_SECONDS_MAX: u64 = 180;
/// How often a node is asked whether what is awaited has come, in seconds.
const ASK_AGAIN_SECONDS: f64 = 0.01;

/// A cluster of three, with node ids from 1 on.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
}

impl Cluster {
    /// A cluster in new folders below `root`, with these settings on each node, once every node knows the others.
    ///
    /// # Errors
    /// It does not come up.
    pub fn started(software: &Software, root: &Path, settings: &[(&str, &str)]) -> Result<Cluster, Failure> {
        std::fs::create_dir_all(root).doing(root.display())?;
        let folder = |_| tempfile::tempdir_in(root).doing(root.display());
        let folders: Vec<TempDir> = (0..NODES).map(folder).collect::<Result<_, _>>()?;
        let sites = Site::cluster(&folders.iter().map(TempDir::path).collect::<Vec<_>>(), settings);
        let places = sites.map_err(Failure::new)?.into_iter().zip(folders);
        let nodes = places.map(|(site, folder)| Node::at(software, site, folder)).collect::<Result<_, _>>()?;
        let mut cluster = Cluster { nodes };
        cluster.nodes.iter_mut().try_for_each(Node::spawn)?;
        cluster.await_members()?;
        Ok(cluster)
    }

    /// What its nodes run.
    #[must_use]
    pub fn software(&self) -> &Software {
        self.nodes[0].software()
    }

    /// Its node ids.
    pub fn ids(&self) -> impl Iterator<Item = i32> + use<> {
        1..=self.nodes.len() as i32
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: i32) -> &Node {
        &self.nodes[id as usize - 1]
    }

    /// A node, to be ended or started.
    pub fn node_mut(&mut self, id: i32) -> &mut Node {
        &mut self.nodes[id as usize - 1]
    }

    /// A connection to a node.
    ///
    /// # Errors
    /// It does not listen.
    pub fn client(&self, id: i32) -> Result<Client, Failure> {
        Client::connect(&self.node(id).bootstrap())
    }

    /// A connection to each node that runs, in order of their ids.
    ///
    /// # Errors
    /// One does not listen.
    pub fn clients(&self) -> Result<Vec<Client>, Failure> {
        self.running().map(Node::await_connection).collect()
    }

    /// The node where the active controller is.
    ///
    /// # Errors
    /// There is none for a long time.
    pub fn controller(&self) -> Result<i32, Failure> {
        self.eventually("an active controller", |clients| {
            clients[0].active_controller().map(|id| id.filter(|id| self.ids().any(|known| known == *id)))
        })
    }

    /// A connection to the node where the active controller is.
    ///
    /// # Errors
    /// As [`Cluster::controller`].
    pub fn admin(&self) -> Result<Client, Failure> {
        self.client(self.controller()?)
    }

    /// Waits until every node that runs tells of all that run.
    ///
    /// # Errors
    /// It does not for minutes.
    pub fn await_members(&self) -> Result<(), Failure> {
        let count = self.running().count();
        self.eventually("nodes that know each other", |clients| {
            let mut knows_all = |client: &mut Client| Ok(client.view(&[])?.brokers.len() == count);
            let all = clients.iter_mut().map(&mut knows_all).collect::<Result<Vec<_>, Failure>>()?;
            Ok(all.into_iter().all(|knows| knows).then_some(()))
        })
    }

    /// Waits until every node that runs tells that every partition of the topics is led and has `in_sync` replicas in sync,
    /// and every leader says where its partitions end. Gives the cluster as it is then.
    ///
    /// # Errors
    /// It is not so for minutes.
    pub fn await_in_sync(&self, topics: &[Topic], in_sync: usize) -> Result<View, Failure> {
        let wanted: i32 = topics.iter().map(|topic| topic.partitions).sum();
        self.eventually("partitions that are led and in sync", |clients| {
            let mut last = None;
            for client in &mut *clients {
                let view = client.view(topics)?;
                let good = view.partitions().filter(|p| p.leader.is_some() && p.in_sync.len() >= in_sync).count();
                if (good as i32) < wanted {
                    return Ok(None);
                }
                last = Some(view);
            }
            let Some(view) = last else { return Ok(None) };
            Ok(self.all_serve(topics, &view)?.then_some(view))
        })
    }

    fn all_serve(&self, topics: &[Topic], view: &View) -> Result<bool, Failure> {
        for id in self.ids().filter(|id| self.node(*id).runs()) {
            let led = |topic: &Topic| view.by_leader(&topic.name).remove(&id).map(|rows| (topic.name.clone(), rows));
            let led: Vec<(String, Vec<i32>)> = topics.iter().filter_map(led).collect();
            let ends = self.client(id)?.end_offsets_of(&led)?;
            if ends.iter().any(Result::is_err) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn eventually<T>(
        &self,
        what: &str,
        mut ask: impl FnMut(&mut [Client]) -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let until = now_ns() + MEETING_SECONDS_MAX * SECOND_NS;
        let mut clients = self.clients()?;
        loop {
            if let Some(found) = ask(&mut clients)? {
                return Ok(found);
            }
            if now_ns() > until {
                let logs: Vec<String> = self.nodes.iter().map(Node::log_end).collect();
                let (name, logs) = (self.software().name(), logs.join("\n---\n"));
                return Err(Failure::new(format!("{name}: no {what} within {MEETING_SECONDS_MAX} s\n{logs}")));
            }
            rest(ASK_AGAIN_SECONDS);
        }
    }

    /// Whose CPU time is that of the cluster.
    ///
    /// # Errors
    /// A node does not run.
    pub fn cpu(&self) -> Result<Vec<Cpu>, Failure> {
        self.nodes.iter().map(|node| node.pid().map(Cpu::Process)).collect()
    }

    /// CPU time of each node so far, in seconds.
    ///
    /// # Errors
    /// A node does not run.
    pub fn cpu_seconds(&self) -> Result<Vec<f64>, Failure> {
        self.nodes.iter().map(Node::cpu_seconds).collect()
    }

    /// The footprint of each node.
    ///
    /// # Errors
    /// A node does not run.
    pub fn footprints(&self) -> Result<Vec<Footprint>, Failure> {
        self.nodes.iter().map(|node| Footprint::of(node.pid()?)).collect()
    }

    fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.runs())
    }
}
