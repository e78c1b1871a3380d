//! What goes wrong in a run: drawn from its seed before it begins, carried out while it lasts.
//!
//! Swarm rule: each class is in a run with probability one half; one run in ten has none, one in ten exactly one, so that a
//! failure can be attributed.
//!
//! Read next: `plan` (what is drawn), `apply` (how it is done), `watch` (what waits for its moment), `rot` (what changes on a
//! disk).

pub mod apply;
pub mod plan;
mod rot;
mod watch;

/// Kinds of faults, by their numbers in the test plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One process is killed, at any moment or between two calls of its disk (F1).
    KillOne,
    /// All processes are killed at once (F2).
    KillAll,
    /// Power fails for one machine or all: what is unsynced goes, whole or in part (F3, F4).
    Power,
    /// A disk is full for a while (F6).
    DiskFull,
    /// A disk fails once or for a while (F7).
    DiskError,
    /// A wall clock jumps (F9).
    Clock,
    /// Links are cut in both directions (F10).
    Cut,
    /// The machines fall into two halves that do not hear each other, or some of the links between them (F10).
    Split,
    /// Links are cut in one direction (F11).
    CutOneWay,
    /// Packets are late or lost (F12).
    BadLinks,
    /// A disk is slow (F13).
    SlowDisk,
    /// A machine is silent for a while and hears everything afterwards (F14).
    Silence,
    /// A broker stops in order and starts again (F21, as far as one version goes).
    Restart,
    /// The active controller is killed or cut off (F16).
    Controller,
    /// The leader of a partition of groups or records is killed (F1, F18).
    Leader,
    /// A process dies, or power fails, at a telling moment: as a log is cut, a file replaced, a segment made (F1, F3).
    Moment,
    /// A member of a group is not heard for a while, and then it is (F18).
    Member,
    /// A replica is cut off from its leader as it joins the ISR (F11, F14).
    Joining,
    /// Links come and go, or machines are cut off one after another and come back in another order (F10).
    Flapping,
    /// Bytes change on the disk of a broker that is down (F5).
    Rot,
}

/// All of them.
pub const CLASSES: [Class; 20] = [
    Class::KillOne,
    Class::KillAll,
    Class::Power,
    Class::DiskFull,
    Class::DiskError,
    Class::Clock,
    Class::Cut,
    Class::Split,
    Class::CutOneWay,
    Class::BadLinks,
    Class::SlowDisk,
    Class::Silence,
    Class::Restart,
    Class::Controller,
    Class::Leader,
    Class::Moment,
    Class::Member,
    Class::Joining,
    Class::Flapping,
    Class::Rot,
];
