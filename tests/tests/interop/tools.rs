//! Apache Kafka's own command-line tools. Each step is one tool, run as users run it.
//!
//! Holds: what is looked for in their output stands there in the same words when Apache Kafka is the broker (`--kafka`).

use std::io::Write as _;
use std::time::Duration;

use ballast_tests::foreign::java::Java;
use ballast_tests::foreign::{both, run};

use crate::session::{Session, unique};

/// Apache Kafka's tools that are run.
pub(crate) const APACHE_STEPS: &[&str] = &[
    "TopicCommand",
    "ConfigCommand",
    "ConsoleProducer",
    "ConsoleConsumer",
    "ProducerPerformance",
    "ConsumerPerformance",
    "ConsumerGroupCommand",
    "GroupsCommand",
    "GetOffsetShell",
    "DeleteRecordsCommand",
    "LogDirsCommand",
    "LeaderElectionCommand",
    "MetadataQuorumCommand",
    "ClusterTool",
    "FeatureCommand",
    "BrokerApiVersions",
    "VerifiableProducer",
    "VerifiableConsumer",
    "EndToEndLatency",
];

struct Apache<'a> {
    java: &'a Java,
    bootstrap: String,
    topic: String,
    group: String,
    /// More than one also says that nodes come and go.
    replicas: u8,
}

/// How often a tool may be run again while nodes come and go: it may meet a node that is on its way out, or in.
pub(crate) const TRIES_MAX: u32 = 40;
pub(crate) const TRY_PAUSE: Duration = Duration::from_millis(500);

