//! The whole system under test, and the doubles that it is tested with.
//!
//! Read next: `disk` (a disk that loses, tears and fills up on order).

#![forbid(unsafe_code)]

pub mod disk;
