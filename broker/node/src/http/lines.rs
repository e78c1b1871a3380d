//! How values are written on the metrics page, whoever's they are.
//!
//! Read next: `exposition` (the page).

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::drive::partition::Partition;

/// Of metrics that count the broker as a whole.
pub(super) const NO_LABELS: [(&str, &str); 0] = [];

/// Labels and a value.
pub(super) type Rows<L> = Vec<(L, u64)>;

/// A metric with labels.
pub(super) fn rows<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    kind: MetricType,
    (name, help): (&str, &str),
    rows: &Rows<L>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in rows {
        let mut row = metric.encode_family(labels)?;
        match kind {
            MetricType::Counter => row.encode_counter::<NoLabelSet, u64, f64>(value, None)?,
            _ => row.encode_gauge(&i64::try_from(*value).unwrap_or(i64::MAX))?,
        }
    }
    Ok(())
}

/// As [`rows`], for values that may be negative.
pub(super) fn gauges<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    rows: &[(L, i64)],
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in rows {
        metric.encode_family(labels)?.encode_gauge(value)?;
    }
    Ok(())
}

/// A gauge of the broker as a whole.
pub(super) fn one(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    encoder
        .encode_descriptor(name, help, None, MetricType::Gauge)?
        .encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))
}

/// The labels of a partition's rows.
pub(super) fn labels(partition: &Partition) -> [(&'static str, String); 2] {
    [("topic", partition.topic.to_string()), ("partition", partition.index.to_string())]
}
