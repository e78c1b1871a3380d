//! `ballast bench end-to-end`: every record carries the time at which it was due; the reader sees how long ago that was.
//! Both ends are this process, so no two clocks are compared.

use std::time::Duration;

use ballast_client::Cluster;
use ballast_client::consumer::{Consumer, ConsumerConfig, StartAt};
use ballast_client::producer::{NewRecord, Producer, ProducerConfig};
use hdrhistogram::Histogram;
use tokio::time::{Instant, timeout};

use super::EndToEndBench;
use super::load::{Pace, Values};
use super::produce::{settings, warm_up};
use super::report::{Latency, Report, histogram, record};
use super::topic::BenchTopic;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::progress;

const LINGER: Duration = Duration::ZERO;
const POLL: Duration = Duration::from_millis(200);
/// How long the last records may be on their way.
const LAST_MAX: Duration = Duration::from_secs(30);
/// The time that a record carries: ns since the start.
const STAMP_BYTES: usize = 8;
/// In place of a time: a record that is not measured.
const NO_STAMP: [u8; STAMP_BYTES] = [0xff; STAMP_BYTES];

pub(super) async fn run(connect: &ConnectArgs, bench: &EndToEndBench) -> Result<Report, Failure> {
    let cluster = connect.cluster()?;
    let config = bench.writing.config(connect, LINGER)?;
    let topic = BenchTopic::open(&cluster, &bench.common).await?;
    let measured = measure(connect, &cluster, &topic, &config, bench).await;
    topic.close(measured).await
}

async fn measure(
    connect: &ConnectArgs,
    cluster: &Cluster,
    topic: &BenchTopic,
    config: &ProducerConfig,
    bench: &EndToEndBench,
) -> Result<Report, Failure> {
    let mut reading = ConsumerConfig::default();
    connect.apply(|properties| reading.apply(properties))?;
    let mut consumer = Consumer::new(cluster.clone(), reading);
    let partitions: Vec<_> = topic.partitions.iter().map(|at| (topic.name.as_str(), *at, StartAt::End)).collect();
    consumer.assign(&partitions).await?;
    // Connections are made before the first record is due.
    let producer = Producer::new(cluster.clone(), config.clone())?;
    warm_up(&producer, topic, &NO_STAMP).await?;
    consumer.poll(POLL).await?;

    let pace = Pace::start(Some(bench.rate), bench.count, bench.seconds);
    let mut reader = Reader { consumer, started: pace.started, times: histogram(), bytes: 0 };
    let sent = {
        let writing = write(&producer, topic, bench, &pace);
        tokio::pin!(writing);
        loop {
            tokio::select! {
                biased;
                sent = &mut writing => break sent?,
                read = reader.read() => read?,
            }
        }
    };
    producer.flush().await?;
    let all = async {
        while reader.times.len() < sent {
            reader.read().await?;
        }
        Ok::<(), Failure>(())
    };
    let arrived = timeout(LAST_MAX, all).await;
    let elapsed = pace.started.elapsed();
    let records = reader.times.len();
    match arrived {
        Ok(result) => result?,
        Err(_) => {
            let missing = sent.saturating_sub(records);
            return Err(Failure::new(format!("{missing} of {sent} records did not come back within {LAST_MAX:?}")));
        }
    }
    let report = Report {
        bench: "end-to-end",
        topic: topic.name.clone(),
        partitions: topic.partitions.len(),
        settings: settings(config, bench.common.size, Some(bench.rate)),
        records,
        failed: 0,
        bytes: reader.bytes,
        seconds: 0.0,
        records_per_second: 0.0,
        mib_per_second: 0.0,
        latency_ms: Latency::of(&reader.times),
    };
    Ok(report.with_rates(elapsed))
}

/// Gives how many records were sent.
async fn write(producer: &Producer, topic: &BenchTopic, bench: &EndToEndBench, pace: &Pace) -> Result<u64, Failure> {
    let mut values = Values::new(bench.common.size);
    let mut value = vec![0; bench.common.size];
    let bar = progress("on the way");
    let mut sent = 0;
    while let Some(due) = pace.due(sent).await {
        value.copy_from_slice(values.next());
        let stamp = u64::try_from(due.duration_since(pace.started).as_nanos()).unwrap_or(u64::MAX);
        value[..STAMP_BYTES].copy_from_slice(&stamp.to_be_bytes());
        let partition = topic.partitions[(sent % topic.partitions.len() as u64) as usize];
        let new = NewRecord { value: Some(&value), partition: Some(partition), ..NewRecord::default() };
        producer.send(&topic.name, new).await?;
        sent += 1;
        bar.set_position(sent);
    }
    bar.finish_and_clear();
    Ok(sent)
}

struct Reader {
    consumer: Consumer,
    started: Instant,
    times: Histogram<u64>,
    bytes: u64,
}

impl Reader {
    /// Takes what has come. May be dropped while it waits.
    async fn read(&mut self) -> Result<(), Failure> {
        let fetched = self.consumer.poll(POLL).await?;
        let now = self.started.elapsed();
        for one in fetched.iter().flat_map(|part| &part.records) {
            let Some(value) = &one.value else { continue };
            // On a topic of the user's others may write as well.
            let Some(stamp) = value.first_chunk::<STAMP_BYTES>().filter(|stamp| **stamp != NO_STAMP) else { continue };
            record(&mut self.times, now.saturating_sub(Duration::from_nanos(u64::from_be_bytes(*stamp))));
            self.bytes += value.len() as u64;
        }
        Ok(())
    }
}
