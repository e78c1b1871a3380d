//! `ballast consume`: prints records as they come, of partitions that it is told, or as a member of a group.
//!
//! Partitions that a topic gets later are read in a group alone. An interrupt ends the command as if all had been read; in a
//! group, exactly the records that were printed are committed.
//!
//! Read next: `source` (where records come from), `printer` (where they go), `format`.

mod format;
mod printer;
mod source;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use ballast_client::consumer::{Fetched, StartAt};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::{signal, start};
use format::Format;
use printer::Printer;
use source::Source;

const WRITE_BYTES: usize = 256 << 10;
/// How long one poll waits; an interrupt is noticed at once all the same.
const POLL: Duration = Duration::from_secs(1);
/// Of one partition in one answer, in bytes: more than Kafka's default, because whole topics are read.
pub(crate) const PARTITION_BYTES_MAX: i32 = 8 << 20;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ballast consume orders
  ballast consume orders --from @-1h --format '%T %p@%o %k %v\\n'
  ballast consume orders --from beginning --until-end --json > orders.json
  ballast consume orders --group billing --from beginning")]
pub(crate) struct ConsumeArgs {
    /// The topic to read.
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    topic: String,
    /// Where to begin: beginning, end, an OFFSET, or @TIME (ms since 1970, 2026-11-29T22:00Z, or -1h for an hour ago)
    /// [default: end]. With --group: beginning or end, where the group has committed nothing.
    #[arg(long, value_name = "WHERE", value_parser = start::parse, allow_hyphen_values = true)]
    from: Option<StartAt>,
    /// Share the topic with the other members of this group, go on where it has come to, and commit what is printed.
    #[arg(long, value_name = "G", conflicts_with = "partition", add = ArgValueCompleter::new(complete::groups))]
    group: Option<String>,
    /// Read this partition only.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Stop after this many records.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Pass over records of aborted transactions, and wait for those that are open.
    #[arg(long)]
    read_committed: bool,
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
    let mut source = Source::open(&args).await?;
    let mut printer = Printer::new(&args, BufWriter::with_capacity(WRITE_BYTES, io::stdout().lock()));
    printer.begin()?;
    let read = read(&args, &mut source, &mut printer).await;
    // Also after a failure: what was printed so far shall be a whole document.
    let printed = printer.end();
    let printed_all = read.is_ok() && printed.is_ok();
    let closed = source.close(printed_all).await;
    read.and(printed).and(closed)
}

async fn read<W: Write>(args: &ConsumeArgs, source: &mut Source, printer: &mut Printer<'_, W>) -> Result<(), Failure> {
    let mut stopped = std::pin::pin!(signal::stopped());
    loop {
        if printer.is_done() || (args.until_end && source.is_at_end()) {
            return Ok(());
        }
        let fetched = tokio::select! {
            biased;
            () = &mut stopped => return Ok(()),
            fetched = source.poll(POLL) => fetched?,
        };
        for part in &fetched {
            print(part, source, printer)?;
        }
        printer.flush()?;
    }
}

fn print<W: Write>(part: &Fetched, source: &mut Source, printer: &mut Printer<'_, W>) -> Result<(), Failure> {
    for record in &part.records {
        if printer.is_done() {
            // Whoever reads on finds it again.
            source.not_read(&part.topic, part.partition, record.offset);
            return Ok(());
        }
        printer.record(&part.topic, part.partition, record)?;
    }
    Ok(())
}
