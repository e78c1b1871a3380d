//! What the kernel says of a process: CPU, memory, descriptors, maps; and of the machine as a whole.
//!
//! Holds: `utime + stime` of `/proc/PID/stat` is exact to a tick of 10 ms (their split is sampled), and counts threads that
//! have ended. Work that the network stack does in an interrupt is charged to whomever it interrupts, so the busy time of
//! the machine is given beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Doing as _, Failure};

/// Ticks in a second of what `/proc` counts (`USER_HZ`): 100 on every architecture that we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process's memory and what it holds open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Anonymous resident memory, in KiB: what the process itself has allocated.
    pub anonymous_kib: u64,
    /// Resident pages of mapped files, in KiB: the program, and whatever data it maps.
    pub file_kib: u64,
    /// Page tables, in KiB; they are not resident memory of the process and yet belong to it.
    pub page_tables_kib: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Memory maps.
    pub maps: u64,
}

impl Footprint {
    /// Reads that of a process.
    ///
    /// # Errors
    /// It has ended, or belongs to somebody else.
    pub fn of(pid: u32) -> Result<Footprint, Failure> {
        let status = read(&format!("/proc/{pid}/status"))?;
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).doing(format_args!("descriptors of {pid}"))?;
        Ok(Footprint {
            anonymous_kib: field(&status, "RssAnon:")?,
            file_kib: field(&status, "RssFile:")?,
            page_tables_kib: field(&status, "VmPTE:")?,
            threads: field(&status, "Threads:")?,
            descriptors: descriptors.count() as u64,
            maps: read(&format!("/proc/{pid}/maps"))?.lines().count() as u64,
        })
    }

    /// Resident memory, in MiB.
    #[must_use]
    pub fn resident_mib(&self) -> f64 {
        (self.anonymous_kib + self.file_kib) as f64 / 1024.0
    }
}

/// CPU time that a process has used, in seconds.
///
/// # Errors
/// It has ended.
pub fn cpu_seconds(pid: u32) -> Result<f64, Failure> {
    let stat = read(&format!("/proc/{pid}/stat"))?;
    ticks(&stat).map(|ticks| ticks as f64 / TICKS_PER_SECOND).ok_or_else(|| Failure::new(format!("/proc/{pid}/stat")))
}

/// The calling thread, for [`thread_cpu_seconds`].
///
/// # Errors
/// There is no `/proc`.
pub fn this_thread() -> Result<PathBuf, Failure> {
    // A link to `PID/task/TID`.
    fs::read_link("/proc/thread-self").map(|path| PathBuf::from("/proc").join(path)).doing("/proc/thread-self")
}

/// CPU time that a thread of ours has used, in seconds. What it has used since the last clock tick may be missing.
///
/// # Errors
/// It has ended.
pub fn thread_cpu_seconds(thread: &Path) -> Result<f64, Failure> {
    let path = thread.join("schedstat");
    let text = fs::read_to_string(&path).doing(path.display())?;
    let ns = text.split_ascii_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
    ns.map(|ns| ns as f64 / 1e9).ok_or_else(|| Failure::new(format!("{}: {text}", path.display())))
}

/// CPU time that the whole machine has spent on work, in seconds, all cores together.
///
/// # Errors
/// There is no `/proc`.
pub fn machine_busy_seconds() -> Result<f64, Failure> {
    let stat = read("/proc/stat")?;
    busy_ticks(&stat).map(|ticks| ticks as f64 / TICKS_PER_SECOND).ok_or_else(|| Failure::new("/proc/stat"))
}

/// Bytes that have gone over the loopback interface so far, each counted once, whoever sent them.
///
/// # Errors
/// There is no `/proc`.
pub fn loopback_bytes() -> Result<u64, Failure> {
    let devices = read("/proc/net/dev")?;
    received_bytes(&devices, "lo").ok_or_else(|| Failure::new("/proc/net/dev"))
}

/// `NAME: bytes packets …`, received first.
fn received_bytes(devices: &str, name: &str) -> Option<u64> {
    let of_name = |line: &'_ str| line.trim_start().strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    devices.lines().find_map(of_name)?.split_ascii_whitespace().next()?.parse().ok()
}

/// utime and stime are the 14th and 15th field; the 2nd, the name in parentheses, may hold blanks.
fn ticks(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// user, nice, system, idle, iowait, irq, softirq, …: everything but idle and iowait.
fn busy_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<u64> =
        stat.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // Guest time (the 9th and 10th field) is part of user time already.
    Some(fields.iter().take(8).enumerate().filter(|(index, _)| !matches!(index, 3 | 4)).map(|(_, ticks)| ticks).sum())
}

fn field(status: &str, name: &str) -> Result<u64, Failure> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .ok_or_else(|| Failure::new(format!("the process has no {name}")))
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).doing(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticks_of_a_process_are_found_behind_any_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 3 0 1 2 3";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("42 (a"), None);
    }

    #[test]
    fn idle_time_waiting_for_the_disk_and_guests_are_not_work() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9"), Some(1 + 2 + 4 + 8 + 16 + 32));
    }

    #[test]
    fn an_interface_is_found_by_its_whole_name() {
        let devices = "Inter-|   Receive\n face |bytes    packets\n  lox: 7 1 0\n    lo:4096      12    0\n";
        assert_eq!(received_bytes(devices, "lo"), Some(4096));
        assert_eq!(received_bytes(devices, "eth0"), None);
    }

    #[test]
    fn our_own_footprint_is_plausible() {
        let ours = Footprint::of(std::process::id()).unwrap();
        assert!(ours.threads >= 1 && ours.descriptors >= 3 && ours.maps > 10 && ours.anonymous_kib > 100, "{ours:?}");
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
        assert!(machine_busy_seconds().unwrap() > 0.0);
    }
}
