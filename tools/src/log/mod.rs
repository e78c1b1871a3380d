//! `ballast log`: look into the files of a log directory, without a broker. They are read and never changed.

mod batches;
mod dump;
mod files;
mod indexes;
mod verify;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::error::Failure;

#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: LogCommand,
    /// Print one JSON document instead of text for people.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum LogCommand {
    /// Print what is in a file, or in each file of a partition's folder: segments, indexes, producer snapshots,
    /// checkpoints.
    #[command(after_help = "Examples:
  ballast log dump data/orders-0
  ballast log dump data/orders-0/00000000000000000000.log --records")]
    Dump {
        /// The file or folder.
        path: PathBuf,
        /// Print the records of each batch as well.
        #[arg(long)]
        records: bool,
    },
    /// Check every batch and every index entry of a segment, a partition's folder, or a whole log directory.
    #[command(after_help = "Example:
  ballast log verify data")]
    Verify {
        /// The file or folder.
        path: PathBuf,
    },
}

pub(crate) fn run(args: LogArgs) -> Result<(), Failure> {
    match args.command {
        LogCommand::Dump { path, records } => dump::run(&path, records, args.json),
        LogCommand::Verify { path } => verify::run(&path, args.json),
    }
}
