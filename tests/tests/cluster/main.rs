//! Clusters in this process: what several brokers do together. Real processes are in `cluster_processes`.

mod admin;
mod ask;
mod eligible;
mod groups;
mod leaving;
mod life;
mod strangers;
mod told;
