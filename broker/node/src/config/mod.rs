//! Turns settings into what the parts of a broker take.

pub(crate) mod log;
