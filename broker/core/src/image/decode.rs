//! Bytes to records. Whatever the bytes are, the answer is records or an error, in memory that the bytes themselves bound.

use std::collections::BTreeMap;

use super::bytes::Reader;
use super::encode::{RECORD_VERSION, kind};
use super::record::{FORMAT_VERSION, Record};
use super::{Broker, ConfigResource, FeatureRange, Partition, Recovery, ResourceKind};
use crate::endpoint::{Endpoint, SecurityProtocol};

/// Why bytes are no metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by a newer Ballast, or no metadata at all.
    #[error(
        "metadata format {found} is not known (this version reads up to {FORMAT_VERSION}): a newer Ballast wrote it"
    )]
    Format {
        /// The first byte.
        found: u8,
    },
    /// Written by a newer Ballast.
    #[error("metadata record type {kind} is not known: a newer Ballast wrote it")]
    UnknownType {
        /// Its number.
        kind: u16,
    },
    /// Written by a newer Ballast.
    #[error(
        "metadata record type {kind} has version {version} (this version reads up to {RECORD_VERSION}): a newer Ballast wrote it"
    )]
    NewerVersion {
        /// Number of the type.
        kind: u16,
        /// Its version.
        version: u16,
    },
    /// The bytes end too early.
    #[error("metadata is cut short: {wanted} bytes wanted, {left} left")]
    Short {
        /// Bytes that a length claims.
        wanted: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A record is longer than what it says.
    #[error("{left} bytes are left over at the end of a metadata record")]
    Trailing {
        /// How many.
        left: usize,
    },
    /// A text is no text.
    #[error("a string in the metadata is not UTF-8")]
    NotUtf8,
    /// A number outside its set.
    #[error("{value} is not {what}")]
    BadValue {
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: i64,
    },
}

/// The records of one entry.
///
/// # Errors
/// An unknown type, a newer version, or bytes that are damaged. Nothing is skipped: metadata that is not understood must
/// not be acted on.
pub fn decode_records(bytes: &[u8]) -> Result<Vec<Record>, DecodeError> {
    let mut reader = Reader(bytes);
    let found = reader.u8()?;
    if found != FORMAT_VERSION {
        return Err(DecodeError::Format { found });
    }
    let mut records = Vec::new();
    while !reader.0.is_empty() {
        records.push(record(&mut reader)?);
    }
    Ok(records)
}

pub(super) fn record(reader: &mut Reader<'_>) -> Result<Record, DecodeError> {
    let kind = reader.u16()?;
    let version = reader.u16()?;
    let length = reader.u32()?;
    let mut payload = Reader(reader.take(usize::try_from(length).unwrap_or(usize::MAX))?);
    let record = fields(kind, version, &mut payload)?;
    payload.finish()?;
    Ok(record)
}

fn fields(kind: u16, version: u16, from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    // The type is judged before the version: an unknown type has no version that we could compare.
    let known = |record: Result<Record, DecodeError>| match version {
        1..=RECORD_VERSION => record,
        _ => Err(DecodeError::NewerVersion { kind, version }),
    };
    known(match kind {
        kind::CLUSTER_ID => from.uuid().map(|id| Record::ClusterId { id }),
        kind::CONTROLLER_ACTIVATED => activated(from),
        kind::FEATURE_LEVEL => feature(from),
        kind::REGISTER_BROKER => broker(from).map(|broker| Record::RegisterBroker(Box::new(broker))),
        kind::FENCE_BROKER => from.i32().map(|id| Record::FenceBroker { id }),
        kind::UNFENCE_BROKER => from.i32().map(|id| Record::UnfenceBroker { id }),
        kind::SHUTDOWN_BROKER => from.i32().map(|id| Record::ShutdownBroker { id }),
        kind::UNREGISTER_BROKER => from.i32().map(|id| Record::UnregisterBroker { id }),
        kind::TOPIC => topic(from),
        kind::REMOVE_TOPIC => from.uuid().map(|id| Record::RemoveTopic { id }),
        kind::PARTITION => partition(from),
        kind::CONFIG => config(from),
        kind::PRODUCER_ID_BLOCK => producer_ids(from),
        _ => return Err(DecodeError::UnknownType { kind }),
    })
}

fn activated(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    Ok(Record::ControllerActivated { node: from.i32()?, epoch: from.i64()? })
}

fn feature(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    Ok(Record::FeatureLevel { name: from.string()?, level: from.i16()? })
}

fn topic(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    Ok(Record::Topic { name: from.string()?, id: from.uuid()? })
}

fn producer_ids(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    Ok(Record::ProducerIdBlock { next: from.i64()?, broker: from.i32()?, broker_epoch: from.i64()? })
}

fn config(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    let id = i8::from_be_bytes([from.u8()?]);
    let kind = ResourceKind::from_id(id)
        .ok_or(DecodeError::BadValue { what: "a kind of config resource", value: i64::from(id) })?;
    let resource = ConfigResource { kind, name: from.string()? };
    Ok(Record::Config { resource, key: from.string()?, value: from.nullable()? })
}

fn broker(from: &mut Reader<'_>) -> Result<Broker, DecodeError> {
    Ok(Broker {
        id: from.i32()?,
        epoch: from.i64()?,
        incarnation: from.uuid()?,
        listeners: from.list(endpoint)?,
        rack: from.nullable()?,
        log_dirs: from.list(Reader::uuid)?,
        features: from
            .list(|from| Ok((from.string()?, FeatureRange { min: from.i16()?, max: from.i16()? })))?
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        fenced: from.bool()?,
        in_controlled_shutdown: from.bool()?,
    })
}

fn endpoint(from: &mut Reader<'_>) -> Result<Endpoint, DecodeError> {
    let (listener, host, port, id) = (from.string()?, from.string()?, from.u16()?, from.i16()?);
    let protocol = SecurityProtocol::from_id(id)
        .ok_or(DecodeError::BadValue { what: "a security protocol", value: i64::from(id) })?;
    Ok(Endpoint { listener, host, port, protocol })
}

fn partition(from: &mut Reader<'_>) -> Result<Record, DecodeError> {
    let (topic, index) = (from.uuid()?, from.i32()?);
    let state = Box::new(Partition {
        replicas: from.list(Reader::i32)?,
        isr: from.list(Reader::i32)?,
        elr: from.list(Reader::i32)?,
        last_known_elr: from.list(Reader::i32)?,
        adding: from.list(Reader::i32)?,
        removing: from.list(Reader::i32)?,
        directories: from.list(Reader::uuid)?,
        leader: from.i32()?,
        leader_epoch: from.i32()?,
        partition_epoch: from.i32()?,
        recovery: {
            let id = i8::from_be_bytes([from.u8()?]);
            Recovery::from_id(id)
                .ok_or(DecodeError::BadValue { what: "a leader recovery state", value: i64::from(id) })?
        },
    });
    Ok(Record::Partition { topic, index, state })
}
