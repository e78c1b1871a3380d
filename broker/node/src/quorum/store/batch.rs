//! An entry as a record batch: what stands in the segments of the metadata log.
//!
//! ```text
//! base offset = index          partition leader epoch = term          one record, uncompressed
//! key   := version u8 (1) | leader's node id i32 | leader's directory id 16 bytes
//! value := type u8 | payload       0 blank: nothing · 1 records: as the image encodes them · 2 membership
//! ```
//! Holds: `entry_of(batch_of(entry)) == entry`. A type number is never reused.

use ballast_wire::batch::{BatchBuilder, BatchView, Compression};
use bytes::Bytes;
use openraft::LeaderId;

use super::super::codec::{CodecError, Reader, put_membership, put_node_id};
use super::super::entry::{Entry, Payload};
use super::super::error::EntryError;
use super::super::types::LogId;

const KEY_VERSION: u8 = 1;

mod kind {
    pub(super) const BLANK: u8 = 0;
    pub(super) const RECORDS: u8 = 1;
    pub(super) const MEMBERSHIP: u8 = 2;
}

/// The batch that stores `entry`. `now_ms` is only for people who look.
///
/// # Errors
/// Term or index are larger than the batch can say.
pub(super) fn batch_of(entry: &Entry, now_ms: i64) -> Result<Bytes, EntryError> {
    let LogId { leader_id, index } = entry.log_id;
    let term = i32::try_from(leader_id.term).map_err(|_| EntryError::TermTooLarge(leader_id.term))?;
    let offset = i64::try_from(index).map_err(|_| EntryError::IndexTooLarge(index))?;
    let mut key = vec![KEY_VERSION];
    put_node_id(&mut key, &leader_id.node_id);
    let mut value = Vec::with_capacity(1 + entry.size_bytes());
    match &entry.payload {
        Payload::Blank => value.push(kind::BLANK),
        Payload::Records(records) => {
            value.push(kind::RECORDS);
            value.extend_from_slice(records);
        }
        Payload::Membership(membership) => {
            value.push(kind::MEMBERSHIP);
            put_membership(&mut value, membership);
        }
    }
    let mut builder = BatchBuilder::new(Compression::None).base_offset(offset).leader_epoch(term);
    builder.push(now_ms, Some(&key), Some(&value), &[]);
    Ok(builder.finish())
}

/// The entry that a batch stores. Its checksum is believed.
///
/// # Errors
/// The batch was not written by [`batch_of`], or by a newer one.
pub(super) fn entry_of(batch: &BatchView<'_>) -> Result<Entry, EntryError> {
    let mut records = batch.records()?;
    let record = records.next().ok_or(EntryError::NotOneRecord("it has none"))??;
    if records.next().is_some() || batch.last_offset() != batch.base_offset() {
        return Err(EntryError::NotOneRecord("it has several"));
    }
    let mut key = Reader(record.key.ok_or(EntryError::NotOneRecord("its key is missing"))?);
    let found = key.u8()?;
    if found != KEY_VERSION {
        return Err(CodecError::Newer { what: "an entry's key", found, known: KEY_VERSION }.into());
    }
    let node_id = key.node_id()?;
    key.finish()?;
    let number =
        |what, value: i64| u64::try_from(value).map_err(|_| CodecError::BadValue { what, value: value as u64 });
    let term = number("a term", i64::from(batch.leader_epoch()))?;
    let index = number("an index", batch.base_offset())?;
    let log_id = LogId { leader_id: LeaderId::new(term, node_id), index };
    let value = record.value.ok_or(EntryError::NotOneRecord("its value is missing"))?;
    Ok(Entry { log_id, payload: payload_of(value)? })
}

fn payload_of(value: &[u8]) -> Result<Payload, EntryError> {
    let mut value = Reader(value);
    match value.u8()? {
        kind::BLANK => {
            value.finish()?;
            Ok(Payload::Blank)
        }
        kind::RECORDS => Ok(Payload::Records(Bytes::copy_from_slice(value.0))),
        kind::MEMBERSHIP => {
            let membership = value.membership()?;
            value.finish()?;
            Ok(Payload::Membership(membership))
        }
        unknown => Err(EntryError::UnknownType(unknown)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ballast_wire::Uuid;

    use super::super::super::types::{Membership, NodeId};
    use super::*;

    fn log_id(term: u64, index: u64) -> LogId {
        let node = NodeId { node: 3, directory: Uuid([0xd1; 16]) };
        LogId { leader_id: LeaderId::new(term, node), index }
    }

    fn read_back(entry: &Entry) -> Entry {
        let batch = batch_of(entry, 1_700_000_000_000).unwrap();
        let view = BatchView::parse(&batch).unwrap();
        view.verify_checksum().unwrap();
        entry_of(&view).unwrap()
    }

    #[test]
    fn every_kind_of_entry_reads_back_with_its_leaders_directory() {
        let voters = BTreeSet::from([NodeId { node: 1, directory: Uuid([1; 16]) }, NodeId::from(2)]);
        let payloads = [
            Payload::Blank,
            Payload::Records(Bytes::new()),
            Payload::Records(Bytes::from_static(&[1, 2, 3])),
            Payload::Membership(Membership::new(vec![voters], ())),
        ];
        for payload in payloads {
            let entry = Entry { log_id: log_id(i32::MAX as u64, i64::MAX as u64), payload };
            assert_eq!(read_back(&entry), entry);
        }
        let first = Entry { log_id: LogId::default(), payload: Payload::Blank };
        assert_eq!(read_back(&first), first, "the entry that initializes a quorum");
    }

    #[test]
    fn a_term_above_a_leader_epoch_is_refused() {
        let term = i32::MAX as u64 + 1;
        let entry = Entry { log_id: log_id(term, 1), payload: Payload::Blank };
        assert_eq!(batch_of(&entry, 0).unwrap_err(), EntryError::TermTooLarge(term));
    }

    #[test]
    fn a_batch_of_another_kind_is_refused_with_its_cause() {
        let refused = |key: &[u8], value: &[u8]| {
            let mut builder = BatchBuilder::new(Compression::None).leader_epoch(1);
            builder.push(0, Some(key), Some(value), &[]);
            let batch = builder.finish();
            entry_of(&BatchView::parse(&batch).unwrap()).unwrap_err()
        };
        let mut key = vec![KEY_VERSION];
        put_node_id(&mut key, &NodeId::from(1));
        assert_eq!(refused(&key, &[9]), EntryError::UnknownType(9));
        assert_eq!(refused(&key, &[kind::BLANK, 0]), CodecError::Trailing(1).into());
        key[0] = 7;
        assert_eq!(refused(&key, &[0]), CodecError::Newer { what: "an entry's key", found: 7, known: 1 }.into());
    }
}
