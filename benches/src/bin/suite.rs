//! `ballast-bench-suite`: the measurements of docs/PERFORMANCE.md, each a subcommand. Build it with `--release`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ballast_benches::broker::{Ballast, Kafka, Node, Software};
use ballast_benches::client::{Client, Topic};
use ballast_benches::limits::{self, Limit};
use ballast_benches::load::{self, Cpu, Fetch, Pace, Produce, Span, Target};
use ballast_benches::process::Footprint;
use ballast_benches::runs::case::{Case, PRODUCE_WINDOW};
use ballast_benches::runs::{cluster, embedded, partitions, side_by_side, startup};
use ballast_benches::{Failure, records};
use clap::{Args, Parser, Subcommand, ValueEnum};

const MIB: u64 = 1 << 20;

#[derive(Debug, Parser)]
#[command(about = "Measures Ballast: against the limits of this machine, and beside Apache Kafka.")]
struct Suite {
    /// Folder for the brokers' data: on the disk that shall be measured, with some GiB free [default: a folder beside the
    /// program].
    #[arg(long, global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The `ballast` to measure [default: this checkout's release build].
    #[arg(long, global = true, value_name = "PROGRAM")]
    ballast: Option<PathBuf>,
    /// A setting for the Ballast that is measured, with Kafka's name; may be given more than once.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The least programs that could do the job, at three sizes.
    Limits(LimitsArguments),
    /// Load on one broker, which may be any.
    Load(LoadArguments),
    /// Ballast and Apache Kafka in turns, the limits between them.
    SideBySide(SideArguments),
    /// From spawn to the first acknowledged record, restarts, idle memory.
    Startup(StartupArguments),
    /// Thousands of partitions: made, written, restarted, recovered.
    Partitions(PartitionsArguments),
    /// Three nodes, beside three of Apache Kafka in turns: replication, fail-over, catching up, thousands of partitions.
    Cluster(ClusterArguments),
}

#[derive(Debug, Args)]
struct LimitsArguments {
    /// Rounds over all limits.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each window.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Produce,
    Fetch,
}

#[derive(Debug, Args)]
struct LoadArguments {
    /// What to do. A fetch first fills its topic.
    #[arg(value_enum)]
    what: What,
    /// A broker that runs already; without it, a Ballast or (`--kafka`) a Kafka is started.
    #[arg(short, long, value_name = "HOST:PORT")]
    bootstrap_server: Option<String>,
    /// Process of that broker, for its CPU time and memory.
    #[arg(long)]
    pid: Option<u32>,
    /// Starts Apache Kafka.
    #[arg(long)]
    kafka: bool,
    /// Connections.
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// Partitions of the topic.
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    /// Largest batch (produce) or answer (fetch), in bytes.
    #[arg(long, default_value_t = 16 << 10)]
    bytes: usize,
    /// Produce: 1 or -1.
    #[arg(long, default_value_t = -1, allow_hyphen_values = true)]
    acks: i16,
    /// Requests in flight on each connection [default: 5 for produce; a fetch has one].
    #[arg(long)]
    window: Option<usize>,
    /// Requests a second over all connections, at even intervals; latency then counts from when each was due.
    #[arg(long)]
    rate: Option<f64>,
    /// Topic configs.
    #[arg(long, value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Windows.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of a window.
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// A window also ends after so many MiB.
    #[arg(long, default_value_t = 1536)]
    mib_max: u64,
}

#[derive(Debug, Args)]
struct SideArguments {
    /// Pairs of windows for each workload.
    #[arg(long, default_value_t = 15)]
    pairs: usize,
    /// Seconds of a window.
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// A window also ends after so many MiB.
    #[arg(long, default_value_t = 1536)]
    mib_max: u64,
    /// Seconds that Kafka is driven before anything counts.
    #[arg(long, default_value_t = 60.0)]
    warm_seconds: f64,
    /// The limit is measured before every so many pairs.
    #[arg(long, default_value_t = 5)]
    pairs_per_limit: usize,
    /// Only workloads whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Without a peer.
    #[arg(long)]
    alone: bool,
    /// Another build of Ballast as the peer, instead of Apache Kafka.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Writes every window to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct StartupArguments {
    /// Starts on an empty folder.
    #[arg(long, default_value_t = 20)]
    spawns: usize,
    /// Seconds without work before memory is read.
    #[arg(long, default_value_t = 30.0)]
    idle_seconds: f64,
    /// Without Apache Kafka.
    #[arg(long)]
    alone: bool,
    /// Brokers inside this process, as a test starts them, and nothing else.
    #[arg(long)]
    embedded: bool,
}

