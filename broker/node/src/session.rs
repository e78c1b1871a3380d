//! Who asks, over which listener, and whether they may.
//!
//! Every handler gets a [`Session`] and asks [`Authorizer::authorize`] before it says or does anything about a resource.

use std::net::IpAddr;
use std::sync::Arc;

/// One request's sender.
#[derive(Debug, Clone)]
pub struct Session {
    /// Name of the listener that the connection came in on, in upper case.
    pub listener: Arc<str>,
    /// Who the connection has proved to be; `User:ANONYMOUS` on a plain listener.
    pub principal: Arc<str>,
    /// The peer's address.
    pub host: IpAddr,
    /// What the request calls its client. Empty if it gives none.
    pub client_id: Arc<str>,
}

/// What a request wants to do, in Kafka's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read records, or commit as a group.
    Read,
    /// Append records.
    Write,
    /// Make a topic or partitions.
    Create,
    /// Remove a topic, records or a group.
    Delete,
    /// Change a topic or the cluster.
    Alter,
    /// See that something is there.
    Describe,
    /// What only brokers do to each other.
    ClusterAction,
    /// See settings.
    DescribeConfigs,
    /// Change settings.
    AlterConfigs,
    /// Take a producer id without a transaction.
    IdempotentWrite,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    /// The cluster itself.
    Cluster,
    /// A topic by name.
    Topic(&'a str),
    /// A group by id.
    Group(&'a str),
    /// A transactional id.
    TransactionalId(&'a str),
}

/// Decides who may do what.
pub trait Authorizer: Send + Sync {
    /// May `session` do `operation` to `resource`?
    fn authorize(&self, session: &Session, operation: Operation, resource: Resource<'_>) -> bool;

    /// Is there anything to decide? Without an authorizer, requests about access lists answer `SECURITY_DISABLED`.
    fn is_enabled(&self) -> bool {
        true
    }
}

/// Everybody may do everything: a broker without an authorizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Session, _: Operation, _: Resource<'_>) -> bool {
        true
    }

    fn is_enabled(&self) -> bool {
        false
    }
}

/// Nobody may do anything. For tests: every API must then refuse.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Authorizer for DenyAll {
    fn authorize(&self, _: &Session, _: Operation, _: Resource<'_>) -> bool {
        false
    }
}
