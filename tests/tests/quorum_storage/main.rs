//! The metadata log, the vote and the snapshots on a disk that fails: whatever call fails and whatever a crash takes
//! along, the next start works, and everything that was acknowledged is there.
//!
//! Read next: `life` (a script drawn from a seed), `model` (what must be found after it), `store` and `handle` (the tests).

#![expect(clippy::unwrap_used, reason = "a test: what fails here is the finding")]

mod handle;
mod life;
mod model;
mod store;

use std::path::Path;
use std::sync::Arc;

use ballast_broker::quorum::{Fault, LOG_DIR, Machine, QuorumError, Store};
use ballast_net::SystemClock;
use ballast_tests::disk::{Crash, SimDisk};

const DATA: &str = "/data";
/// Small, so that a life has several.
const SEGMENT_BYTES: u64 = 2048;
const CRASHES: [Crash; 3] = [Crash::Process, Crash::LoseUnsynced, Crash::Tear];

fn open(disk: &SimDisk) -> Result<(Store, Machine), QuorumError> {
    let dir = Path::new(DATA).join(LOG_DIR);
    let clock = Arc::new(SystemClock);
    let store = Store::open_with(disk.shared(), &dir, clock, Fault::default(), SEGMENT_BYTES)?;
    let machine = Machine::open(disk.shared(), &dir, Fault::default())?;
    Ok((store, machine))
}

fn fresh_disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let shared = disk.shared();
    shared.create_dir(Path::new(DATA)).unwrap();
    shared.sync_dir(Path::new("/")).unwrap();
    disk
}
