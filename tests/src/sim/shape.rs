//! Shapes of clusters: how many machines, and what runs on each.

use ballast_wire::BrokerId;

use super::dice::Dice;

/// The first id of a controller that is no broker.
const FIRST_CONTROLLER: BrokerId = 101;
/// Racks that brokers stand in, in turn.
const RACKS: usize = 3;

/// What a cluster looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One node that is everything.
    Alone,
    /// Three nodes, each a broker that votes.
    Three,
    /// Five of them.
    Five,
    /// Four brokers, and three controllers beside them.
    Apart,
}

/// All shapes.
pub const SHAPES: [Shape; 4] = [Shape::Alone, Shape::Three, Shape::Five, Shape::Apart];

impl Shape {
    /// The shape of a seed: most have three nodes.
    #[must_use]
    pub fn draw(seed: u64) -> Shape {
        use Shape::{Alone, Apart, Five, Three};
        *Dice::new(seed, "shape").one_of(&[Alone, Alone, Three, Three, Three, Three, Three, Five, Apart, Apart])
    }

    /// Ids of the brokers, in order.
    #[must_use]
    pub fn brokers(self) -> Vec<BrokerId> {
        let count = match self {
            Shape::Alone => 1,
            Shape::Three => 3,
            Shape::Five => 5,
            Shape::Apart => 4,
        };
        (1..=count).collect()
    }

    /// Ids of those who vote in the metadata quorum, in order.
    #[must_use]
    pub fn voters(self) -> Vec<BrokerId> {
        match self {
            Shape::Apart => (FIRST_CONTROLLER..FIRST_CONTROLLER + 3).collect(),
            _ => self.brokers(),
        }
    }

    /// Ids of all machines, in order.
    #[must_use]
    pub fn machines(self) -> Vec<BrokerId> {
        let mut all = [self.brokers(), self.voters()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// `process.roles` of one machine.
    #[must_use]
    pub fn roles(self, id: BrokerId) -> &'static str {
        match (self, id >= FIRST_CONTROLLER) {
            (Shape::Apart, false) => "broker",
            (Shape::Apart, true) => "controller",
            _ => "broker,controller",
        }
    }

    /// Replicas of each partition.
    #[must_use]
    pub fn replicas(self) -> i16 {
        self.brokers().len().min(3) as i16
    }
}

/// The rack that a broker stands in.
#[must_use]
pub fn rack(id: BrokerId) -> String {
    format!("rack{}", id as usize % RACKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_drawn_and_three_nodes_most_often() {
        let drawn: Vec<Shape> = (0..1_000).map(Shape::draw).collect();
        let count = |shape| drawn.iter().filter(|other| **other == shape).count();
        let counts = SHAPES.map(count);
        assert!(counts.iter().all(|n| *n >= 60), "{counts:?} of {SHAPES:?}");
        assert!(count(Shape::Three) >= 400, "{counts:?} of {SHAPES:?}");
    }

    #[test]
    fn controllers_apart_are_no_brokers() {
        assert_eq!(Shape::Apart.machines(), [1, 2, 3, 4, 101, 102, 103]);
        assert_eq!(Shape::Apart.replicas(), 3);
        assert_eq!((Shape::Apart.roles(2), Shape::Apart.roles(102)), ("broker", "controller"));
        assert_eq!((Shape::Five.voters(), Shape::Five.roles(5)), (vec![1, 2, 3, 4, 5], "broker,controller"));
    }
}