#[derive(Debug, Args)]
struct PartitionsArguments {
    /// Topics.
    #[arg(long, default_value_t = 1_000)]
    topics: usize,
    /// Partitions of each.
    #[arg(long, default_value_t = 10)]
    partitions: i32,
    /// KiB in each partition when the broker is killed.
    #[arg(long, default_value_t = 100)]
    unflushed_kib: usize,
    /// Apache Kafka instead of Ballast.
    #[arg(long)]
    kafka: bool,
}

#[derive(Debug, Args)]
struct ClusterArguments {
    /// Only these measurements [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<cluster::Bench>,
    /// Without Apache Kafka.
    #[arg(long)]
    alone: bool,
    /// P4 and L3: pairs of windows for each load.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// P4: seconds of a window.
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// L3: seconds of a window, which must hold thousands of records.
    #[arg(long, default_value_t = 20.0)]
    latency_seconds: f64,
    /// P4: a window also ends after so many MiB; there are three copies of each.
    #[arg(long, default_value_t = 512)]
    mib_max: u64,
    /// P4, L3 and R1: seconds that Kafka is driven before anything counts.
    #[arg(long, default_value_t = 60.0)]
    warm_seconds: f64,
    /// S5: kills with the active controller elsewhere, and as many with it on the killed node.
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// R1: MiB that are written while the follower is away.
    #[arg(long, default_value_t = 2048)]
    backlog_mib: u64,
    /// R1: how often it is away.
    #[arg(long, default_value_t = 3)]
    absences: usize,
    /// A1: topics.
    #[arg(long, default_value_t = 1_000)]
    topics: usize,
    /// A1: partitions of each.
    #[arg(long, default_value_t = 10)]
    partitions: i32,
    /// Writes all values to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let suite = Suite::parse();
    match run(&suite) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(suite: &Suite) -> Result<(), Failure> {
    let root = root(suite.dir.as_deref())?;
    match &suite.command {
        Command::Limits(arguments) => run_limits(arguments, &root),
        Command::Load(arguments) => run_load(suite, arguments, &root),
        Command::SideBySide(arguments) => run_side_by_side(suite, arguments, &root),
        Command::Startup(arguments) if arguments.embedded => embedded::run(arguments.spawns),
        Command::Startup(arguments) => {
            let plan = startup::Plan { spawns: arguments.spawns, idle_seconds: arguments.idle_seconds };
            let kafka = if arguments.alone { None } else { kafka()? };
            let software: Vec<Software> = [Some(ours(suite)?), kafka].into_iter().flatten().collect();
            startup::run(&software, &root, &plan)
        }
        Command::Cluster(arguments) => run_cluster(suite, arguments, &root),
        Command::Partitions(arguments) => {
            let PartitionsArguments { topics, partitions, unflushed_kib, .. } = *arguments;
            let software = if arguments.kafka { must_have(kafka()?)? } else { ours(suite)? };
            partitions::run(&software, &root, &partitions::Plan { topics, partitions, unflushed_kib })
        }
    }
}

fn run_limits(arguments: &LimitsArguments, root: &Path) -> Result<(), Failure> {
    let warm = Span { seconds: 0.3, bytes: 64 * MIB };
    let span = Span { seconds: arguments.seconds, bytes: 1536 * MIB };
    for _ in 0..arguments.rounds {
        for batch_bytes in [16 << 10, 64 << 10, 1 << 20] {
            let outcome = limits::run(Limit::Append { batch_bytes }, root, PRODUCE_WINDOW, warm, span)?;
            println!("least broker {:>5} KiB   {}", batch_bytes >> 10, outcome.line());
        }
        for chunk_bytes in [64 << 10, 1 << 20] {
            let outcome = limits::run(Limit::Sendfile { chunk_bytes }, root, 1, warm, span)?;
            println!("sendfile     {:>5} KiB   {}", chunk_bytes >> 10, outcome.line());
        }
    }
    Ok(())
}

fn run_load(suite: &Suite, arguments: &LoadArguments, root: &Path) -> Result<(), Failure> {
    let (_node, target) = match &arguments.bootstrap_server {
        Some(bootstrap) => (None, Target::one(bootstrap.clone(), arguments.pid.map(Cpu::Process))),
        None => {
            let software = if arguments.kafka { must_have(kafka()?)? } else { ours(suite)? };
            let node = Node::started(&software, root, &[])?;
            let target = node.target()?;
            (Some(node), target)
        }
    };
    let topic = Topic::unique("load", arguments.partitions);
    let mut client = Client::connect(&target.brokers[0])?;
    client.create_topics(std::slice::from_ref(&topic), &configs(&arguments.config)?)?;
    client.await_serving(std::slice::from_ref(&topic), 60)?;
    let run = Span { seconds: arguments.seconds, bytes: arguments.mib_max * MIB };
    let pace = Pace {
        connections: arguments.connections,
        window: arguments.window.unwrap_or(PRODUCE_WINDOW),
        rate_per_second: arguments.rate,
        warm: Span { seconds: 1.0, bytes: 256 * MIB },
        run,
    };
    let connections = arguments.connections;
    if arguments.what == What::Fetch {
        let batch = records::batch(16 << 10, records::wall_ms()).bytes;
        let fill = Span { seconds: 300.0, bytes: 512 * MIB };
        let none = Span { seconds: 0.0, bytes: 0 };
        let pace = Pace { connections: 1, rate_per_second: None, warm: none, run: fill, ..pace };
        load::run(&target, &pace, &mut Produce::new(&topic, &batch, -1, 1))?;
    }
    for _ in 0..arguments.rounds {
        let outcome = match arguments.what {
            What::Produce => {
                let batch = records::batch(arguments.bytes, records::wall_ms()).bytes;
                load::run(&target, &pace, &mut Produce::new(&topic, &batch, arguments.acks, connections))?
            }
            What::Fetch => {
                let pace = Pace { window: 1, ..pace };
                load::run(&target, &pace, &mut Fetch::new(&topic, arguments.bytes as i32, connections))?
            }
        };
        println!("{}", outcome.line());
        rustix::fs::sync();
    }
    if let [Cpu::Process(pid)] = target.cpu[..] {
        println!("{:?}", Footprint::of(pid)?);
    }
    client.delete_topics(&[topic])
}

fn run_side_by_side(suite: &Suite, arguments: &SideArguments, root: &Path) -> Result<(), Failure> {
    let wanted = |case: &Case| arguments.only.as_ref().is_none_or(|only| case.name().contains(only));
    let cases: Vec<Case> = Case::ALL.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(Failure::new("no workload has such a name"));
    }
    let plan = side_by_side::Plan {
        pairs: arguments.pairs,
        pairs_per_limit: arguments.pairs_per_limit.max(1),
        warm: Span { seconds: 1.0, bytes: 256 * MIB },
        window: Span { seconds: arguments.seconds, bytes: arguments.mib_max * MIB },
        peer_warm_seconds: arguments.warm_seconds,
    };
    let peer = match &arguments.against {
        _ if arguments.alone => None,
        Some(program) => Some(Software::Ballast(Ballast::find(Some(program), &[])?)),
        None => kafka()?,
    };
    side_by_side::run(&ours(suite)?, peer.as_ref(), root, &cases, &plan, arguments.csv.as_deref())
}

