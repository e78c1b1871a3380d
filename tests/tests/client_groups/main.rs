//! Our own consumer in groups, against a running broker: sharing, handing over, coming back, being fenced. With
//! `BALLAST_TEST_BOOTSTRAP` the same against any other broker; Apache Kafka passes them all.

mod commits;
mod members;
mod mixed;
mod rig;
mod statics;
