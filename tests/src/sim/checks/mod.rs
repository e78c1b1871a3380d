//! What must hold of every run, as pure functions over what it leaves behind.
//!
//! Each takes the [`Evidence`] and gives what contradicts it, in words; each is tested with a history that is wrong on
//! purpose. The numbers are names: C1 is "no acknowledged record is lost" wherever it is spoken of.
//!
//! Read next: `records` (C1, C2, C4, C5, C11), `leaders` (C6, C12), `groups` (C7), `metadata` (C8, C16), `remembered`
//! (C8), `beside` (C9), `life` (C10, C13, C14).

mod beside;
mod groups;
mod leaders;
mod life;
mod metadata;
mod records;
mod remembered;
#[cfg(test)]
mod tests;

pub use life::RECOVERY_MS_MAX;

use super::evidence::Evidence;

/// Most violations of one kind that are told: the first ones say it all.
const TOLD_MAX: usize = 5;

/// A check: its name, what it holds, and how it is done.
pub struct Check {
    /// Its short name.
    pub name: &'static str,
    /// What holds.
    pub holds: &'static str,
    /// What contradicts it, in words.
    pub run: fn(&Evidence) -> Vec<String>,
}

/// All checks.
pub const CHECKS: &[Check] = &[
    Check { name: "C1", holds: "no acknowledged record is lost from any in-sync replica", run: records::none_lost },
    Check { name: "C2", holds: "no value twice, each producer's values in order", run: records::none_twice },
    Check { name: "C4", holds: "an offset means one value, to all and for ever", run: records::offsets_are_stable },
    Check { name: "C5", holds: "a reader skips nothing and never goes back", run: records::readers_go_straight },
    Check { name: "C6", holds: "one leader per epoch, whose watermark only rises", run: leaders::one_per_epoch },
    Check { name: "C7", holds: "one owner per partition and generation, commits stay", run: groups::one_owner },
    Check { name: "C8", holds: "metadata logs are prefixes of each other", run: metadata::logs_agree },
    Check {
        name: "C8",
        holds: "no node forgets a vote or entry, or finds what it cut",
        run: remembered::nodes_remember,
    },
    Check { name: "C9", holds: "what lies beside a log says what the log says", run: beside::files_agree },
    Check { name: "C10", holds: "what a crash leaves behind can be started from", run: life::crashes_leave_a_start },
    Check { name: "C11", holds: "bytes that nobody sent are never handed out", run: records::nothing_invented },
    Check { name: "C12", holds: "the ISR has everything below the watermark", run: leaders::isr_is_true },
    Check { name: "C12", holds: "no replica cuts what is committed", run: leaders::committed_stays },
    Check { name: "C13", holds: "a broker ends by itself only if its disk failed", run: life::brokers_live },
    Check { name: "C14", holds: "all is well again soon after the last fault", run: life::all_recovers },
    Check {
        name: "C16",
        holds: "a topic asked for twice is there once, producer ids are unique",
        run: metadata::made_once,
    },
];

/// Everything that is wrong, each line with the name of its check.
#[must_use]
pub fn all(evidence: &Evidence) -> Vec<String> {
    let tell = |check: &Check| {
        let found = (check.run)(evidence);
        let count = found.len();
        let mut lines: Vec<String> =
            found.into_iter().take(TOLD_MAX).map(|what| format!("{}: {what}", check.name)).collect();
        if count > TOLD_MAX {
            lines.push(format!("{}: and {} more", check.name, count - TOLD_MAX));
        }
        lines
    };
    CHECKS.iter().flat_map(tell).collect()
}
