//! Replicas move between the log directories of one broker (AlterReplicaLogDirs, DescribeLogDirs).
//!
//! `codes` and `moves` hold on Apache Kafka as well: `BALLAST_TEST_BOOTSTRAP` sends them to a broker that was started with two
//! `log.dirs` (`kafka node DIR PORT log.dirs=A,B`). `lives` kills the broker meanwhile, `failing` takes a directory
//! away; they are about Ballast alone.

mod codes;
mod failing;
mod lives;
mod moves;
mod rig;