fn run_cluster(suite: &Suite, arguments: &ClusterArguments, root: &Path) -> Result<(), Failure> {
    let all = cluster::Bench::value_variants();
    let plan = cluster::Plan {
        benches: if arguments.only.is_empty() { all.to_vec() } else { arguments.only.clone() },
        pairs: arguments.pairs,
        seconds: arguments.seconds,
        latency_seconds: arguments.latency_seconds,
        window_bytes_max: arguments.mib_max * MIB,
        peer_warm_seconds: arguments.warm_seconds,
        kills: arguments.kills,
        backlog_bytes: arguments.backlog_mib * MIB,
        absences: arguments.absences,
        topics: arguments.topics,
        partitions: arguments.partitions,
    };
    let peer = if arguments.alone { None } else { kafka()? };
    cluster::run(&ours(suite)?, peer.as_ref(), root, &plan, arguments.json.as_deref())
}

fn configs(pairs: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let split =
        |pair: &'_ String| pair.split_once('=').map(|_| ()).ok_or_else(|| Failure::new(format!("{pair}: no =")));
    pairs.iter().try_for_each(split)?;
    Ok(pairs.iter().filter_map(|pair| pair.split_once('=')).collect())
}

fn ours(suite: &Suite) -> Result<Software, Failure> {
    Ballast::find(suite.ballast.as_deref(), &suite.set).map(Software::Ballast)
}

fn kafka() -> Result<Option<Software>, Failure> {
    Ok(Kafka::find().map_err(Failure::new)?.map(Software::Kafka))
}

fn must_have(software: Option<Software>) -> Result<Software, Failure> {
    software.ok_or_else(|| Failure::new("Apache Kafka needs java and mvn on the search path"))
}

fn root(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(folder) = given {
        return Ok(folder.to_owned());
    }
    let program = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    let folder = program.with_file_name("bench-data");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}
