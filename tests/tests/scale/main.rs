//! Many partitions, many segments, many clients: what must not grow, and what must not be read.
//!
//! A twentieth of what was reported by default. The whole, with figures:
//! `BALLAST_SCALE=20 cargo test --release -p ballast-tests --test scale -- --nocapture --test-threads 1`.
//! Nothing here asserts how long anything takes; the figures are printed.
//!
//! Read next: `start_up`, `maps`, `memory`, `cluster`.

#![expect(clippy::unwrap_used, reason = "a test: what fails here is the finding")]

mod cluster;
mod maps;
mod memory;
mod start_up;

use std::time::Instant;

use ballast_tests::process::Serve;

/// Descriptors that a broker needs beside one for each partition.
const DESCRIPTORS_BESIDE: usize = 2_000;

/// Twentieths of the whole.
fn scale() -> usize {
    std::env::var("BALLAST_SCALE").ok().and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// So many of `whole` as the scale says.
fn scaled(whole: usize) -> usize {
    whole * scale() / 20
}

/// Partitions: as the scale says, but no more than this process may open files, because each keeps one.
fn partitions_of(whole: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let hard = line.split_whitespace().nth(1).unwrap().parse().unwrap_or(usize::MAX);
    let (wanted, room) = (scaled(whole), hard - DESCRIPTORS_BESIDE);
    if wanted > room {
        println!("{wanted} partitions wanted; {hard} open files are allowed, so {room} it is");
    }
    wanted.min(room)
}

/// Runs something and prints how long it took.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    #[expect(clippy::disallowed_methods, reason = "a foreign process runs on real time")]
    let started = Instant::now();
    let value = work();
    println!("{what:<60} {:.2} s", started.elapsed().as_secs_f64());
    value
}

/// Resident memory of a broker, in KiB.
fn resident_kib(serve: &Serve) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serve.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Maps of a broker.
fn maps(serve: &Serve) -> usize {
    std::fs::read_to_string(format!("/proc/{}/maps", serve.pid())).unwrap().lines().count()
}
