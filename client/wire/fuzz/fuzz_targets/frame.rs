//! Feeds arbitrary bytes to `frame` in check.rs.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::frame(data));
