//! The command line: one subcommand for each noun or verb of the operator's.

use std::future::Future;
use std::io;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::error::Failure;
use crate::{bench, cluster, complete, config, consume, group, log, produce, serve, topic};

/// A Kafka-compatible log broker and its tools.
#[derive(Parser, Debug)]
#[command(name = "ballast", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a broker in the foreground, until SIGTERM or Ctrl-C.
    Serve(serve::Serve),
    /// Create, list, describe, alter and delete topics.
    Topic(topic::TopicArgs),
    /// Read and change the settings of topics, brokers, groups and the cluster.
    Config(config::ConfigArgs),
    /// Write lines from standard input to a topic.
    Produce(produce::ProduceArgs),
    /// Print the records of a topic.
    Consume(consume::ConsumeArgs),
    /// List, describe, reset and delete consumer groups.
    Group(group::GroupArgs),
    /// Describe the cluster, its nodes and its metadata quorum.
    Cluster(cluster::ClusterArgs),
    /// Measure how fast a cluster is.
    Bench(bench::BenchArgs),
    /// Look into the files of a log directory, without a broker.
    Log(log::LogArgs),
    /// Print what makes a shell complete commands, options, topics and groups.
    #[command(after_help = "Example:
  source <(ballast completions bash)")]
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: complete::Shell,
    },
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Topic(args) => block_on(topic::run(args)),
            Command::Config(args) => block_on(config::run(args)),
            Command::Produce(args) => block_on(produce::run(args)),
            Command::Consume(args) => block_on(consume::run(args)),
            Command::Group(args) => block_on(group::run(args)),
            Command::Cluster(args) => block_on(cluster::run(args)),
            Command::Bench(args) => block_on(bench::run(args)),
            Command::Log(args) => log::run(args),
            Command::Completions { shell } => complete::print_script(shell),
        }
    }
}

/// Runs a client command on a runtime of its own. What is amiss but does not stop it is told on stderr (`RUST_LOG`).
fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::new)?;
    let result = runtime.block_on(command);
    // A read of standard input may still be under way; it must not hold the command up.
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
