//! The machines of a cluster together, in one thread: controllers, leaders and followers over a network that loses,
//! doubles and reorders, with brokers that stop, die and lose power.
//!
//! A run is its seed: settings, faults and the order of all events are drawn from it. After every step the claims of `history`
//! must hold; at the end everything is mended and must come together. A seed that fails is printed with the command that plays
//! it again, every event written out.
//!
//! Holds: nothing here decides. What is wrong in a run is wrong in a machine, or was planted on purpose: each bug that `tests`
//! names has to be found.
//!
//! Read next: `world` (a step), `history` (what must hold), `faults` (what may happen), `plan` (what a seed draws).

mod broker;
mod deliver;
mod drive;
mod faults;
mod history;
mod log;
mod network;
mod plan;
mod quorum;
mod random;
mod run;
mod tests;
mod world;
