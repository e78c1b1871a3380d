//! Clients (and would-be members of the metadata quorum) that lie, stall, flood and send what no client would.
//!
//! Whatever comes in, the connection that sent it is closed or gets an error of Kafka's; the broker lives, serves
//! everybody else meanwhile and afterwards, and takes no memory by a number that somebody claimed. `watch` holds every
//! attack against that.

mod bombs;
mod frames;
mod garbage;
mod lengths;
mod quorum;
mod stalled;
mod watch;
