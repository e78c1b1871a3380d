//! Apache Kafka's own clients and tools, 4.4.0, against a real broker process.

use std::io::Write as _;

use ballast_tests::foreign::java::Java;
use ballast_tests::process::Serve;

/// A broker and the tools, or nothing if Java is missing.
fn rig(test: &str, settings: &[&str]) -> Option<(Java, Serve)> {
    Some((Java::new(test)?, Serve::start(settings)))
}

fn create(java: &Java, broker: &Serve, topic: &str, partitions: &str, more: &[&str]) {
    let arguments = ["--bootstrap-server", &broker.bootstrap, "--create", "--topic", topic, "--partitions", partitions];
    let output = java.output("TopicCommand", &[&arguments, more].concat());
    assert!(output.contains(&format!("Created topic {topic}.")), "{output}");
}

fn produce(java: &Java, broker: &Serve, topic: &str, lines: &str, properties: &[&str]) {
    let mut input = tempfile::NamedTempFile::new().expect("a temporary file");
    input.write_all(lines.as_bytes()).expect("it can be written");
    let mut arguments = vec!["--bootstrap-server", broker.bootstrap.as_str(), "--topic", topic];
    for property in properties {
        arguments.extend(["--command-property", property]);
    }
    if lines.contains('\t') {
        arguments.extend(["--reader-property", "parse.key=true"]);
    }
    let output = java.with_input("ConsoleProducer", &arguments, input.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("ERROR"), "{}", String::from_utf8_lossy(&output.stderr));
}

fn consume(java: &Java, broker: &Serve, topic: &str, count: usize) -> String {
    let count = count.to_string();
    java.output(
        "consumer.ConsoleConsumer",
        &[
            "--bootstrap-server",
            &broker.bootstrap,
            "--topic",
            topic,
            "--partition",
            "0",
            "--offset",
            "earliest",
            "--max-messages",
            &count,
            "--timeout-ms",
            "30000",
        ],
    )
}

#[test]
fn console_producer_and_consumer_carry_every_codec_across_a_restart() {
    let Some((java, mut broker)) = rig("interop_java: console", &[]) else { return };
    create(&java, &broker, "console", "1", &[]);
    let mut all = String::new();
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let lines: String = (0..20).map(|i| format!("{codec} {i} äöü\n")).collect();
        produce(&java, &broker, "console", &lines, &[&format!("compression.type={codec}")]);
        all.push_str(&lines);
    }
    assert_eq!(consume(&java, &broker, "console", 100), all);
    produce(&java, &broker, "console", "k1\tkeyed\n", &[]);
    assert!(broker.stop().success(), "{}", broker.log());
    broker.restart();
    assert_eq!(consume(&java, &broker, "console", 101), format!("{all}keyed\n"), "after a restart");
}

#[test]
fn topics_are_created_described_altered_and_deleted() {
    let Some((java, broker)) = rig("interop_java: topics", &[]) else { return };
    let at = ["--bootstrap-server", broker.bootstrap.as_str()];
    create(&java, &broker, "orders", "3", &["--config", "retention.ms=60000"]);
    let described = java.output("TopicCommand", &[&at[..], &["--describe", "--topic", "orders"]].concat());
    for words in ["PartitionCount: 3", "ReplicationFactor: 1", "retention.ms=60000", "Leader: 1", "Isr: 1"] {
        assert!(described.contains(words), "no {words:?} in {described}");
    }
    java.output("TopicCommand", &[&at[..], &["--alter", "--topic", "orders", "--partitions", "5"]].concat());
    assert_eq!(java.output("TopicCommand", &[&at[..], &["--list"]].concat()), "orders\n");
    let described = java.output("TopicCommand", &[&at[..], &["--describe", "--topic", "orders"]].concat());
    assert!(described.contains("PartitionCount: 5"), "{described}");
    java.output("TopicCommand", &[&at[..], &["--delete", "--topic", "orders"]].concat());
    assert_eq!(java.output("TopicCommand", &[&at[..], &["--list"]].concat()).trim(), "");
    let again = java.tool("TopicCommand", &[&at[..], &["--delete", "--topic", "orders"]].concat()).output();
    assert!(!again.expect("java runs").status.success(), "deleting what is not there succeeded");
}

