//! Every command as its users see it: transcripts of sessions with a broker, compared with those that were looked at.
//!
//! What differs from run to run (addresses, ids, times, free space) is masked. To look at what a change does to them:
//! `INSTA_UPDATE=always cargo test -p ballast-cli --test commands`, then `git diff tools/tests/commands/snapshots`.

mod bench;
mod completions;
mod configs;
mod failures;
mod groups;
mod help;
mod mask;
mod records;
mod rig;
mod topics;
