//! Every combination of three voters, and every order of rounds, deliveries and wipes up to a depth.

use ballast_wire::Uuid;

use super::*;

/// Directories of nodes 1, 2 and 3, by generation: a wipe makes the next one.
type Directories = [u8; 3];

fn id(node: usize, generation: u8) -> NodeId {
    NodeId { node: node as BrokerId + 1, directory: Uuid([generation + 1; 16]) }
}

fn address(node: usize) -> QuorumNode {
    QuorumNode { host: format!("host-{}", node + 1), port: 9093 }
}

fn listed() -> BTreeMap<BrokerId, QuorumNode> {
    (0..3).map(|node| (node as BrokerId + 1, address(node))).collect()
}

fn set(directories: Directories) -> Voters {
    (0..3).map(|node| (id(node, directories[node]), address(node))).collect()
}

fn says(node: usize, generation: u8, held: Option<Directories>) -> Seen {
    Seen::Says(Identity { id: id(node, generation), held: held.map(set), may_vote: true })
}

fn all(rows: [Seen; 3]) -> BTreeMap<BrokerId, Seen> {
    (1..).zip(rows).collect()
}

#[test]
fn three_empty_voters_are_founded_as_they_are() {
    let seen = all([says(0, 0, None), says(1, 4, None), says(2, 0, None)]);
    let to = BTreeSet::from([id(0, 0), id(1, 4), id(2, 0)]);
    assert_eq!(decide(&listed(), &seen), Decision::Send { set: set([0, 4, 0]), to });
}

#[test]
fn whoever_does_not_answer_is_waited_for_by_name() {
    let seen = all([says(0, 0, None), Seen::Silent("connection refused".to_owned()), says(2, 0, Some([0, 0, 0]))]);
    let Decision::Wait(wait) = decide(&listed(), &seen) else { panic!("one voter is away") };
    let words = wait.to_string();
    assert!(words.contains("waiting for 2@host-2:9093 (connection refused)"), "{words}");
}

#[test]
fn another_node_at_a_voters_address_is_told() {
    let seen = all([says(0, 0, None), says(2, 0, None), says(2, 0, None)]);
    assert_eq!(decide(&listed(), &seen), Decision::Wait(Wait::Elsewhere(vec![(2, listed()[&2].clone(), id(2, 0))])));
}

#[test]
fn in_every_combination_a_set_is_sent_only_if_all_are_named_and_nobody_holds_another() {
    let holdings = [None, Some([0, 0, 0]), Some([0, 1, 0])];
    let mut sent = 0;
    for directories in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] {
        for a in holdings {
            for b in holdings {
                for c in holdings {
                    let held = [a, b, c];
                    let seen = all(std::array::from_fn(|node| says(node, directories[node], held[node])));
                    let different: BTreeSet<_> = held.iter().flatten().collect();
                    match decide(&listed(), &seen) {
                        Decision::Send { set: voters, to } => {
                            sent += 1;
                            assert_eq!(voters, set(directories), "{held:?}: everybody is named as it is now");
                            assert!(different.iter().all(|held| **held == directories), "{held:?}");
                            let empty = (0..3).filter(|node| held[*node].is_none());
                            assert_eq!(to, empty.map(|node| id(node, directories[node])).collect(), "{held:?}");
                        }
                        Decision::Settled => assert_eq!(held, [Some(directories); 3]),
                        Decision::Wait(Wait::Contradiction) => assert_eq!(different.len(), 2, "{held:?}"),
                        Decision::Wait(Wait::Outsiders(_)) => {
                            assert!(different.iter().all(|held| **held != directories), "{held:?} {directories:?}");
                        }
                        Decision::Wait(other) => panic!("{held:?}: everybody has answered: {other}"),
                    }
                }
            }
        }
    }
    // Nobody holds anything (4 times), or one or two hold what is true now (6 ways each for the two sets that are held).
    assert_eq!(sent, 4 + 2 * 6);
}

/// Everything that a round, a delivery or a wipe depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    directories: Directories,
    held: [Option<Directories>; 3],
    /// What the collector has been told so far in this round, and the set that it is sending.
    told: [Option<(u8, Option<Directories>)>; 3],
    sending: Option<Directories>,
    wipes: u8,
    /// The set that a majority of its members has held at once, and who of them was wiped since.
    founded: Option<(Directories, [bool; 3])>,
}

impl World {
    fn next(&self) -> Vec<World> {
        let mut worlds = Vec::new();
        for node in 0..3 {
            // A question is answered.
            let mut world = self.clone();
            world.told[node] = Some((self.directories[node], self.held[node]));
            worlds.push(world);
            // The set arrives: only the directory that it is meant for takes it, once.
            if let Some(set) = self.sending
                && set[node] == self.directories[node]
                && self.held[node].is_none()
            {
                let mut world = self.clone();
                world.held[node] = Some(set);
                worlds.push(world);
            }
            if self.wipes < 2 {
                worlds.push(self.wiped(node));
            }
        }
        if self.told.iter().all(Option::is_some) {
            worlds.push(self.decided());
        }
        worlds
    }

    fn wiped(&self, node: usize) -> World {
        let mut world = self.clone();
        world.directories[node] += 1;
        world.held[node] = None;
        world.wipes += 1;
        if let Some((_, wiped)) = &mut world.founded {
            wiped[node] = true;
        }
        if node == 0 {
            // The collector's process ended with it.
            (world.told, world.sending) = ([None; 3], None);
        }
        world
    }

    fn decided(&self) -> World {
        let told: [(u8, Option<Directories>); 3] = self.told.map(|told| told.expect("all have answered"));
        let seen = all(std::array::from_fn(|node| says(node, told[node].0, told[node].1)));
        let mut world = World { told: [None; 3], sending: None, ..self.clone() };
        if let Decision::Send { set: voters, .. } = decide(&listed(), &seen) {
            let mut directories = voters.keys().map(|id| id.directory.0[0] - 1);
            let set: Directories = std::array::from_fn(|_| directories.next().expect("three voters"));
            // It syncs the set before it sends it, unless it holds one.
            if self.held[0].is_none_or(|held| held == set) {
                world.held[0] = Some(set);
                world.sending = Some(set);
            }
        }
        world
    }

    /// Notes which set a majority holds, and refuses a second one unless a majority of the first was wiped.
    fn look(&mut self) {
        for candidate in self.held.into_iter().flatten() {
            let holds =
                |node: &usize| self.held[*node] == Some(candidate) && self.directories[*node] == candidate[*node];
            if (0..3).filter(holds).count() < 2 {
                continue;
            }
            if let Some((founded, wiped)) = self.founded {
                let lost = wiped.iter().filter(|wiped| **wiped).count();
                assert!(founded == candidate || lost >= 2, "{founded:?} and {candidate:?} are both founded: {self:?}");
                if founded == candidate {
                    continue;
                }
            }
            self.founded = Some((candidate, [false; 3]));
        }
    }
}

#[test]
fn in_every_order_of_rounds_and_wipes_a_second_quorum_needs_a_majority_of_the_first_wiped() {
    let start = World { directories: [0; 3], held: [None; 3], told: [None; 3], sending: None, wipes: 0, founded: None };
    let mut known = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    let mut founded = 0;
    while let Some(world) = open.pop() {
        for mut next in world.next() {
            next.look();
            if known.insert(next.clone()) {
                founded += usize::from(next.founded.is_some());
                open.push(next);
            }
        }
    }
    assert!(founded > 100, "{founded} of {} worlds have a quorum", known.len());
}
