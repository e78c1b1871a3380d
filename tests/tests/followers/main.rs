//! Followers between real brokers: three of them in this process, their logs compared byte for byte.

mod anew;
mod fetchers;
mod logs;
mod power;
mod readers;
mod rig;
mod rot;
