//! A leader that answers nothing: what is given up when. No test asserts a time.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use ballast_core::settings::{BrokerSettings, Layers, Statics};
use ballast_net::{BoxFuture, Connection, Listener};
use tokio::time::sleep;

use super::*;

/// A host that answers nothing, not even that nobody listens.
#[derive(Default)]
struct BlackHole(AtomicUsize);

impl Transport for BlackHole {
    fn connect<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<Connection>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(pending())
    }

    fn listen<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
        _send_buffer_bytes: Option<usize>,
    ) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(pending())
    }
}

/// Dialling is given up soon, an answer is waited for for an hour.
fn settings() -> ReplicationSettings {
    let statics = Statics::default();
    let layers = Layers { broker: None, cluster: None, statics: &statics };
    ReplicationSettings {
        connection_setup_timeout_ms: 10,
        connection_setup_timeout_max_ms: 40,
        socket_timeout_ms: 3_600_000,
        ..BrokerSettings::resolve(&layers).expect("the defaults agree").replication
    }
}

fn at(epoch: i64) -> At {
    (epoch, "black-hole".to_owned(), 9_092)
}

fn question() -> (ApiKey, i16, Bytes) {
    (ApiKey::FETCH, 18, Bytes::new())
}

#[tokio::test]
async fn dialling_a_black_hole_is_given_up_long_before_an_answer_would_be_and_later_each_time() {
    let hole = Arc::new(BlackHole::default());
    let transport: Arc<dyn Transport> = hole.clone();
    let mut line = Line::default();
    assert!(line.lead_to(Some(at(1)), &transport));
    let mut told = Vec::new();
    while hole.0.load(Ordering::Relaxed) < 4 || told.len() < 3 {
        let Err(Unanswered::Link(LinkError::Unreachable { why, .. })) =
            line.ask(question(), &settings(), pending()).await
        else {
            panic!("a black hole cannot be reached");
        };
        // Between two tries it says the same again, at once.
        if told.last() != Some(&why) {
            told.push(why);
        }
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(told, ["no answer within 10ms", "no answer within 20ms", "no answer within 40ms"].map(Arc::from));
}

#[tokio::test]
async fn a_leader_that_is_elsewhere_is_not_dialled_any_longer() {
    let hole = Arc::new(BlackHole::default());
    let transport: Arc<dyn Transport> = hole.clone();
    let settings = ReplicationSettings { connection_setup_timeout_ms: 3_600_000, ..settings() };
    let mut line = Line::default();
    line.lead_to(Some(at(1)), &transport);
    let moved = async {
        while hole.0.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let outcome = line.ask(question(), &settings, moved).await;
    assert!(matches!(outcome, Err(Unanswered::Moved)), "{outcome:?}");
    assert_eq!(hole.0.load(Ordering::Relaxed), 1);
    assert!(line.lead_to(Some(at(2)), &transport), "the next life of it");
    assert!(!line.lead_to(Some(at(2)), &transport), "the same");
}

#[tokio::test]
async fn a_leader_that_says_nothing_is_given_up_and_dialled_anew() {
    let hole = Arc::new(BlackHole::default());
    let transport: Arc<dyn Transport> = hole.clone();
    let hours = 3_600_000;
    let settings = ReplicationSettings { connection_setup_timeout_ms: hours, socket_timeout_ms: 5, ..settings() };
    let mut line = Line::default();
    line.lead_to(Some(at(1)), &transport);
    let outcome = line.ask(question(), &settings, pending()).await;
    assert!(matches!(outcome, Err(Unanswered::Silent(_))), "{outcome:?}");
    let again = line.ask(question(), &settings, pending()).await;
    assert!(matches!(again, Err(Unanswered::Silent(_))), "{again:?}");
    assert_eq!(hole.0.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn without_an_address_nobody_is_asked() {
    let outcome = Line::default().ask(question(), &settings(), pending()).await;
    assert!(matches!(outcome, Err(Unanswered::Nowhere)));
}
