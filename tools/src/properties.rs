//! The file of `--command-config`: client properties, by Kafka's names.
//!
//! Holds: a name that Kafka's clients have and we have no use for is left alone, as they leave each other's; one that none
//! of them has is told on stderr, with what was probably meant.

use std::collections::BTreeMap;
use std::path::Path;

use ballast_core::settings::nearest;
use ballast_wire::properties;

use crate::error::Failure;

/// Reads the file. Names that nobody knows are warned of.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::at(path, e))?;
    let entries = properties::parse(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let properties: BTreeMap<String, String> = entries.into_iter().map(|entry| (entry.key, entry.value)).collect();
    for name in properties.keys() {
        if let Some(warning) = warning(name) {
            eprintln!("ballast: {}: {warning}", path.display());
        }
    }
    Ok(properties)
}

fn warning(name: &str) -> Option<String> {
    if KNOWN.binary_search(&name).is_ok() {
        return None;
    }
    let meant = nearest(name, KNOWN.iter().copied()).map(|meant| format!(", did you mean {meant}?"));
    Some(format!("no client has a property {name}{}", meant.unwrap_or_default()))
}

/// Every property of the producer, the consumer and the admin client of Apache Kafka 4.4.
#[rustfmt::skip]
const KNOWN: [&str; 147] = [
    "acks",
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.size",
    "bootstrap.controllers",
    "bootstrap.resolve.timeout.ms",
    "bootstrap.servers",
    "buffer.memory",
    "buffer.memory.allocation.strategy",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "config.providers",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "enable.metrics.push",
    "exclude.internal.topics",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "interceptor.classes",
    "internal.throw.on.fetch.stable.offset.unsupported",
    "isolation.level",
    "key.deserializer",
    "key.serializer",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "max.request.size",
    "metadata.cluster.check.enable",
    "metadata.max.age.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partition.assignment.strategy",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "partitioner.class",
    "partitioner.ignore.keys",
    "partitioner.rack.aware",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.client.callback.handler.class",
    "sasl.jaas.config",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.mechanism",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.template.file",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
    "security.protocol",
    "security.providers",
    "send.buffer.bytes",
    "session.timeout.ms",
    "share.acknowledgement.mode",
    "share.acquire.mode",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.key.password",
    "ssl.keymanager.algorithm",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "transaction.timeout.ms",
    "transaction.two.phase.commit.enable",
    "transactional.id",
    "value.deserializer",
    "value.serializer",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_in_order_and_pass_in_silence() {
        assert!(KNOWN.is_sorted(), "they are looked up by halves");
        for name in ["bootstrap.servers", "sasl.mechanism", "group.id"] {
            assert_eq!(warning(name), None);
        }
    }

    #[test]
    fn a_name_that_nobody_has_is_told_with_what_was_meant() {
        assert_eq!(warning("batch.sze").unwrap(), "no client has a property batch.sze, did you mean batch.size?");
        assert_eq!(warning("colour").unwrap(), "no client has a property colour");
    }
}
