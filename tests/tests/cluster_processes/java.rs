//! Apache Kafka's own producer and consumer as load (tests/interop/java/programs/Numbers.java): what they said, line by line.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ballast_tests::foreign::java::Java;
use parking_lot::Mutex;
use tempfile::NamedTempFile;

use super::numbers::{Acknowledged, PARTITIONS, Seen, TIMEOUT};

/// Its topic.
pub(super) const TOPIC: &str = "numbers-java";

/// The program at work.
pub(super) struct JavaLoad {
    child: Child,
    /// It writes until this ends.
    input: Option<ChildStdin>,
    told: Arc<Mutex<Told>>,
    listener: Option<JoinHandle<()>>,
    /// What its clients log.
    log: NamedTempFile,
}

struct Told {
    acknowledged: Acknowledged,
    /// What its consumer was shown: partition, offset, value.
    read: Vec<(i32, i64, u64)>,
    last: Instant,
    /// The longest time between two acknowledgements since it was last asked for.
    gap: Duration,
    failed: Option<String>,
}

impl JavaLoad {
    /// Starts it, if java is there.
    pub(super) fn start(bootstrap: &str) -> Option<JavaLoad> {
        let java = Java::new("Apache Kafka's clients on nodes that fail")?;
        let log = NamedTempFile::new().expect("a temporary file can be made");
        let mut command = java.source("Numbers", &[bootstrap, TOPIC, &PARTITIONS.to_string()]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.reopen().expect("a temporary file can be opened"));
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        let (acknowledged, last) = (Acknowledged::new(), now());
        let told = Told { acknowledged, read: Vec::new(), last, gap: Duration::ZERO, failed: None };
        let told = Arc::new(Mutex::new(told));
        let hears = Arc::clone(&told);
        #[expect(clippy::disallowed_methods, reason = "a foreign process is listened to")]
        let listener = thread::spawn(move || listen(output, &hears));
        Some(JavaLoad { child, input, told, listener: Some(listener), log })
    }

    /// Waits until `more` further values are acknowledged and as many are read.
    pub(super) async fn goes_on(&self, more: usize, when: &str) {
        let counts = || {
            let told = self.told.lock();
            assert_eq!(told.failed, None, "{when}: what Apache Kafka's clients say");
            (told.acknowledged.len(), told.read.len())
        };
        let from = counts();
        let since = || {
            let (acknowledged, read) = counts();
            (acknowledged - from.0, read - from.1)
        };
        let enough = async {
            while since().0.min(since().1) < more {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(2 * TIMEOUT, enough).await;
        let (acknowledged, read) = since();
        assert!(waited.is_ok(), "{when}: Apache Kafka's clients had only {acknowledged} acknowledged and {read} read");
    }

    /// The longest time between two acknowledgements since the last call, in ms.
    pub(super) fn take_gap_ms(&self) -> u64 {
        std::mem::take(&mut self.told.lock().gap).as_millis() as u64
    }

    /// What its consumer was shown since the last call has the meaning that others saw.
    pub(super) fn compare(&self, seen: &mut Seen, when: &str) {
        for (partition, offset, value) in std::mem::take(&mut self.told.lock().read) {
            seen.note(partition, offset, value, when);
        }
    }

    /// Lets it write and read to the end; gives what was acknowledged.
    pub(super) fn finish(mut self, seen: &mut Seen) -> Acknowledged {
        drop(self.input.take());
        self.listener.take().expect("it is there once").join().expect("it does not panic");
        let status = self.child.wait().expect("a child can be awaited");
        assert!(status.success(), "Numbers.java ended with {status}: {:?}", self.told.lock().failed);
        self.compare(seen, "at the end");
        std::mem::take(&mut self.told.lock().acknowledged)
    }
}

impl Drop for JavaLoad {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- Apache Kafka's clients\n{}", fs::read_to_string(self.log.path()).unwrap_or_default());
        }
        // It has ended already where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "foreign processes run on real time")]
fn now() -> Instant {
    Instant::now()
}

fn listen(output: ChildStdout, told: &Mutex<Told>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let mut told = told.lock();
        match (words[0], fact(&words)) {
            ("acked", Some((value, partition, offset))) => {
                let gap = told.last.elapsed();
                (told.gap, told.last) = (told.gap.max(gap), now());
                told.acknowledged.insert(value, (partition, offset));
            }
            ("read", Some((value, partition, offset))) => told.read.push((partition, offset, value)),
            _ => told.failed = Some(line),
        }
    }
}

fn fact(words: &[&str]) -> Option<(u64, i32, i64)> {
    let [_, value, partition, offset] = words else { return None };
    Some((value.parse().ok()?, partition.parse().ok()?, offset.parse().ok()?))
}
