//! A network for processes on one machine: a namespace for each node, all on one bridge, which the tests stand on as well.
//!
//! ```text
//!   tests ── bridge 10.213.T.254 ──┬── node 1, 10.213.T.1
//!                                  ├── node 2, 10.213.T.2
//!                                  └── …
//! ```
//! A cut is an address that leads nowhere: the sender is told that its peer has a hardware address that nobody has. Packets
//! vanish in that direction alone, without an error, in connections that exist and in those that are tried.
//!
//! Needs Linux, root, and `ip` (iproute2).

use std::net::Ipv4Addr;
use std::process::Command;

use crate::foreign::find;

/// A hardware address that nobody on the bridge has.
const NOBODY: &str = "02:00:00:00:00:fe";

/// Why there is no network of our own.
#[derive(Debug)]
pub enum NoTown {
    /// `ip` is not installed.
    Program,
    /// This machine does not allow it, in its own words.
    Forbidden(String),
}

/// See the module. Dropping it takes the network down.
pub struct Town {
    /// Tells this town's names from those of others.
    tag: u32,
    nodes: u8,
}

impl Town {
    /// A network for nodes 1 to `nodes`.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(nodes: u8) -> Result<Town, NoTown> {
        if find("ip").is_none() {
            return Err(NoTown::Program);
        }
        if !rustix::process::geteuid().is_root() {
            return Err(NoTown::Forbidden("only root may make network namespaces".to_owned()));
        }
        let town = Town { tag: std::process::id(), nodes };
        town.build().map_err(NoTown::Forbidden)?;
        Ok(town)
    }

    fn build(&self) -> Result<(), String> {
        let bridge = self.bridge();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        ip(&["addr", "add", &format!("{}/24", self.address(254)), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for id in 1..=self.nodes {
            let (namespace, outside) = (self.namespace(id), format!("{bridge}n{id}"));
            ip(&["netns", "add", &namespace])?;
            ip(&["link", "add", &outside, "type", "veth", "peer", "name", "eth0", "netns", &namespace])?;
            ip(&["link", "set", &outside, "master", &bridge, "up"])?;
            let inside = |words: &[&str]| ip(&[&["-n", &namespace], words].concat());
            inside(&["addr", "add", &format!("{}/24", self.address(id)), "dev", "eth0"])?;
            inside(&["link", "set", "eth0", "up"])?;
            inside(&["link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// Where a node is; 254 is where the tests are.
    #[must_use]
    pub fn address(&self, id: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, (self.tag % 251) as u8, id)
    }

    /// The words that start a program at a node.
    #[must_use]
    pub fn at(&self, id: u8) -> Vec<String> {
        ["ip", "netns", "exec", &self.namespace(id)].map(str::to_owned).to_vec()
    }

    /// From now on nothing that `from` sends reaches `to`.
    ///
    /// # Panics
    /// If the system does not let us.
    pub fn cut(&self, from: u8, to: u8) {
        let (namespace, address) = (self.namespace(from), self.address(to).to_string());
        let words = ["neigh", "replace", &address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent"];
        ip(&[&["-n", &namespace], &words[..]].concat()).unwrap_or_else(|why| panic!("{why}"));
    }

    /// Everything reaches everybody again.
    pub fn heal(&self) {
        for from in 1..=self.nodes {
            for to in (1..=self.nodes).filter(|to| *to != from) {
                // Most of them were never cut.
                let (namespace, address) = (self.namespace(from), self.address(to).to_string());
                let _ = ip(&["-n", &namespace, "neigh", "del", &address, "dev", "eth0"]);
            }
        }
    }

    fn bridge(&self) -> String {
        // Names of interfaces are at most 15 bytes.
        format!("bl{}", self.tag)
    }

    fn namespace(&self, id: u8) -> String {
        format!("ballast-{}-{id}", self.tag)
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        for id in 1..=self.nodes {
            // The system takes a namespace down when it likes; its end of the link must not be seen by then.
            let _ = ip(&["link", "del", &format!("{}n{id}", self.bridge())]);
            let _ = ip(&["netns", "del", &self.namespace(id)]);
        }
        let _ = ip(&["link", "del", &self.bridge()]);
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(words).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}
