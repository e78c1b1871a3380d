//! Feeds arbitrary bytes to `index` in check.rs.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::index(data));
