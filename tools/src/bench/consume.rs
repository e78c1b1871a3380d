//! `ballast bench consume`: all partitions from their beginnings, as fast as records come. A topic that is made is filled
//! first, which is not measured.

use std::time::Duration;

use ballast_client::Cluster;
use ballast_client::consumer::{Consumer, ConsumerConfig, StartAt};
use ballast_client::producer::{Producer, ProducerConfig, compression_name};
use ballast_wire::batch::Compression;

use super::load::Pace;
use super::report::Report;
use super::topic::BenchTopic;
use super::{BATCH_BYTES, ConsumeBench, produce};
use crate::connect::ConnectArgs;
use crate::consume::PARTITION_BYTES_MAX;
use crate::error::Failure;
use crate::output::progress;

/// What a topic gets that is made, in bytes.
const FILL_BYTES: u64 = 256 << 20;
const LINGER: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(200);

pub(super) async fn run(connect: &ConnectArgs, bench: &ConsumeBench) -> Result<Report, Failure> {
    let cluster = connect.cluster()?;
    let topic = BenchTopic::open(&cluster, &bench.common).await?;
    let measured = measure(connect, &cluster, &topic, bench).await;
    topic.close(measured).await
}

async fn measure(
    connect: &ConnectArgs,
    cluster: &Cluster,
    topic: &BenchTopic,
    bench: &ConsumeBench,
) -> Result<Report, Failure> {
    let compression = bench.compression.unwrap_or(Compression::None);
    if topic.is_ours {
        let bar = progress("filling");
        let config =
            ProducerConfig { batch_bytes: BATCH_BYTES, linger: LINGER, compression, ..ProducerConfig::default() };
        let producer = Producer::new(cluster.clone(), config)?;
        let size = bench.common.size;
        let count = bench.count.unwrap_or((FILL_BYTES / size as u64).max(1));
        produce::fill(&producer, &topic.name, size, count).await?;
        bar.finish_and_clear();
    }
    let mut config = ConsumerConfig { partition_bytes_max: PARTITION_BYTES_MAX, ..ConsumerConfig::default() };
    connect.apply(|properties| config.apply(properties))?;
    let mut consumer = Consumer::new(cluster.clone(), config);
    let partitions: Vec<_> = topic.partitions.iter().map(|at| (topic.name.as_str(), *at, StartAt::Beginning)).collect();
    consumer.assign(&partitions).await?;

    let bar = progress("reading");
    // Without a time it lasts until all is read.
    let pace = Pace::start(None, Some(bench.count.unwrap_or(u64::MAX)), bench.seconds);
    let (mut records, mut bytes, mut elapsed) = (0, 0, Duration::ZERO);
    while !pace.is_over(records) && !consumer.is_at_end() {
        let fetched = consumer.poll(POLL).await?;
        for record in fetched.iter().flat_map(|part| &part.records) {
            records += 1;
            bytes += record.value.as_ref().map_or(0, bytes::Bytes::len) as u64;
        }
        if !fetched.is_empty() {
            elapsed = pace.started.elapsed();
        }
        bar.set_position(records);
    }
    bar.finish_and_clear();
    let mut settings = Vec::new();
    if topic.is_ours {
        settings =
            vec![("size", bench.common.size.to_string()), ("compression", compression_name(compression).to_owned())];
    }
    let report = Report {
        bench: "consume",
        topic: topic.name.clone(),
        partitions: topic.partitions.len(),
        settings,
        records,
        failed: 0,
        bytes,
        seconds: 0.0,
        records_per_second: 0.0,
        mib_per_second: 0.0,
        latency_ms: None,
    };
    Ok(report.with_rates(elapsed))
}
