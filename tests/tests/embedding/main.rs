//! A broker inside a test: its lives, its faults, what it may not speak, and the same over HTTP.
//!
//! What is left of it when it has been dropped is counted in `embedding_left_overs.rs`, in a process of its own.

mod clusters;
mod faults;
mod http;
mod lives;
mod process;
mod producing;
mod shapes;
mod versions;