/// Runs Apache Kafka's tools.
pub(crate) fn apache(session: &mut Session<'_>, java: &Java) {
    let topic = unique("tools");
    let (bootstrap, replicas) = (session.bootstrap(), session.replicas());
    let tools = Apache { java, bootstrap, group: format!("{topic}-group"), topic, replicas };
    session.version("4.4.0");
    session.step("TopicCommand", || tools.topics());
    session.step("ConfigCommand", || tools.configs());
    session.step("ConsoleProducer", || tools.console_producer());
    session.step("ConsoleConsumer", || tools.console_consumer());
    session.step("ProducerPerformance", || tools.producer_performance());
    session.step("ConsumerPerformance", || tools.consumer_performance());
    session.step("ConsumerGroupCommand", || tools.consumer_groups());
    session.step("GroupsCommand", || {
        tools.ask("GroupsCommand", &["--list"], &["Classic", "consumer"]);
        String::new()
    });
    session.step("GetOffsetShell", || tools.offsets());
    session.step("DeleteRecordsCommand", || tools.delete_records());
    cluster_tools(session, &tools);
    session.step("VerifiableProducer", || {
        let arguments = ["--topic", &tools.topic, "--max-messages", "20"];
        tools.once("VerifiableProducer", &arguments, &[r#""sent":20,"acked":20"#]);
        String::new()
    });
    session.step("VerifiableConsumer", || {
        let group = format!("{}-verifiable", tools.topic);
        let arguments = ["--topic", &tools.topic, "--group-id", &group, "--max-messages", "10"];
        tools.ask("VerifiableConsumer", &arguments, &["partitions_assigned", "records_consumed", r#""success":true"#]);
        String::new()
    });
    session.step("EndToEndLatency", || {
        // It takes its arguments by position.
        let arguments = [tools.bootstrap.as_str(), &tools.topic, "20", "all", "100"];
        let told = run(&mut tools.java.tool("EndToEndLatency", &arguments));
        assert!(told.contains("Percentiles: 50th"), "{told}");
        String::new()
    });
}

/// The tools that ask about the cluster rather than a topic's records.
fn cluster_tools(session: &mut Session<'_>, tools: &Apache<'_>) {
    session.step("LogDirsCommand", || {
        let wanted = [format!(r#""partition":"{}-0""#, tools.topic), r#""error":null"#.to_owned()];
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        tools.ask("LogDirsCommand", &["--describe", "--topic-list", &tools.topic], &wanted);
        String::new()
    });
    session.step("LeaderElectionCommand", || {
        let one = ["--election-type", "preferred", "--topic", &tools.topic, "--partition", "0"];
        tools.ask("LeaderElectionCommand", &one, &["Valid replica already elected for partitions"]);
        tools.ask("LeaderElectionCommand", &["--election-type", "preferred", "--all-topic-partitions"], &[]);
        String::new()
    });
    session.step("MetadataQuorumCommand", || {
        tools.ask("MetadataQuorumCommand", &["describe", "--status"], &["LeaderId:               ", "CurrentVoters:"]);
        tools.ask("MetadataQuorumCommand", &["describe", "--replication"], &["Leader"]);
        String::new()
    });
    session.step("ClusterTool", || {
        tools.ask("ClusterTool", &["cluster-id"], &["Cluster ID: "]);
        tools.ask("ClusterTool", &["list-endpoints"], &["ENDPOINT_TYPE", "broker"]);
        String::new()
    });
    session.step("FeatureCommand", || {
        tools.ask("FeatureCommand", &["describe"], &["Feature: metadata.version"]);
        String::new()
    });
    session.step("BrokerApiVersions", || {
        tools.ask("BrokerApiVersionsCommand", &[], &["Produce(0): 0 to 13", " rack: null"]);
        String::new()
    });
}

impl Apache<'_> {
    /// Runs a tool and looks for words in what it prints. While nodes come and go it is run until it ends well.
    fn ask(&self, tool: &str, arguments: &[&str], wanted: &[&str]) -> String {
        self.heard(tool, arguments, wanted, "")
    }

    /// The same, where the words `heard` say on a repetition that an earlier run was heard and only its answer was lost.
    fn heard(&self, tool: &str, arguments: &[&str], wanted: &[&str], heard: &str) -> String {
        let mut tries = 1;
        loop {
            let (ended_well, told) = self.run(tool, arguments);
            let missing = wanted.iter().find(|words| !told.contains(**words));
            if ended_well && missing.is_none() || tries > 1 && !heard.is_empty() && told.contains(heard) {
                return told;
            }
            let words = arguments.join(" ");
            let why = missing.filter(|_| ended_well).map_or("it failed".to_owned(), |words| format!("no {words:?}"));
            assert!(self.replicas > 1 && tries < TRIES_MAX, "{tool} {words}: {why} after {tries}: {told}");
            tries += 1;
            std::thread::sleep(TRY_PAUSE);
        }
    }

    /// The same for a tool that writes: it is run once, and its client has to get through by itself.
    fn once(&self, tool: &str, arguments: &[&str], wanted: &[&str]) -> String {
        let (ended_well, told) = self.run(tool, arguments);
        let missing = wanted.iter().find(|words| !told.contains(**words));
        assert!(ended_well && missing.is_none(), "{tool} {}: no {missing:?}: {told}", arguments.join(" "));
        told
    }

    /// Runs a tool to its end: did it end well, and what did it print?
    fn run(&self, tool: &str, arguments: &[&str]) -> (bool, String) {
        // ClusterTool and its like take a word before their options.
        let (words, options) = arguments.split_at(arguments.iter().take_while(|word| !word.starts_with('-')).count());
        let all = match tool {
            "MetadataQuorumCommand" | "FeatureCommand" => {
                [&["--bootstrap-server", &self.bootstrap], arguments].concat()
            }
            _ => [words, &["--bootstrap-server", &self.bootstrap], options].concat(),
        };
        let mut command = self.java.tool(tool, &all);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        // What a tool complains of is of interest when it fails; numbers are read off its output alone.
        if output.status.success() { (true, stdout) } else { (false, both(&output)) }
    }

    fn topics(&self) -> String {
        let topic = ["--topic", self.topic.as_str()];
        let replicas = ["--replication-factor", &self.replicas.to_string()];
        let settings = ["--create", "--partitions", "3", "--config", "retention.ms=3600000"];
        let create = [&settings[..], &replicas, &topic].concat();
        self.heard("TopicCommand", &create, &["Created topic"], "already exists");
        self.ask("TopicCommand", &["--list"], &[&self.topic]);
        let factor = format!("ReplicationFactor: {}", self.replicas);
        let wanted = ["PartitionCount: 3", &factor, "retention.ms=3600000", "Leader: ", "Isr: "];
        self.ask("TopicCommand", &[&["--describe"], &topic[..]].concat(), &wanted);
        let raise = [&["--alter", "--partitions", "4"], &topic[..]].concat();
        self.heard("TopicCommand", &raise, &[], "already has 4 partition");
        self.ask("TopicCommand", &[&["--describe"], &topic[..]].concat(), &["PartitionCount: 4"]);
        let other = format!("{}-other", self.topic);
        self.heard("TopicCommand", &["--create", "--topic", &other], &["Created topic"], "already exists");
        self.heard("TopicCommand", &["--delete", "--topic", &other], &[], "does not exist");
        let left = self.ask("TopicCommand", &["--list"], &[]);
        assert!(!left.lines().any(|line| line == other), "{other} is still there: {left}");
        String::new()
    }

    fn configs(&self) -> String {
        let topic = ["--entity-type", "topics", "--entity-name", self.topic.as_str()];
        let brokers = ["--entity-type", "brokers", "--entity-default"];
        let alter = |entity: &[&str], change: &[&str], wanted: &str| {
            self.ask("ConfigCommand", &[&["--alter"], entity, change].concat(), &[wanted]);
        };
        let describe =
            |entity: &[&str], wanted: &[&str]| self.ask("ConfigCommand", &[&["--describe"], entity].concat(), wanted);
        alter(&topic, &["--add-config", "max.message.bytes=50000"], "Completed updating config for topic");
        describe(&topic, &["max.message.bytes=50000", "DYNAMIC_TOPIC_CONFIG:max.message.bytes=50000"]);
        alter(&topic, &["--delete-config", "max.message.bytes"], "Completed updating config for topic");
        assert!(!describe(&topic, &["retention.ms=3600000"]).contains("max.message.bytes"), "it is still set");
        let changed = "Completed updating default config for brokers in the cluster";
        alter(&brokers, &["--add-config", "log.retention.ms=100000000"], changed);
        describe(&brokers, &["DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=100000000"]);
        alter(&brokers, &["--delete-config", "log.retention.ms"], changed);
        let broker = ["--entity-type", "brokers", "--entity-name", "1", "--all"];
        describe(&broker, &["All configs for broker 1 are", "num.partitions=", "DEFAULT_CONFIG:log.roll.hours=168"]);
        describe(&["--entity-type", "broker-loggers", "--entity-name", "1"], &["Dynamic configs for broker-logger 1"]);
        let group = ["--entity-type", "groups", "--entity-name", &self.group];
        alter(&group, &["--add-config", "consumer.session.timeout.ms=50000"], "Completed updating config for group");
        describe(&group, &["DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000"]);
        alter(&group, &["--delete-config", "consumer.session.timeout.ms"], "Completed updating config for group");
        "topic, broker default, broker, broker-logger, group".to_owned()
    }

    fn console_producer(&self) -> String {
        let mut input = tempfile::NamedTempFile::new().expect("a temporary file");
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            input.as_file().set_len(0).expect("it can be cut");
            let lines: String = (0..10).map(|i| format!("{codec}{i}\t{codec} {i} äöü\n")).collect();
            std::io::Seek::rewind(&mut input).expect("it can be rewound");
            input.write_all(lines.as_bytes()).expect("it can be written");
            let arguments =
                ["--topic", &self.topic, "--reader-property", "parse.key=true", "--compression-codec", codec];
            // By itself it tries three times within 300 ms, which no fail-over is done in.
            let patience: &[&str] = if self.replicas > 1 { &["--message-send-max-retries", "600"] } else { &[] };
            let to = ["--bootstrap-server", self.bootstrap.as_str()];
            let arguments = [&to[..], &arguments[..], patience].concat();
            let output = self.java.with_input("ConsoleProducer", &arguments, input.path());
            let trouble = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !trouble.contains("ERROR"), "{codec}: {trouble}");
        }
        String::new()
    }

    fn console_consumer(&self) -> String {
        let options = ["--topic", &self.topic, "--group", &self.group, "--from-beginning", "--max-messages", "50"];
        let more = ["--timeout-ms", "60000", "--formatter-property", "print.key=true"];
        let told = self.ask("consumer.ConsoleConsumer", &[&options[..], &more[..]].concat(), &[]);
        let mut found: Vec<&str> = told.lines().collect();
        found.sort_unstable();
        if self.replicas > 1 {
            // A group reads again when its coordinator or its member was lost.
            found.dedup();
        }
        let mut wanted: Vec<String> = ["none", "gzip", "snappy", "lz4", "zstd"]
            .iter()
            .flat_map(|codec| (0..10).map(move |i| format!("{codec}{i}\t{codec} {i} äöü")))
            .collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "what the group read");
        String::new()
    }

    fn producer_performance(&self) -> String {
        let arguments =
            ["--topic", &self.topic, "--num-records", "20000", "--record-size", "200", "--throughput", "-1"];
        self.once("ProducerPerformance", &arguments, &["20000 records sent"])
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    }

    fn consumer_performance(&self) -> String {
        let group = format!("{}-perf", self.topic);
        let arguments = ["--topic", &self.topic, "--group", &group, "--num-records", "20050", "--timeout", "60000"];
        let told = self.ask("ConsumerPerformance", &arguments, &["data.consumed.in.nMsg"]);
        let consumed = told.lines().last().and_then(|line| line.split(", ").nth(4)).map(str::to_owned);
        // A group reads again when its coordinator or its member was lost.
        let consumed: u32 = consumed.and_then(|count| count.parse().ok()).unwrap_or_default();
        assert!(consumed == 20_050 || self.replicas > 1 && consumed > 20_050, "{told}");
        String::new()
    }

    fn consumer_groups(&self) -> String {
        let tool = "consumer.group.ConsumerGroupCommand";
        let group = ["--group", self.group.as_str()];
        self.ask(tool, &["--list"], &[&self.group]);
        self.ask(tool, &["--list", "--state"], &["Empty"]);
        self.ask(tool, &[&["--describe"], &group[..]].concat(), &["CURRENT-OFFSET", &self.topic]);
        // Where nodes come and go the coordinator is whoever leads the partition of the group now.
        let coordinator = if self.replicas > 1 { "COORDINATOR (ID)" } else { "(1)" };
        self.ask(tool, &[&["--describe", "--state"], &group[..]].concat(), &["Empty", coordinator]);
        self.ask(tool, &[&["--describe", "--members"], &group[..]].concat(), &["#PARTITIONS"]);
        let topic = ["--topic", self.topic.as_str()];
        let reset = |to: &[&str]| {
            let told = self.ask(tool, &[&["--reset-offsets"], &group[..], &topic[..], to].concat(), &["NEW-OFFSET"]);
            new_offsets(&told)
        };
        assert_eq!(reset(&["--to-earliest", "--dry-run"]), [0, 0, 0, 0], "the plan");
        assert_eq!(reset(&["--to-latest", "--execute"]).iter().sum::<i64>(), 20_050, "the ends");
        assert_eq!(reset(&["--shift-by", "-1", "--execute"]).iter().sum::<i64>(), 20_046, "one back in each partition");
        assert_eq!(reset(&["--to-datetime", "2020-01-01T00:00:00.000", "--execute"]), [0, 0, 0, 0], "by time");
        self.ask(tool, &[&["--delete-offsets"], &group[..], &topic[..]].concat(), &["Successful"]);
        let delete = [&["--delete"], &group[..]].concat();
        self.heard(tool, &delete, &["was successful"], "GroupIdNotFoundException");
        "list, describe, state, members, reset, delete offsets, delete".to_owned()
    }

    fn offsets(&self) -> String {
        let total = |time: &str| {
            let told = self.ask("GetOffsetShell", &["--topic", &self.topic, "--time", time], &[]);
            told.lines().filter_map(|line| line.rsplit(':').next()?.parse::<i64>().ok()).sum::<i64>()
        };
        assert_eq!((total("earliest"), total("latest")), (0, 20_050), "first and last offsets, summed");
        assert!(total("max-timestamp") > 0, "the offset of the newest record");
        String::new()
    }

    fn delete_records(&self) -> String {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        write!(file, r#"{{"partitions":[{{"topic":"{}","partition":0,"offset":2}}],"version":1}}"#, self.topic)
            .expect("it can be written");
        let path = file.path().to_str().expect("temporary paths are UTF-8");
        self.ask("DeleteRecordsCommand", &["--offset-json-file", path], &["low_watermark: 2"]);
        String::new()
    }
}

/// The last column of `--reset-offsets`.
fn new_offsets(told: &str) -> Vec<i64> {
    told.lines().filter_map(|line| line.split_whitespace().nth(3)?.parse().ok()).collect()
}
