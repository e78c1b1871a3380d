//! The two clocks of a measurement: time that passes, and CPU time of the thread that asks.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Time since some fixed moment, in ns. Never goes back.
#[must_use]
pub fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// CPU time that the calling thread has used, in ns, in user and kernel mode together.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

/// Seconds from `since_ns` to `until_ns`.
#[must_use]
pub fn seconds_between(since_ns: u64, until_ns: u64) -> f64 {
    until_ns.saturating_sub(since_ns) as f64 / SECOND_NS as f64
}

/// Waits; the wait is no part of what is measured.
pub fn rest(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds.max(0.0)));
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_while_a_sleeping_thread_uses_no_cpu() {
        let (wall, cpu) = (now_ns(), thread_cpu_ns());
        rest(0.02);
        let (wall, cpu) = (now_ns() - wall, thread_cpu_ns() - cpu);
        assert!(wall >= 20_000_000, "{wall} ns");
        assert!(cpu < wall, "{cpu} ns of CPU in {wall} ns");
    }
}
