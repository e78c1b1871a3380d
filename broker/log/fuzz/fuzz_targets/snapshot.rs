//! Feeds arbitrary bytes to `snapshot` in check.rs.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::snapshot(data));
