//! `ballast produce`: lines from standard input become records.
//!
//! Lines are gathered into large batches and sent while the next ones are read. An interrupt stops the reading; what was
//! read is delivered.

use std::io::IsTerminal as _;
use std::time::Duration;

use ballast_client::producer::{Acks, NewRecord, Producer, ProducerConfig, compression_from_name};
use ballast_wire::batch::Compression;
use ballast_wire::hash::KeyPartitioner;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::Instant;

use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::{self, Failure};
use crate::output::{bytes, duration, plural, print, print_json, progress};

/// Bytes of a batch, before compression: large, because the lines of a file are there at once.
const BATCH_BYTES: usize = 512 << 10;
/// How long a typed line waits for more.
const LINGER: Duration = Duration::from_millis(20);
/// How long a topic that is not there yet is waited for.
const TOPIC_PATIENCE: Duration = Duration::from_secs(5);
/// The longest line, in bytes. Brokers refuse far shorter ones.
const LINE_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 1 << 20;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  echo hello | ballast produce greetings
  ballast produce orders --key-delimiter : --compression zstd < orders.txt")]
pub(crate) struct ProduceArgs {
    /// The topic to write to.
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    topic: String,
    /// What stands before the first of these is the key, the rest is the value. A line without one has no key.
    #[arg(long, value_name = "C", value_parser = parse_delimiter)]
    key_delimiter: Option<String>,
    /// Write to this partition, whatever the key.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Who must have a record before it counts: 0 nobody, 1 the leader, all the in-sync replicas [default: all].
    #[arg(long, value_name = "A", value_parser = parse_acks)]
    acks: Option<Acks>,
    /// none, gzip, snappy, lz4 or zstd [default: none].
    #[arg(long, value_name = "C", value_parser = parse_compression)]
    compression: Option<Compression>,
    /// Where keys go: murmur2_random (Java), consistent_random (librdkafka), consistent, murmur2, fnv1a, fnv1a_random or
    /// sarama [default: murmur2_random].
    #[arg(long, value_name = "NAME", value_parser = parse_partitioner)]
    partitioner: Option<KeyPartitioner>,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl ProduceArgs {
    fn config(&self) -> Result<ProducerConfig, Failure> {
        let mut config = ProducerConfig {
            batch_bytes: BATCH_BYTES,
            linger: LINGER,
            max_block: TOPIC_PATIENCE,
            ..ProducerConfig::default()
        };
        let properties = self.connect.properties()?;
        self.connect.apply(|properties| config.apply(properties))?;
        if let Some(acks) = self.acks {
            config.acks = acks;
            let asked = properties.contains_key("enable.idempotence");
            config.idempotence &= asked || acks == Acks::All;
        }
        config.compression = self.compression.unwrap_or(config.compression);
        config.partitioner = self.partitioner.unwrap_or(config.partitioner);
        Ok(config)
    }
}

pub(crate) async fn run(args: ProduceArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    cluster.topics(&[&args.topic], true, TOPIC_PATIENCE).await?;
    let mut config = args.config()?;
    // The topic is there; from here on waiting means that the cluster is busy.
    config.max_block = cluster.config().api_timeout.max(config.delivery_timeout);
    let producer = Producer::new(cluster, config)?;
    let started = Instant::now();
    let sent = send_lines(&producer, &args).await;
    let flushed = producer.flush().await;
    let lines = sent?;
    let (written, failed) = producer.counts();
    if let Err(error) = flushed {
        let advised = error::advised(&error);
        return Err(Failure::new(format!("{failed} of {} records were not written: {advised}", written + failed)));
    }
    summary(&args, written, lines.bytes, started.elapsed())
}

/// What was read.
#[derive(Default)]
struct Lines {
    bytes: u64,
}

async fn send_lines(producer: &Producer, args: &ProduceArgs) -> Result<Lines, Failure> {
    let mut input = BufReader::with_capacity(READ_BYTES, tokio::io::stdin());
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let bar = if std::io::stdin().is_terminal() { indicatif::ProgressBar::hidden() } else { progress("writing") };
    let mut lines = Lines::default();
    // The beginning of a line whose end has not been read yet.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let available = tokio::select! {
            biased;
            _ = &mut interrupt => break,
            read = input.fill_buf() => read.map_err(|e| Failure::new(format!("cannot read standard input: {e}")))?,
        };
        if available.is_empty() {
            break;
        }
        let (consumed, mut rest) = (available.len(), available);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if begun.is_empty() {
                send(producer, args, line, &mut lines).await?;
            } else {
                begun.extend_from_slice(line);
                send(producer, args, &std::mem::take(&mut begun), &mut lines).await?;
            }
        }
        if begun.len() + rest.len() > LINE_BYTES_MAX {
            return Err(Failure::new(format!(
                "a line of standard input is longer than {}",
                bytes(LINE_BYTES_MAX as u64)
            )));
        }
        begun.extend_from_slice(rest);
        input.consume(consumed);
        bar.set_position(producer.counts().0);
    }
    if !begun.is_empty() {
        send(producer, args, &begun, &mut lines).await?;
    }
    bar.finish_and_clear();
    Ok(lines)
}

