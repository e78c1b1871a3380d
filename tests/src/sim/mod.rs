//! The simulated cluster: whole brokers and clients in one thread, on a network, disks and clocks that a seed rules.
//!
//! ```text
//! seed ─► plan of faults ─► run { cluster, clients, faults } ─► evidence { history, logs } ─► checks ─► violations
//! ```
//! Holds: one seed gives one run. Whatever a run does is a consequence of its scenario and of the code.
//!
//! Read next: `run` (from a seed to an outcome), `cluster` (machines and their steps), `load` (clients), `faults`, `checks`,
//! `failover` (how long a lost leader is missed).

pub mod beside;
pub mod blackouts;
pub mod checks;
pub mod clock;
pub mod cluster;
pub mod dice;
pub mod disk;
pub mod evidence;
pub mod failover;
pub mod faults;
pub mod history;
pub mod life;
pub mod load;
pub mod machine;
pub mod net;
pub mod run;
pub mod shape;
pub mod table;
pub mod trace;
