//! `ballast bench`: how fast a cluster takes records, gives them back, and how long one is on its way.
//!
//! The load comes from this process, over the same client as `produce` and `consume`; when one of its cores is at its limit,
//! that is what has been measured. Latency counts from the time at which a record was due, not from when there was room for
//! it: a cluster that stalls does not hide it by taking fewer records.
//!
//! Read next: `load` (what is sent and when), `produce`, `consume`, `end_to_end`, `report`.

mod consume;
mod end_to_end;
mod load;
mod produce;
mod report;
mod topic;

use std::time::Duration;

use ballast_client::producer::{Acks, ProducerConfig};
use ballast_wire::batch::Compression;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::produce::{parse_acks, parse_compression};

/// Bytes of a batch: large, because records are there at once.
const BATCH_BYTES: usize = 64 << 10;

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand, Debug)]
enum BenchCommand {
    /// Write records and measure throughput and the time to acknowledgement.
    #[command(after_help = "Examples:
  ballast bench produce
  ballast bench produce --seconds 30 --size 100 --compression lz4
  ballast bench produce --rate 10000 --acks 1 --topic orders")]
    Produce(ProduceBench),
    /// Read records as fast as they come.
    #[command(after_help = "Examples:
  ballast bench consume
  ballast bench consume --topic orders --count 1000000")]
    Consume(ConsumeBench),
    /// Write and read at a steady rate and measure how long a record is on its way.
    #[command(after_help = "Examples:
  ballast bench end-to-end
  ballast bench end-to-end --rate 20000 --seconds 60 --json")]
    EndToEnd(EndToEndBench),
}

/// What every bench takes.
#[derive(Args, Debug)]
struct Common {
    /// Use this topic, and leave it; without it one is made and deleted afterwards.
    #[arg(long, value_name = "TOPIC", add = ArgValueCompleter::new(complete::topics))]
    topic: Option<String>,
    /// How many partitions a topic gets that is made.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: i32,
    /// How many replicas each gets; the cluster's default without it.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(i16).range(1..))]
    replication_factor: Option<i16>,
    /// Bytes of a record's value.
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = parse_size)]
    size: usize,
}

/// How records are written.
#[derive(Args, Debug)]
struct Writing {
    /// Who must have a record before it counts: 0 nobody, 1 the leader, all the in-sync replicas [default: all].
    #[arg(long, value_name = "A", value_parser = parse_acks)]
    acks: Option<Acks>,
    /// none, gzip, snappy, lz4 or zstd [default: none].
    #[arg(long, value_name = "C", value_parser = parse_compression)]
    compression: Option<Compression>,
    /// Bytes at which a batch is closed [default: 65536].
    #[arg(long, value_name = "BYTES")]
    batch_bytes: Option<usize>,
    /// How long a batch waits for company, in ms [default: 5; 0 for end-to-end].
    #[arg(long, value_name = "MS")]
    linger_ms: Option<u64>,
}

#[derive(Args, Debug)]
struct ProduceBench {
    /// Stop after this many records.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this many seconds [default: 10, if there is no --count].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Records a second; as fast as they are taken without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    writing: Writing,
}

#[derive(Args, Debug)]
struct ConsumeBench {
    /// Stop after this many records; a topic that is made gets as many [default: 256 MiB of them].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// none, gzip, snappy, lz4 or zstd, for a topic that is made [default: none].
    #[arg(long, value_name = "C", value_parser = parse_compression)]
    compression: Option<Compression>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct EndToEndBench {
    /// Stop after this many records.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this many seconds [default: 10, if there is no --count].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Records a second.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    writing: Writing,
}

impl Writing {
    /// The file's properties, and the options over them.
    fn config(&self, connect: &ConnectArgs, linger: Duration) -> Result<ProducerConfig, Failure> {
        let properties = connect.properties()?;
        let mut config = ProducerConfig { batch_bytes: BATCH_BYTES, linger, ..ProducerConfig::default() };
        connect.apply(|properties| config.apply(properties))?;
        if let Some(acks) = self.acks {
            config.acks = acks;
            config.idempotence &= properties.contains_key("enable.idempotence") || acks == Acks::All;
        }
        config.compression = self.compression.unwrap_or(config.compression);
        config.batch_bytes = self.batch_bytes.unwrap_or(config.batch_bytes);
        config.linger = self.linger_ms.map_or(config.linger, Duration::from_millis);
        config.create_topics = false;
        config.check()?;
        Ok(config)
    }
}

pub(crate) async fn run(args: BenchArgs) -> Result<(), Failure> {
    let report = match &args.command {
        BenchCommand::Produce(bench) => produce::run(&args.connect, bench).await?,
        BenchCommand::Consume(bench) => consume::run(&args.connect, bench).await?,
        BenchCommand::EndToEnd(bench) => end_to_end::run(&args.connect, bench).await?,
    };
    report.print(args.connect.json)
}

fn parse_size(text: &str) -> Result<usize, String> {
    /// A record of the end-to-end bench carries a time.
    const SIZE_MIN: usize = 8;
    const SIZE_MAX: usize = 64 << 20;
    match text.parse() {
        Ok(size) if (SIZE_MIN..=SIZE_MAX).contains(&size) => Ok(size),
        _ => Err(format!("expected a number of bytes, {SIZE_MIN} to {SIZE_MAX}")),
    }
}
