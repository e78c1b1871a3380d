//! What a broker changes in the header of a batch that it received, beyond what `view::stamp` changes.
//!
//! All of it lies under the checksum, so the checksum is computed anew over new header and old body. Each function gives
//! a header of its own, so that the body stays where it was received: write the header, then `batch.body()`. Base offset
//! and leader epoch are those of the batch and may be stamped into the new header afterwards.

use super::view::{
    ATTRIBUTES_AT, Attributes, BASE_TIMESTAMP_AT, BATCH_LENGTH_AT, BatchView, CRC_AT, HEADER_BYTES, LOG_OVERHEAD_BYTES,
    MAX_TIMESTAMP_AT, RECORDS_COUNT_AT, checksum_of_parts,
};

/// A header on its own.
pub type HeaderBytes = [u8; HEADER_BYTES];

/// On a topic with broker time: bit 3 set, `max_timestamp` is `now_ms`. Base timestamp and deltas stay as sent.
#[must_use]
pub fn with_log_append_time(batch: &BatchView<'_>, now_ms: i64) -> HeaderBytes {
    let attributes = batch.attributes().0 | Attributes::LOG_APPEND_TIME;
    rewritten(batch, batch.body(), attributes, now_ms)
}

/// On a topic with producer time: bit 3 cleared, `max_timestamp` is the true maximum of the records.
#[must_use]
pub fn with_create_time(batch: &BatchView<'_>, max_timestamp: i64) -> HeaderBytes {
    let attributes = batch.attributes().0 & !Attributes::LOG_APPEND_TIME;
    rewritten(batch, batch.body(), attributes, max_timestamp)
}

/// The batch without its records: a header alone, which keeps a producer's last sequence and the offsets it covers.
/// No codec, base timestamp -1, `max_timestamp` kept, as Kafka's cleaner leaves them.
#[must_use]
pub fn emptied(batch: &BatchView<'_>) -> HeaderBytes {
    let kept = Attributes::LOG_APPEND_TIME | Attributes::TRANSACTIONAL | Attributes::CONTROL;
    let mut header = head(batch);
    put(&mut header, BATCH_LENGTH_AT, ((HEADER_BYTES - LOG_OVERHEAD_BYTES) as i32).to_be_bytes());
    put(&mut header, ATTRIBUTES_AT, (batch.attributes().0 & kept).to_be_bytes());
    put(&mut header, BASE_TIMESTAMP_AT, (-1i64).to_be_bytes());
    put(&mut header, RECORDS_COUNT_AT, 0i32.to_be_bytes());
    sealed(header, &[])
}

fn rewritten(batch: &BatchView<'_>, body: &[u8], attributes: i16, max_timestamp: i64) -> HeaderBytes {
    let mut header = head(batch);
    put(&mut header, ATTRIBUTES_AT, attributes.to_be_bytes());
    put(&mut header, MAX_TIMESTAMP_AT, max_timestamp.to_be_bytes());
    sealed(header, body)
}

fn head(batch: &BatchView<'_>) -> HeaderBytes {
    batch.bytes()[..HEADER_BYTES].try_into().expect("a batch has its header")
}

fn sealed(mut header: HeaderBytes, body: &[u8]) -> HeaderBytes {
    let checksum = checksum_of_parts(&header, body);
    put(&mut header, CRC_AT, checksum.to_be_bytes());
    header
}

fn put<const N: usize>(header: &mut HeaderBytes, at: usize, value: [u8; N]) {
    header[at..at + N].copy_from_slice(&value);
}

#[cfg(test)]
mod tests {
    use super::super::build::BatchBuilder;
    use super::super::view::{Compression, TimestampType, stamp};
    use super::*;

    fn batch() -> Vec<u8> {
        let mut builder = BatchBuilder::new(Compression::Lz4).base_offset(0x2c6).producer(9, 0, 1).transactional();
        builder.push(100, None, Some(b"first"), &[]);
        builder.push(300, None, Some(b"second"), &[]);
        builder.finish().to_vec()
    }

    fn whole(header: HeaderBytes, body: &[u8]) -> Vec<u8> {
        [&header, body].concat()
    }

    #[test]
    fn log_append_time_changes_bit_maximum_and_checksum_only() {
        let sent = batch();
        let view = BatchView::parse(&sent).unwrap();
        let stored = whole(with_log_append_time(&view, 777), view.body());
        let stored_view = BatchView::parse(&stored).unwrap();
        stored_view.verify_checksum().unwrap();
        assert_eq!(stored_view.attributes().timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!((stored_view.base_timestamp(), stored_view.max_timestamp()), (100, 777));
        let body = stored_view.open(1 << 16).unwrap();
        assert!(stored_view.records_in(&body).all(|record| record.unwrap().timestamp(&stored_view) == 777));

        // And back: what a producer sends with the bit set to a topic with its own time.
        let cleared = whole(with_create_time(&stored_view, 300), stored_view.body());
        assert_eq!(cleared, sent);
    }

    #[test]
    fn a_rewritten_header_may_be_stamped() {
        let sent = batch();
        let view = BatchView::parse(&sent).unwrap();
        let mut header = with_create_time(&view, 999);
        stamp(&mut header, 5000, 8);
        let stored = whole(header, view.body());
        let stored = BatchView::parse(&stored).unwrap();
        stored.verify_checksum().unwrap();
        assert_eq!((stored.base_offset(), stored.leader_epoch(), stored.max_timestamp()), (5000, 8, 999));
    }

    #[test]
    fn an_emptied_batch_keeps_what_producers_and_offsets_need() {
        let sent = batch();
        let view = BatchView::parse(&sent).unwrap();
        let left = emptied(&view);
        let left = BatchView::parse(&left).unwrap();
        left.verify_checksum().unwrap();
        assert_eq!((left.base_offset(), left.last_offset(), left.records_count()), (0x2c6, 0x2c7, 0));
        assert_eq!((left.producer_id(), left.producer_epoch(), left.base_sequence()), (9, 0, 1));
        assert_eq!((left.attributes().0, left.base_timestamp(), left.max_timestamp()), (0x10, -1, 300));
        assert_eq!(left.records().unwrap().count(), 0);
    }
}
