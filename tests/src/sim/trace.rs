//! What brokers do, as they say it: a listener for the thread of a run.
//!
//! Brokers tell what replicas do in events of target [`TARGET`], which cost nothing where nobody listens. turmoil wraps what
//! each host does in a span with the host's name, so an event knows its broker. Lines of warning and error are kept too, for
//! whoever reads a failed run; `BALLAST_TRACE=1` prints them as they come.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_wire::BrokerId;
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Level, Metadata, Subscriber};

use super::history::{BrokerEvent, Event, Place, Recorder};

/// Target of the events by which brokers tell what their replicas do.
pub const TARGET: &str = "ballast::replica";

/// Listens until it is dropped.
pub struct Listening(#[expect(dead_code, reason = "it is held, not used")] DefaultGuard);

/// Notes in `recorder` what brokers do on this thread.
#[must_use]
pub fn listen(recorder: Recorder) -> Listening {
    let prints = std::env::var_os("BALLAST_TRACE").is_some();
    let listener = Listener { recorder, prints, next: AtomicU64::new(1), hosts: Mutex::default() };
    Listening(tracing::subscriber::set_default(listener))
}

struct Listener {
    recorder: Recorder,
    prints: bool,
    next: AtomicU64,
    hosts: Mutex<Hosts>,
}

#[derive(Default)]
struct Hosts {
    named: BTreeMap<u64, Option<BrokerId>>,
    inside: Vec<u64>,
}

impl Listener {
    fn broker(&self) -> Option<BrokerId> {
        let hosts = self.hosts.lock();
        hosts.inside.iter().rev().find_map(|span| hosts.named.get(span).copied().flatten())
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_host = metadata.is_span() && metadata.name() == "node" && metadata.target().starts_with("turmoil");
        let is_ours = metadata.target().starts_with("ballast");
        is_host || metadata.target() == TARGET || (is_ours && self.prints && *metadata.level() <= Level::INFO)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        span.record(&mut fields);
        let broker = fields.texts.get("name").and_then(|name| name.strip_prefix("broker")?.parse().ok());
        self.hosts.lock().named.insert(id, broker);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let broker = self.broker();
        if self.prints {
            eprintln!("{} {} broker {broker:?}: {fields}", self.recorder.now_ms(), event.metadata().level());
        }
        if event.metadata().target() == TARGET
            && let (Some(broker), Some(what)) = (broker, fields.event())
        {
            self.recorder.note(Event::Broker { broker, what });
        }
    }

    fn enter(&self, span: &Id) {
        self.hosts.lock().inside.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.hosts.lock().inside.pop();
    }

    fn try_close(&self, span: Id) -> bool {
        self.hosts.lock().named.remove(&span.into_u64());
        true
    }
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    numbers: BTreeMap<&'static str, i64>,
    texts: BTreeMap<&'static str, String>,
}

impl Fields {
    fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    fn isr(&self) -> Option<Vec<BrokerId>> {
        let ids = self.texts.get("isr")?.split(|c: char| !c.is_ascii_digit());
        Some(ids.filter_map(|id| id.parse().ok()).collect())
    }

    fn event(&self) -> Option<BrokerEvent> {
        let at = || Some(Place::new(self.texts.get("topic")?, self.number("partition")? as i32));
        let leader_epoch = || Some(self.number("leader_epoch")? as i32);
        let candidate = || Some(self.number("candidate")? as BrokerId);
        Some(match self.texts.get("message")?.as_str() {
            "leads" => BrokerEvent::Leads { at: at()?, leader_epoch: leader_epoch()? },
            "controls" => BrokerEvent::Controls,
            "ends" => BrokerEvent::Ends { at: at()?, end: self.number("end")? },
            "proposes" => BrokerEvent::Proposes { at: at()?, joiner: self.number("joiner")? as BrokerId },
            "isr" => {
                let partition_epoch = self.number("partition_epoch")? as i32;
                BrokerEvent::Isr { at: at()?, leader_epoch: leader_epoch()?, partition_epoch, isr: self.isr()? }
            }
            "high" => {
                let high = self.number("high")?;
                BrokerEvent::High { at: at()?, leader_epoch: leader_epoch()?, high, isr: self.isr()? }
            }
            "votes" => BrokerEvent::Votes { term: self.number("term")?, candidate: candidate()? },
            "metadata bounds" => BrokerEvent::MetadataBounds { from: self.number("from")?, upto: self.number("upto")? },
            "metadata entry" => BrokerEvent::MetadataEntry { index: self.number("index")?, term: self.number("term")? },
            "metadata opens" => BrokerEvent::MetadataOpens {
                end: self.number("end")?,
                last_term: self.number("last_term")?,
                term: self.number("term")?,
                candidate: candidate()?,
            },
            _ => return None,
        })
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in &self.texts {
            write!(f, "{name}={text} ")?;
        }
        for (name, number) in &self.numbers {
            write!(f, "{name}={number} ")?;
        }
        Ok(())
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.numbers.insert(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.numbers.insert(field.name(), i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.texts.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.texts.insert(field.name(), format!("{value:?}"));
    }
}
