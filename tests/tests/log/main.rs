//! A log on the faulty double: cut at every byte, failed at every call, crashed at every moment.
//!
//! Read next: `rig` (a log with a model of what must be in it), `cuts`, `faults`, `moves`, `model`.

mod cuts;
mod faults;
mod model;
mod moves;
mod rig;
mod syncs;
