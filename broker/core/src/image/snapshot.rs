//! A whole image as bytes: what a node that is far behind is sent, and what lets old entries go.
//!
//! ```text
//! snapshot := format u8 (1) | index u64 | record*          records as in an entry, epochs spelled out
//! ```
//! Holds: `decode_snapshot(encode_snapshot(image))` equals the image in every observable way.

use super::Image;
use super::bytes::Reader;
use super::decode::{self, DecodeError};
use super::encode::put_record;
use super::record::{FORMAT_VERSION, Record};

/// The image as bytes.
#[must_use]
pub fn encode_snapshot(image: &Image) -> Vec<u8> {
    let mut out = vec![FORMAT_VERSION];
    out.extend_from_slice(&image.index().to_be_bytes());
    for record in image.records() {
        put_record(&mut out, &record);
    }
    out
}

/// The image that `encode_snapshot` wrote.
///
/// # Errors
/// As `decode_records`.
pub fn decode_snapshot(bytes: &[u8]) -> Result<Image, DecodeError> {
    let mut reader = Reader(bytes);
    let found = reader.u8()?;
    if found != FORMAT_VERSION {
        return Err(DecodeError::Format { found });
    }
    let index = reader.u64()?;
    // An entry's index stands in for its broker's epoch, which has 63 bits.
    if i64::try_from(index).is_err() {
        return Err(DecodeError::BadValue { what: "an index of an entry", value: index.cast_signed() });
    }
    let mut image = Image::default();
    while !reader.0.is_empty() {
        let record = decode::record(&mut reader)?;
        image.apply(index, &[record]);
    }
    image.apply(index, &[]);
    Ok(image)
}

impl Image {
    /// The records that make this image out of an empty one, in an order that applies.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.extend(self.cluster_id().map(|id| Record::ClusterId { id }));
        records.extend(self.controller().map(|controller| Record::ControllerActivated {
            node: controller.node,
            epoch: i64::try_from(controller.epoch).expect("a metadata log has fewer than 2^63 entries"),
        }));
        records.extend(self.features().map(|(name, level)| Record::FeatureLevel { name: name.to_owned(), level }));
        records.extend(self.brokers().map(|broker| Record::RegisterBroker(Box::new((**broker).clone()))));
        for topic in self.topics() {
            records.push(Record::Topic { name: topic.name.to_string(), id: topic.id });
            records.extend(topic.partitions().map(|(index, partition)| Record::Partition {
                topic: topic.id,
                index,
                state: Box::new((**partition).clone()),
            }));
        }
        for (resource, configs) in self.all_configs() {
            records.extend(configs.iter().map(|(key, value)| Record::Config {
                resource: resource.clone(),
                key: key.clone(),
                value: Some(value.clone()),
            }));
        }
        if self.next_producer_id() > 0 {
            records.push(Record::ProducerIdBlock { next: self.next_producer_id(), broker: -1, broker_epoch: -1 });
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_up_to_an_index_that_no_log_has_is_an_error() {
        for (index, is_one) in [(i64::MAX as u64, true), (1 << 63, false), (u64::MAX, false)] {
            let bytes = [&[FORMAT_VERSION][..], &index.to_be_bytes()].concat();
            assert_eq!(decode_snapshot(&bytes).is_ok(), is_one, "{index}");
        }
    }
}
