//! Records that every scenario writes, and what rdkafka says of them, of groups and of admin calls.

use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::admin::AdminOptions;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::Message as _;
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;

use super::patience::{POLLS_MAX, until};

pub(super) const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(200);

/// Tells the error of a record's delivery to whoever sent it.
pub(super) struct Tally;

impl ClientContext for Tally {}

impl ProducerContext for Tally {
    type DeliveryOpaque = Box<std::sync::mpsc::Sender<Option<RDKafkaErrorCode>>>;

    fn delivery(&self, result: &DeliveryResult<'_>, tell: Self::DeliveryOpaque) {
        let error = result.as_ref().err().and_then(|(error, _)| error.rdkafka_error_code());
        // The sender of a step that has failed is gone.
        let _ = tell.send(error);
    }
}

/// What a call says of each of its questions.
pub(super) type Told<T, N> = Vec<Result<T, (N, RDKafkaErrorCode)>>;

/// The answer to the only question of a call.
pub(super) fn only<T, N>(told: Result<Told<T, N>, KafkaError>) -> Result<T, RDKafkaErrorCode> {
    let told = told.map_err(|error| code(&error))?;
    told.into_iter().next().expect("one answer for one question").map_err(|(_, code)| code)
}

pub(super) fn code(error: &KafkaError) -> RDKafkaErrorCode {
    error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail)
}

pub(super) fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(PATIENCE))
}

/// Ten records with keys and ten without.
pub(super) fn records(codec: &str) -> Vec<(Option<String>, String)> {
    let padding = "ä".repeat(50);
    let keyed = (0..10).map(|i| (Some(format!("k{i}")), format!("{codec} keyed {i} {padding}")));
    keyed.chain((0..10).map(|i| (None, format!("{codec} plain {i} {padding}")))).collect()
}

pub(super) fn all_values() -> Vec<String> {
    let mut values: Vec<String> = CODECS.iter().flat_map(|codec| records(codec)).map(|(_, value)| value).collect();
    values.sort();
    values
}

pub(super) fn after() -> Vec<String> {
    (0..5).map(|i| format!("after {i}")).collect()
}

/// The next value, if one comes soon.
pub(super) fn poll(consumer: &BaseConsumer) -> Option<String> {
    match consumer.poll(POLL)? {
        Ok(message) => Some(String::from_utf8_lossy(message.payload().unwrap_or_default()).into_owned()),
        // It says so while the broker restarts, and goes on trying.
        Err(KafkaError::MessageConsumption(
            RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure,
        )) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Reads until all of these have come, and gives what came in order of its text.
pub(super) fn read(consumer: &BaseConsumer, wanted: &[String]) -> Vec<String> {
    let mut values = Vec::new();
    until("the records", || {
        values.extend(poll(consumer));
        wanted.iter().all(|value| values.contains(value))
    });
    values.sort();
    values
}

pub(super) fn held(consumer: &BaseConsumer) -> usize {
    consumer.assignment().map_or(0, |list| list.count())
}

/// Polls until an error comes, which must be this one.
pub(super) fn refused(consumer: &BaseConsumer, wanted: RDKafkaErrorCode) -> String {
    for _ in 0..POLLS_MAX {
        match consumer.poll(POLL) {
            Some(Err(error)) => {
                let code = match error {
                    KafkaError::MessageConsumption(code) | KafkaError::MessageConsumptionFatal(code) => Some(code),
                    _ => error.rdkafka_error_code(),
                };
                assert_eq!(code, Some(wanted), "{error}");
                return error.to_string();
            }
            Some(Ok(message)) => panic!("offset {} was read", message.offset()),
            None => {}
        }
    }
    panic!("nothing was refused");
}
