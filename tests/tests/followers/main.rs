//! Followers between real brokers: three of them in this process, their logs compared byte for byte.

mod logs;
mod readers;
mod rig;
