//! Feeds arbitrary bytes to `append_records` in check.rs.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::append_records(data));