#[test]
fn offsets_records_log_dirs_versions_and_features_are_told() {
    let Some((java, broker)) = rig("interop_java: tools", &[]) else { return };
    let at = ["--bootstrap-server", broker.bootstrap.as_str()];
    create(&java, &broker, "tools", "1", &[]);
    produce(&java, &broker, "tools", "a\nb\nc\nd\n", &[]);
    let offsets =
        |time: &str| java.output("GetOffsetShell", &[&at[..], &["--topic", "tools", "--time", time]].concat());
    assert_eq!((offsets("earliest").as_str(), offsets("latest").as_str()), ("tools:0:0\n", "tools:0:4\n"));
    assert!(offsets("max-timestamp").starts_with("tools:0:"), "{}", offsets("max-timestamp"));

    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(br#"{"partitions":[{"topic":"tools","partition":0,"offset":2}],"version":1}"#).expect("written");
    let path = file.path().to_str().expect("a path in UTF-8");
    let deleted = java.output("DeleteRecordsCommand", &[&at[..], &["--offset-json-file", path]].concat());
    assert!(deleted.contains("low_watermark: 2"), "{deleted}");
    assert_eq!(offsets("earliest"), "tools:0:2\n");

    let dirs = java.output("LogDirsCommand", &[&at[..], &["--describe", "--topic-list", "tools"]].concat());
    assert!(dirs.contains(r#""partition":"tools-0""#) && dirs.contains(r#""error":null"#), "{dirs}");
    let versions = java.output("BrokerApiVersionsCommand", &at);
    assert!(versions.contains("Produce(0): 0 to 13") && versions.contains("(id: 1 rack: null"), "{versions}");
    let features = java.output("FeatureCommand", &[&at[..], &["describe"]].concat());
    assert!(features.contains("Feature: metadata.version"), "{features}");
}

#[test]
fn producer_performance_runs_to_its_end() {
    let Some((java, broker)) = rig("interop_java: perf", &[]) else { return };
    create(&java, &broker, "perf", "3", &[]);
    let bootstrap = format!("bootstrap.servers={}", broker.bootstrap);
    let output = java.output(
        "ProducerPerformance",
        &[
            "--topic",
            "perf",
            "--num-records",
            "50000",
            "--record-size",
            "200",
            "--throughput",
            "-1",
            "--producer-props",
            &bootstrap,
            "acks=all",
        ],
    );
    assert!(output.contains("50000 records sent"), "{output}");
    let at = ["--bootstrap-server", broker.bootstrap.as_str(), "--topic", "perf"];
    let offsets = java.output("GetOffsetShell", &at);
    let total: i64 = offsets.lines().filter_map(|line| line.rsplit(':').next()?.parse::<i64>().ok()).sum();
    assert_eq!(total, 50_000, "{offsets}");
}

#[test]
fn apaches_dump_tool_reads_our_data_folder() {
    let Some((java, mut broker)) =
        rig("interop_java: dump", &["log.segment.bytes=1048576", "log.index.interval.bytes=1024"])
    else {
        return;
    };
    create(&java, &broker, "dump", "1", &[]);
    let bootstrap = format!("bootstrap.servers={}", broker.bootstrap);
    java.output(
        "ProducerPerformance",
        &[
            "--topic",
            "dump",
            "--num-records",
            "4000",
            "--record-size",
            "1000",
            "--throughput",
            "-1",
            "--producer-props",
            &bootstrap,
            "batch.size=4096",
        ],
    );
    assert!(broker.stop().success(), "{}", broker.log());
    let folder = broker.data().join("dump-0");
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path().to_str().expect("a path in UTF-8").to_owned())
        .filter(|path| [".log", ".index", ".timeindex", ".snapshot"].iter().any(|end| path.ends_with(end)))
        .collect();
    files.sort();
    assert!(files.len() > 8, "one segment only: {files:?}");
    let output = java.output("DumpLogSegments", &["--files", &files.join(","), "--verify-index-only"]);
    for trouble in ["Found timestamp mismatch", "Found out of order", "Mismatches", "corrupt", "Exception"] {
        assert!(!output.contains(trouble), "{trouble} in {output}");
    }
    let logs = java.output(
        "DumpLogSegments",
        &[
            "--files",
            &files.iter().filter(|f| f.ends_with(".log")).cloned().collect::<Vec<_>>().join(","),
            "--deep-iteration",
        ],
    );
    assert!(logs.contains("lastOffset: 3999"), "{}", &logs[logs.len().saturating_sub(2000)..]);
    assert!(!logs.contains("isvalid: false"), "a batch is not valid");
}
