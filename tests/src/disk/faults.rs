//! What can be ordered to go wrong, and the counting that says when.
//!
//! Two kinds of orders stand side by side: one on the n-th call of any kind (for the loop that fails every call once),
//! and any number on a kind of call and part of a path.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The calls that are counted: those of `Disk` and `DiskFile` that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "named like the methods of Disk and DiskFile")]
pub enum Call {
    Open,
    CreateDir,
    List,
    Rename,
    RemoveFile,
    RemoveDir,
    SyncDir,
    Lock,
    Space,
    Len,
    Write,
    Read,
    View,
    Reserve,
    SetLen,
    Sync,
}

/// What a failing call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// `EIO`: the device failed.
    Io,
    /// `ENOSPC`: no room.
    Full,
}

impl Trouble {
    /// The error as Linux would give it.
    pub(super) fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Trouble::Io => 5,
            Trouble::Full => 28,
        })
    }
}

/// How often a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Once.
    Once,
    /// From then on, until [`super::SimDisk::heal`] or a crash.
    Always,
}

#[derive(Debug)]
struct AtCount {
    at: u64,
    trouble: Trouble,
    repeat: Repeat,
    reached: bool,
}

#[derive(Debug)]
struct OnCall {
    call: Call,
    path_part: String,
    trouble: Trouble,
    repeat: Repeat,
}

/// Orders and counters.
#[derive(Debug, Default)]
pub(super) struct Faults {
    total: u64,
    by_call: BTreeMap<Call, u64>,
    at_count: Option<AtCount>,
    on_call: Vec<OnCall>,
}

impl Faults {
    pub(super) fn at_count(&mut self, n: u64, trouble: Trouble, repeat: Repeat) {
        self.at_count = Some(AtCount { at: self.total + n, trouble, repeat, reached: false });
    }

    pub(super) fn on(&mut self, call: Call, path_part: &str, trouble: Trouble, repeat: Repeat) {
        self.on_call.push(OnCall { call, path_part: path_part.to_owned(), trouble, repeat });
    }

    pub(super) fn heal(&mut self) {
        self.at_count = None;
        self.on_call.clear();
    }

    /// Forgets the orders as `heal` does, but remembers whether the counted one was reached.
    pub(super) fn end_of_life(&mut self) {
        self.on_call.clear();
        if let Some(fault) = &mut self.at_count {
            fault.at = u64::MAX;
        }
    }

    pub(super) fn count_was_reached(&self) -> bool {
        self.at_count.as_ref().is_some_and(|fault| fault.reached)
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn total_of(&self, call: Call) -> u64 {
        self.by_call.get(&call).copied().unwrap_or(0)
    }

    /// Counts one call and fails it if so ordered.
    pub(super) fn verdict(&mut self, call: Call, path: &Path) -> io::Result<()> {
        let number = self.total;
        self.total += 1;
        *self.by_call.entry(call).or_default() += 1;
        if let Some(fault) = &mut self.at_count {
            let strikes = number == fault.at || (fault.repeat == Repeat::Always && number > fault.at);
            if strikes {
                fault.reached = true;
                return Err(fault.trouble.error());
            }
        }
        let path = path.to_string_lossy();
        let struck = self.on_call.iter().position(|fault| fault.call == call && path.contains(&fault.path_part));
        let Some(struck) = struck else { return Ok(()) };
        let error = self.on_call[struck].trouble.error();
        if self.on_call[struck].repeat == Repeat::Once {
            self.on_call.remove(struck);
        }
        Err(error)
    }
}
