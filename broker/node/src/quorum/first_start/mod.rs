//! The first start of a quorum of several voters: who begins it, and with whom.
//!
//! ```text
//! lowest listed id ── identify ──► every listed voter: (node id with directory, voters that it holds)
//!                  ── decide   ──► nothing, or one set of voters
//!                  ── send     ──► every voter that holds none: sync the set, then initialize with exactly it
//! ```
//! Holds:
//!   1. A set is sent only if every listed voter has answered and the set names each of them as it is now. If anybody holds
//!      a set already, that one is sent: two sets are never founded by the same directories.
//!   2. Who holds no set (and has no log) neither votes nor campaigns.
//!   3. A voter that lost its directory is never founded again with the others' old set: it joins as a learner (`members`).
//!
//! Read next: decide (the rule), held (the file), `members` (who runs it).

mod decide;
mod held;

pub(super) use decide::{Decision, Seen, decide};
pub(super) use held::Held;
