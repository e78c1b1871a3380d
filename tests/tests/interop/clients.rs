//! The clients: what each is called, what it needs, what it runs, and which steps it must tell.

use std::process::Command;

use ballast_tests::foreign::java::Java;

use crate::install::{Cache, sources, tool};
use crate::session::Scenario;
use crate::{connect, console, kafka_python, native, tools};

/// When a client is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// Always: it installs in seconds.
    Quick,
    /// With `--long`, or by its name: it compiles for minutes.
    Long,
}

/// A client of others.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) set: Set,
    /// Settings of its broker (`key=value`) beside the usual ones.
    pub(crate) settings: &'static [&'static str],
    /// The steps that it must tell.
    pub(crate) steps: &'static [&'static str],
    /// Why it is not run while nodes come and go, if it is not.
    pub(crate) steady: Option<&'static str>,
    /// Steps that it may not come through while nodes come and go, and why: they are run, and count as what it does not have.
    pub(crate) shaky: Option<(&'static [&'static str], &'static str)>,
    /// Installs it. An error says what is missing.
    pub(crate) prepare: fn(&Cache) -> Result<Scenario, String>,
}

/// The scenario that every client runs, step by step (tests/interop/README.md).
pub(crate) const SCENARIO: [&str; 14] = [
    "create",
    "describe",
    "alter-config",
    "produce",
    "assign",
    "group",
    "rebalance",
    "commit",
    "restart",
    "resume",
    "unknown-topic",
    "too-large",
    "out-of-range",
    "delete",
];

/// In the order in which they run.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        // kcat has no admin calls: its topics come with the first question.
        settings: &["auto.create.topics.enable=true", "num.partitions=3"],
        ..common("kcat", |_| {
            tool("kcat")?;
            let mut command = Command::new(tool("bash")?);
            command.arg(sources().join("kcat/scenario.sh"));
            Ok(Scenario::Program(command))
        })
    },
    common("rdkafka (Rust)", |_| Ok(Scenario::Steps(Box::new(native::rdkafka)))),
    common("confluent-kafka (Python)", |cache| python(cache, "confluent", "confluent.py")),
    common("kafka-python", |cache| python(cache, "kafka-python", "kafka_python.py")),
    own("kafka-python admin", kafka_python::STEPS, |cache| {
        let python = cache.python("kafka-python")?;
        Ok(Scenario::Steps(Box::new(move |session| kafka_python::run_tools(session, &python))))
    }),
    common("aiokafka", |cache| python(cache, "aiokafka", "aio.py")),
    common("franz-go", |cache| cache.go("franz").map(Scenario::Program)),
    Client { steps: &SARAMA, ..common("sarama", |cache| cache.go("sarama").map(Scenario::Program)) },
    common("segmentio/kafka-go", |cache| cache.go("segmentio").map(Scenario::Program)),
    Client {
        shaky: Some((
            &["rebalance", "commit", "restart", "resume"],
            "it fetches from no broker while one that it knows is away",
        )),
        ..common("kafkajs", |cache| cache.node("kafkajs", "kafkajs.js").map(Scenario::Program))
    },
    common("kafka-clients (Java)", |cache| {
        let java = Java::found().ok_or("java (17 or later) or mvn is missing")?;
        let classes = cache.classes("clients", java.jars())?;
        Ok(Scenario::Program(java.program(&classes, "Scenario", &[])))
    }),
    own("Apache Kafka tools", tools::APACHE_STEPS, |_| {
        let java = Java::found().ok_or("java (17 or later) or mvn is missing")?;
        Ok(Scenario::Steps(Box::new(move |session| tools::apache(session, &java))))
    }),
    own("Kafka Streams", &["count", "restart", "resume"], |cache| {
        let java = Java::with_pom("streams").ok_or("java (17 or later) or mvn is missing")?;
        let classes = cache.classes("streams", java.jars())?;
        Ok(Scenario::Program(java.program(&classes, "WordCount", &[])))
    }),
    own("Kafka Connect", connect::STEPS, |_| {
        let java = Java::with_pom("connect").ok_or("java (17 or later) or mvn is missing")?;
        Ok(Scenario::Steps(Box::new(move |session| connect::standalone(session, &java))))
    }),
    Client {
        steady: Some("frames on one connection, without a client that looks for leaders and tries again"),
        ..own("web consoles", console::STEPS, |_| Ok(Scenario::Steps(Box::new(console::replay))))
    },
    Client { set: Set::Long, ..own("kaskade", &["list", "describe", "browse"], |c| python(c, "kaskade", "browse.py")) },
    Client { set: Set::Long, ..common("rskafka", |cache| cache.rust("interop-rskafka").map(Scenario::Program)) },
    Client {
        set: Set::Long,
        ..common("node-rdkafka", |cache| cache.node("node-rdkafka", "node_rdkafka.js").map(Scenario::Program))
    },
    Client {
        set: Set::Long,
        ..common("@confluentinc/kafka-javascript", |cache| {
            cache.node("confluent", "confluent.js").map(Scenario::Program)
        })
    },
];

const SARAMA: [&str; SCENARIO.len() + 1] = {
    let mut steps = ["versions"; SCENARIO.len() + 1];
    let mut at = 0;
    while at < SCENARIO.len() {
        steps[at] = SCENARIO[at];
        at += 1;
    }
    steps
};

const fn common(name: &'static str, prepare: fn(&Cache) -> Result<Scenario, String>) -> Client {
    own(name, &SCENARIO, prepare)
}

const fn own(
    name: &'static str,
    steps: &'static [&'static str],
    prepare: fn(&Cache) -> Result<Scenario, String>,
) -> Client {
    Client { name, set: Set::Quick, settings: &[], steps, steady: None, shaky: None, prepare }
}

fn python(cache: &Cache, packages: &str, script: &str) -> Result<Scenario, String> {
    let mut command = Command::new(cache.python(packages)?);
    // No compiled files beside the sources.
    command.arg("-B").arg(sources().join("python").join(script));
    Ok(Scenario::Program(command))
}
