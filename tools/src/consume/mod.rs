//! `ballast consume`: prints records as they come, by partition assignment.
//!
//! Partitions that a topic gets later are not read. An interrupt ends the command as if all had been read.

mod format;
mod start;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use ballast_client::consumer::{Consumer, ConsumerConfig, OffsetReset, StartAt};
use clap::Args;

use crate::connect::ConnectArgs;
use crate::error::Failure;
use format::Format;

const WRITE_BYTES: usize = 256 << 10;
/// How long one poll waits; an interrupt is noticed at once all the same.
const POLL: Duration = Duration::from_secs(1);
/// Of one partition in one answer, in bytes: more than Kafka's default, because whole topics are read.
const PARTITION_BYTES_MAX: i32 = 8 << 20;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ballast consume orders
  ballast consume orders --from @-1h --format '%T %p@%o %k %v\\n'
  ballast consume orders --from beginning --until-end --json > orders.json")]
pub(crate) struct ConsumeArgs {
    /// The topic to read.
    topic: String,
    /// Where to begin: beginning, end, an OFFSET, or @TIME (ms since 1970, 2026-11-29T22:00Z, or -1h for an hour ago).
    #[arg(long, value_name = "WHERE", default_value = "end", value_parser = start::parse, allow_hyphen_values = true)]
    from: StartAt,
    /// Read this partition only.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Stop after this many records.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Stop at the end of what there is, instead of waiting for more.
    #[arg(long)]
    until_end: bool,
    /// How to print a record: value, key-value, json (one object a line), or a pattern of %k key, %v value, %h headers,
    /// %t topic, %p partition, %o offset, %T timestamp in ms, %% and \n, \t.
    #[arg(long, value_name = "F", default_value = "value", value_parser = Format::parse)]
    format: Format,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(crate) async fn run(args: ConsumeArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let mut config = ConsumerConfig { partition_bytes_max: PARTITION_BYTES_MAX, ..ConsumerConfig::default() };
    // An offset that was asked for and is not there is a failure; falling behind a log that is being deleted is not.
    config.offset_reset =
        if matches!(args.from, StartAt::Offset(_)) { OffsetReset::None } else { OffsetReset::Earliest };
    config.apply(&args.connect.properties()?)?;

    let metadata = cluster.topics(&[&args.topic], false, Duration::ZERO).await?;
    let partitions: Vec<i32> = match args.partition {
        Some(partition) => vec![partition],
        None => metadata.topics[&args.topic].partitions.keys().copied().collect(),
    };
    let assignment: Vec<(&str, i32, StartAt)> =
        partitions.iter().map(|partition| (args.topic.as_str(), *partition, args.from)).collect();
    let mut consumer = Consumer::new(cluster, config);
    consumer.assign(&assignment).await?;

    let mut printer = Printer::new(&args, BufWriter::with_capacity(WRITE_BYTES, io::stdout().lock()));
    printer.begin()?;
    let result = read(&args, &mut consumer, &mut printer).await;
    // Also after a failure: what was printed so far shall be a whole document.
    printer.end()?;
    result
}

async fn read<W: Write>(
    args: &ConsumeArgs,
    consumer: &mut Consumer,
    printer: &mut Printer<'_, W>,
) -> Result<(), Failure> {
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        if printer.is_done() || (args.until_end && consumer.is_at_end()) {
            return Ok(());
        }
        let fetched = tokio::select! {
            biased;
            _ = &mut interrupt => return Ok(()),
            fetched = consumer.poll(POLL) => fetched?,
        };
        for part in &fetched {
            for record in &part.records {
                if printer.is_done() {
                    return Ok(());
                }
                printer.record(&part.topic, part.partition, record)?;
            }
        }
        printer.flush()?;
    }
}

/// Writes records in the chosen form, up to the wanted count.
struct Printer<'a, W> {
    out: W,
    format: &'a Format,
    /// One document around all records.
    document: bool,
    printed: u64,
    count: Option<u64>,
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(args: &'a ConsumeArgs, out: W) -> Printer<'a, W> {
        let document = args.connect.json;
        let format = if document { &Format::Json } else { &args.format };
        Printer { out, format, document, printed: 0, count: args.count }
    }

    fn is_done(&self) -> bool {
        self.count.is_some_and(|count| self.printed >= count)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if self.document {
            self.out.write_all(b"{\"records\":[")?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        topic: &str,
        partition: i32,
        record: &ballast_client::consumer::Record,
    ) -> Result<(), Failure> {
        if self.document && self.printed > 0 {
            self.out.write_all(b",")?;
        }
        self.printed += 1;
        Ok(self.format.write(&mut self.out, topic, partition, record)?)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    fn end(&mut self) -> Result<(), Failure> {
        if self.document {
            self.out.write_all(b"]}\n")?;
        }
        self.flush()
    }
}
