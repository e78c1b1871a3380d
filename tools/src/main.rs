//! `ballast`, the one binary: a broker, and the operator's commands.
//!
//! Exit status: 0 done, 1 the operation failed (one line on stderr says what, where, and what to do), 2 bad usage, 3 not
//! finished yet.
//!
//! Read next: `cli` (the commands), then the command's own file.

mod active;
mod bench;
mod cli;
mod cluster;
mod complete;
mod config;
mod connect;
mod consume;
mod error;
mod group;
mod log;
mod output;
mod probe;
mod produce;
mod properties;
mod serve;
mod signal;
mod start;
mod topic;

use std::process::ExitCode;

use clap::Parser as _;

/// glibc's allocator aborts the process when a hostile count asks for more than there is; this one gives the memory
/// lazily, and is faster under many threads.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    complete::answer_shell();
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