async fn send(producer: &Producer, args: &ProduceArgs, line: &[u8], lines: &mut Lines) -> Result<(), Failure> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (key, value) = args.key_delimiter.as_ref().map_or((None, line), |delimiter| split(line, delimiter.as_bytes()));
    lines.bytes += line.len() as u64;
    let record = NewRecord { key, value: Some(value), partition: args.partition, ..NewRecord::default() };
    producer.send(&args.topic, record).await?;
    Ok(())
}

/// Key and value of a line.
fn split<'a>(line: &'a [u8], delimiter: &[u8]) -> (Option<&'a [u8]>, &'a [u8]) {
    match line.windows(delimiter.len()).position(|window| window == delimiter) {
        Some(at) => (Some(&line[..at]), &line[at + delimiter.len()..]),
        None => (None, line),
    }
}

fn summary(args: &ProduceArgs, records: u64, size: u64, took: Duration) -> Result<(), Failure> {
    if args.connect.json {
        return print_json(&serde_json::json!({
            "topic": args.topic,
            "records": records,
            "bytes": size,
            "seconds": took.as_secs_f64(),
        }));
    }
    let records = plural(records as i64, "record");
    print(&format!("{records} ({}) written to {} in {}", bytes(size), args.topic, duration(took)))
}

fn parse_delimiter(text: &str) -> Result<String, String> {
    match text {
        "" => Err("it must not be empty".to_owned()),
        "\\t" => Ok("\t".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Reads `--acks`.
pub(crate) fn parse_acks(text: &str) -> Result<Acks, String> {
    Acks::from_name(text).ok_or_else(|| "expected 0, 1 or all".to_owned())
}

/// Reads `--compression`.
pub(crate) fn parse_compression(text: &str) -> Result<Compression, String> {
    compression_from_name(text).ok_or_else(|| "expected none, gzip, snappy, lz4 or zstd".to_owned())
}

fn parse_partitioner(text: &str) -> Result<KeyPartitioner, String> {
    KeyPartitioner::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
        let names: Vec<&str> = KeyPartitioner::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_at_its_first_delimiter_only() {
        assert_eq!(split(b"k:v:w", b":"), (Some(&b"k"[..]), &b"v:w"[..]));
        assert_eq!(split(b":v", b":"), (Some(&b""[..]), &b"v"[..]), "an empty key is a key");
        assert_eq!(split(b"value", b":"), (None, &b"value"[..]));
        assert_eq!(split(b"k::v", b"::"), (Some(&b"k"[..]), &b"v"[..]));
        assert_eq!(split(b"", b"::"), (None, &b""[..]));
    }
}
