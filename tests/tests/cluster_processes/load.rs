//! Who writes and reads while nodes fail: librdkafka, and Apache Kafka's own clients beside it where java is there.

use super::java::{self, JavaLoad};
use super::numbers::{Seen, TOPIC, Writer};

pub(super) struct Load {
    bootstrap: String,
    writer: Writer,
    seen: Seen,
    java: Option<(JavaLoad, Seen)>,
}

impl Load {
    pub(super) fn start(bootstrap: &str) -> Load {
        let java = JavaLoad::start(bootstrap).map(|load| (load, Seen::of(java::TOPIC)));
        Load { bootstrap: bootstrap.to_owned(), writer: Writer::start(bootstrap), seen: Seen::of(TOPIC), java }
    }

    /// Waits until `more` further values of each are acknowledged.
    pub(super) async fn goes_on(&self, more: u64, when: &str) {
        self.writer.goes_on(more, when).await;
        if let Some((java, _)) = &self.java {
            java.goes_on(more as usize, when).await;
        }
    }

    /// The longest time between two acknowledgements since the last call, of each.
    pub(super) fn take_gaps(&self) -> String {
        let mut gaps = format!("{} ms (librdkafka)", self.writer.take_gap_ms());
        if let Some((java, _)) = &self.java {
            gaps.push_str(&format!(", {} ms (kafka-clients)", java.take_gap_ms()));
        }
        gaps
    }

    /// What is there now has the meaning that it had.
    pub(super) fn compare(&mut self, when: &str) {
        self.seen.read_on(&self.bootstrap, when);
        if let Some((java, seen)) = &mut self.java {
            seen.read_on(&self.bootstrap, when);
            java.compare(seen, when);
        }
    }

    /// Ends the writing, and holds the nodes to every acknowledgement.
    pub(super) async fn finish(mut self) {
        let acknowledged = self.writer.finish().await;
        self.seen.check(&self.bootstrap, &acknowledged);
        if let Some((java, mut seen)) = self.java {
            let acknowledged = java.finish(&mut seen);
            seen.check(&self.bootstrap, &acknowledged);
        }
    }
}
