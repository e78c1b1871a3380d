//! Feeds arbitrary bytes to `segment` in check.rs.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::segment(data));
