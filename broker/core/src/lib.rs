//! What a broker decides: pure step machines and planners.
//!
//! Holds for the whole crate: no runtime, no files, no clock, no wire schema. Time and input come in, effects go out.
//! Machines do not import each other (they meet in `ballast-broker`); all may read the metadata `image`.

#![forbid(unsafe_code)]

pub mod machine;
pub mod replica;
