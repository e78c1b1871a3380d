//! `ballast bench produce`: records as fast as they are taken, or at a rate, and the time until each is acknowledged.
//!
//! Records of one partition are acknowledged in order, so a task for each partition can wait for them one after the other.

use std::time::Duration;

use ballast_client::ClientError;
use ballast_client::producer::{Acks, Delivery, NewRecord, Producer, ProducerConfig, compression_name};
use hdrhistogram::Histogram;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::ProduceBench;
use super::load::{Pace, Values};
use super::report::{Latency, Report, histogram, record};
use super::topic::BenchTopic;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::progress;

const LINGER: Duration = Duration::from_millis(5);
/// Records between two looks at the progress.
const GLANCE: u64 = 1024;

pub(super) async fn run(connect: &ConnectArgs, bench: &ProduceBench) -> Result<Report, Failure> {
    let cluster = connect.cluster()?;
    let config = bench.writing.config(connect, LINGER)?;
    let topic = BenchTopic::open(&cluster, &bench.common).await?;
    let producer = Producer::new(cluster, config.clone())?;
    let measured = measure(&producer, &topic, &config, bench).await;
    topic.close(measured).await
}

async fn measure(
    producer: &Producer,
    topic: &BenchTopic,
    config: &ProducerConfig,
    bench: &ProduceBench,
) -> Result<Report, Failure> {
    let mut turns = Turns::new(topic, config.batch_bytes / bench.common.size.max(1));
    let mut values = Values::new(bench.common.size);
    warm_up(producer, topic, values.next()).await?;
    let bar = progress("writing");
    let pace = Pace::start(bench.rate, bench.count, bench.seconds);
    let mut sent = 0;
    while let Some(due) = pace.due(sent).await {
        let (partition, waiting) = turns.next();
        let new = NewRecord { value: Some(values.next()), partition: Some(partition), ..NewRecord::default() };
        let delivery = producer.send(&topic.name, new).await?;
        // Its reader ends only after we do.
        let _ = waiting.send((delivery, due));
        sent += 1;
        if sent % GLANCE == 0 {
            bar.set_position(sent);
        }
    }
    // What failed is counted record by record.
    let _ = producer.flush().await;
    let elapsed = pace.started.elapsed();
    bar.finish_and_clear();
    let outcome = turns.outcome().await;
    if outcome.written() == 0
        && let Some(error) = outcome.error
    {
        return Err(error.into());
    }
    let (records, size) = (outcome.written(), bench.common.size);
    let report = Report {
        bench: "produce",
        topic: topic.name.clone(),
        partitions: topic.partitions.len(),
        settings: settings(config, size, bench.rate),
        records,
        failed: outcome.failed,
        bytes: records * size as u64,
        seconds: 0.0,
        records_per_second: 0.0,
        mib_per_second: 0.0,
        // Nobody acknowledges anything.
        latency_ms: if config.acks == Acks::None { None } else { Latency::of(&outcome.times) },
    };
    Ok(report.with_rates(elapsed))
}

/// How a load was set up, for its report.
pub(super) fn settings(config: &ProducerConfig, size: usize, rate: Option<u64>) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("size", size.to_string()),
        ("acks", config.acks.name().to_owned()),
        ("compression", compression_name(config.compression).to_owned()),
        ("batch-bytes", config.batch_bytes.to_string()),
        ("linger-ms", config.linger.as_millis().to_string()),
    ];
    settings.extend(rate.map(|rate| ("rate", rate.to_string())));
    settings
}

type Waiting = mpsc::UnboundedSender<(Delivery, Instant)>;

/// One partition after the other, a batch each; and who waits for what was sent there. What waits is bounded by
/// `buffer.memory`: beyond it nothing is sent.
struct Turns {
    lanes: Vec<(i32, Waiting)>,
    waiters: JoinSet<Outcome>,
    at: usize,
    turn: usize,
    left: usize,
}

impl Turns {
    fn new(topic: &BenchTopic, turn: usize) -> Turns {
        let mut waiters = JoinSet::new();
        let lanes = topic.partitions.iter().map(|partition| {
            let (sender, receiver) = mpsc::unbounded_channel();
            waiters.spawn(wait(receiver));
            (*partition, sender)
        });
        let lanes = lanes.collect();
        let turn = turn.max(1);
        Turns { lanes, waiters, at: 0, turn, left: turn }
    }

    fn next(&mut self) -> (i32, &Waiting) {
        if self.left == 0 {
            self.at = (self.at + 1) % self.lanes.len();
            self.left = self.turn;
        }
        self.left -= 1;
        let (partition, waiting) = &self.lanes[self.at];
        (*partition, waiting)
    }

    async fn outcome(mut self) -> Outcome {
        self.lanes.clear();
        let mut all = Outcome::new();
        while let Some(one) = self.waiters.join_next().await {
            let one = one.expect("waiting for deliveries does not panic");
            all.times.add(&one.times).expect("all histograms have the same bounds");
            all.failed += one.failed;
            all.error = all.error.or(one.error);
        }
        all
    }
}

/// What became of the records of a partition.
struct Outcome {
    times: Histogram<u64>,
    failed: u64,
    error: Option<ClientError>,
}

impl Outcome {
    fn new() -> Outcome {
        Outcome { times: histogram(), failed: 0, error: None }
    }

    fn written(&self) -> u64 {
        self.times.len()
    }
}

async fn wait(mut sent: mpsc::UnboundedReceiver<(Delivery, Instant)>) -> Outcome {
    let mut outcome = Outcome::new();
    while let Some((delivery, due)) = sent.recv().await {
        match delivery.wait().await {
            Ok(_) => record(&mut outcome.times, due.elapsed()),
            Err(error) => {
                outcome.failed += 1;
                outcome.error.get_or_insert(error);
            }
        }
    }
    outcome
}

/// Writes one record to each partition, so that connections are there when it matters.
pub(super) async fn warm_up(producer: &Producer, topic: &BenchTopic, value: &[u8]) -> Result<(), ClientError> {
    for partition in &topic.partitions {
        let new = NewRecord { value: Some(value), partition: Some(*partition), ..NewRecord::default() };
        producer.send(&topic.name, new).await?;
    }
    producer.flush().await
}

/// Writes `count` records that nobody measures.
pub(super) async fn fill(producer: &Producer, topic: &str, size: usize, count: u64) -> Result<(), ClientError> {
    let mut values = Values::new(size);
    for _ in 0..count {
        let new = NewRecord { value: Some(values.next()), ..NewRecord::default() };
        producer.send(topic, new).await?;
    }
    producer.flush().await
}
