//! Order, sequence numbers and recovery of one partition's queue, step by step.

use ballast_wire::batch::{BatchView, Compression};

use super::*;
use crate::ErrorCode;

const PAUSE: Duration = Duration::from_millis(100);
const ID: Option<(ProducerId, ProducerEpoch)> = Some((77, 0));

struct Rig {
    queue: PartitionQueue,
    config: ProducerConfig,
    now: Instant,
    deliveries: Vec<Delivery>,
    /// Every epoch has a batch that is written: several may be in flight.
    proven: bool,
}

impl Rig {
    fn new() -> Rig {
        let config = ProducerConfig { linger: Duration::ZERO, ..ProducerConfig::default() };
        let queue = PartitionQueue::new(0, Arc::default());
        Rig { queue, config, now: Instant::now(), deliveries: Vec::new(), proven: true }
    }

    /// A queue that has one-record batches of these values in flight to broker 1.
    fn with_in_flight(values: &[&str]) -> (Rig, Vec<Batch>) {
        let mut rig = Rig::new();
        let batches = values
            .iter()
            .map(|value| {
                rig.push(value);
                rig.take(1).expect("it is ready at once")
            })
            .collect();
        (rig, batches)
    }

    fn terms(&self) -> Terms<'_> {
        Terms { config: &self.config, now: self.now, hurry: false }
    }

    fn push(&mut self, value: &str) {
        let terms = Terms { config: &self.config, now: self.now, hurry: false };
        let (delivery, ..) = self.queue.push(terms, 0, (None, Some(value.as_bytes())), &[]);
        self.deliveries.push(delivery);
    }

    fn take(&mut self, leader: BrokerId) -> Option<Batch> {
        if self.proven {
            self.queue.proven = self.queue.identity.map(|(id, epoch, _)| (id, epoch));
        }
        let terms = Terms { config: &self.config, now: self.now, hurry: false };
        let mut batch = self.queue.take(terms, leader, ID)?;
        batch.finish();
        Some(batch)
    }

    fn settle(&mut self, batch: Batch, outcome: Outcome) -> usize {
        let terms = Terms { config: &self.config, now: self.now, hurry: false };
        self.queue.settle(terms, batch, outcome, PAUSE)
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Takes and delivers everything; gives (first value, epoch, sequence) of each batch in order.
    fn drain(&mut self) -> Vec<(String, i16, i32)> {
        let mut out = Vec::new();
        self.pass(PAUSE);
        while let Some(batch) = self.take(1) {
            out.push(seen(&batch));
            self.settle(batch, written());
        }
        out
    }

    async fn fate(&self, at: usize) -> Result<i64, ClientError> {
        self.deliveries[at].clone().wait().await.map(|record| record.offset)
    }
}

fn seen(batch: &Batch) -> (String, i16, i32) {
    let bytes = batch.clone().finish();
    let view = BatchView::parse(&bytes).unwrap();
    view.verify_checksum().unwrap();
    let body = view.open(1 << 20).unwrap();
    let first = view.records_in(&body).next().unwrap().unwrap();
    let value = String::from_utf8(first.value.unwrap().to_vec()).unwrap();
    (value, view.producer_epoch(), view.base_sequence())
}

fn written() -> Outcome {
    Outcome::Written { base_offset: 500, log_append_time_ms: -1 }
}

fn lost() -> Outcome {
    let error = ClientError::Disconnected { address: "b:1".into(), reason: "gone".into() };
    Outcome::Again { error, unknown: true }
}

fn not_leader() -> Outcome {
    Outcome::Again { error: ClientError::refused("t-0", ErrorCode::NOT_LEADER_OR_FOLLOWER), unknown: false }
}

fn refused() -> Outcome {
    Outcome::Refused { error: ClientError::refused("t-0", ErrorCode(87)) }
}

fn out_of_sequence() -> Outcome {
    Outcome::OutOfSequence { error: ClientError::refused("t-0", ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER) }
}

fn expect(rows: &[(&str, i16, i32)]) -> Vec<(String, i16, i32)> {
    rows.iter().map(|(value, epoch, sequence)| ((*value).to_owned(), *epoch, *sequence)).collect()
}

#[tokio::test]
async fn records_share_a_batch_until_it_is_full_or_has_lingered() {
    let mut rig = Rig::new();
    rig.config.linger = Duration::from_millis(5);
    rig.push("a");
    rig.push("b");
    let at = rig.now + rig.config.linger;
    assert_eq!(rig.queue.readiness(rig.terms(), 1), Readiness::At(at));
    rig.pass(Duration::from_millis(5));
    let batch = rig.take(1).unwrap();
    assert_eq!((batch.records, rig.queue.readiness(rig.terms(), 1)), (2, Readiness::Later));
    let bytes = batch.bytes;
    assert_eq!(rig.settle(batch, written()), bytes, "its room is free again");
    assert_eq!((rig.fate(0).await, rig.fate(1).await), (Ok(500), Ok(501)));

    let large = "x".repeat(10_000);
    rig.push(&large);
    assert!(matches!(rig.queue.readiness(rig.terms(), 1), Readiness::At(_)));
    rig.push(&large);
    assert_eq!(rig.queue.readiness(rig.terms(), 1), Readiness::Now, "the second did not fit the first's batch");
}

#[test]
fn a_failed_batch_is_resent_before_everything_that_came_after_it() {
    let (mut rig, batches) = Rig::with_in_flight(&["a", "b", "c"]);
    rig.push("d");
    let [a, b, c]: [Batch; 3] = batches.try_into().unwrap();
    rig.settle(a, not_leader());
    rig.pass(PAUSE);
    assert!(rig.take(1).is_none(), "b and c are still in flight");
    rig.settle(b, out_of_sequence());
    rig.settle(c, out_of_sequence());
    assert_eq!(rig.drain(), expect(&[("a", 0, 0), ("b", 0, 1), ("c", 0, 2), ("d", 0, 3)]));
}

#[test]
fn the_first_batch_after_a_failure_is_alone_in_flight_until_it_is_written() {
    let mut rig = Rig::new();
    rig.proven = false;
    for value in ["a", "b", "c"] {
        rig.push(value);
        rig.queue.close();
    }
    let a = rig.take(1).unwrap();
    rig.settle(a, written());
    let (b, c) = (rig.take(1).unwrap(), rig.take(1).unwrap());
    rig.settle(b, not_leader());
    rig.settle(c, not_leader());
    rig.pass(PAUSE);
    let b = rig.take(1).unwrap();
    assert!(rig.take(1).is_none(), "a leader that lost its memory could refuse b, and take c a moment later");
    rig.settle(b, written());
    assert_eq!(seen(&rig.take(1).unwrap()), ("c".to_owned(), 0, 2));
}

#[test]
fn the_first_batch_of_an_epoch_is_alone_in_flight_until_it_is_written() {
    let mut rig = Rig::new();
    rig.proven = false;
    for value in ["a", "b", "c"] {
        rig.push(value);
        rig.queue.close();
    }
    let a = rig.take(1).unwrap();
    assert!(rig.take(1).is_none(), "b could be written where a is refused");
    rig.settle(a, not_leader());
    rig.pass(PAUSE);
    let a = rig.take(1).unwrap();
    rig.settle(a, written());
    let (b, c) = (rig.take(1).unwrap(), rig.take(1).unwrap());
    assert_eq!([seen(&b), seen(&c)], [("b".to_owned(), 0, 1), ("c".to_owned(), 0, 2)]);
    rig.settle(b, refused());
    rig.settle(c, out_of_sequence());
    rig.push("d");
    rig.pass(PAUSE);
    assert_eq!(seen(&rig.take(1).unwrap()), ("c".to_owned(), 1, 0));
    assert!(rig.take(1).is_none(), "the new epoch has to prove itself");
}

#[test]
fn nothing_goes_to_a_new_leader_while_batches_are_in_flight_to_the_old_one() {
    let (mut rig, mut batches) = Rig::with_in_flight(&["a"]);
    rig.push("b");
    assert!(rig.take(2).is_none());
    rig.settle(batches.remove(0), written());
    assert_eq!(seen(&rig.take(2).unwrap()), ("b".to_owned(), 0, 1));
}

#[test]
fn a_lost_answer_leads_to_the_same_bytes_again() {
    let (mut rig, mut batches) = Rig::with_in_flight(&["a"]);
    let before = batches[0].finish();
    rig.settle(batches.remove(0), lost());
    assert!(rig.take(1).is_none(), "the pause comes first");
    rig.pass(PAUSE);
    rig.push("b");
    assert_eq!(rig.take(1).unwrap().finish(), before);
    assert!(rig.take(1).is_none(), "b would help the broker to forget a");
}

#[tokio::test]
async fn after_a_refusal_the_rest_goes_on_in_a_new_epoch_from_sequence_0() {
    let (mut rig, batches) = Rig::with_in_flight(&["a", "b", "c"]);
    let [a, b, c]: [Batch; 3] = batches.try_into().unwrap();
    rig.settle(a, refused());
    rig.settle(b, out_of_sequence());
    rig.settle(c, out_of_sequence());
    rig.push("d");
    assert_eq!(rig.drain(), expect(&[("b", 1, 0), ("c", 1, 1), ("d", 1, 2)]));
    assert_eq!(rig.fate(0).await.unwrap_err().code(), Some(ErrorCode(87)));
    assert_eq!(rig.fate(1).await, Ok(500));
}

#[test]
fn a_batch_that_may_be_written_is_never_stamped_anew() {
    let (mut rig, batches) = Rig::with_in_flight(&["a", "b", "c"]);
    let [a, b, c]: [Batch; 3] = batches.try_into().unwrap();
    rig.settle(a, refused());
    rig.settle(b, out_of_sequence());
    rig.settle(c, lost());
    rig.pass(PAUSE);
    let resent = rig.take(1).unwrap();
    assert_eq!(seen(&resent), ("c".to_owned(), 0, 2), "under its old stamp, and before b, to learn its fate");
    assert!(rig.take(1).is_none(), "alone");
    rig.settle(resent, out_of_sequence());
    assert_eq!(rig.drain(), expect(&[("b", 1, 0), ("c", 1, 1)]));
}

#[test]
fn a_broker_that_forgot_the_producer_gets_a_new_epoch() {
    let (mut rig, mut batches) = Rig::with_in_flight(&["a", "b"]);
    rig.settle(batches.remove(0), written());
    rig.settle(batches.remove(0), out_of_sequence());
    assert_eq!(rig.drain(), expect(&[("b", 1, 0)]));
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_cut_in_two_until_it_fits() {
    let mut rig = Rig::new();
    for value in ["a", "b", "c"] {
        rig.push(value);
    }
    let whole = rig.take(1).unwrap();
    rig.push("later");
    let after = rig.take(1).unwrap();
    let too_large = |code| Outcome::TooLarge { error: ClientError::refused("t-0", ErrorCode(code)) };
    assert_eq!(rig.settle(whole, too_large(10)), 0);
    rig.settle(after, out_of_sequence());
    rig.pass(PAUSE);
    let front = rig.take(1).unwrap();
    assert_eq!((seen(&front), front.records), (("a".to_owned(), 1, 0), 1));
    let back = rig.take(1).unwrap();
    assert_eq!((seen(&back), back.records), (("b".to_owned(), 1, 1), 2));
    rig.settle(front, written());
    rig.settle(back, too_large(10));
    assert_eq!(rig.drain(), expect(&[("b", 2, 0), ("c", 2, 1), ("later", 2, 2)]));
    for at in 0..4 {
        assert_eq!(rig.fate(at).await, Ok(500));
    }
    rig.push("huge");
    let single = rig.take(1).unwrap();
    rig.settle(single, too_large(10));
    assert_eq!(rig.fate(4).await.unwrap_err().code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
}

#[tokio::test]
async fn a_batch_is_given_up_at_its_delivery_timeout_and_not_before() {
    let (mut rig, mut batches) = Rig::with_in_flight(&["a"]);
    rig.push("b");
    rig.pass(rig.config.delivery_timeout - Duration::from_millis(1));
    rig.settle(batches.remove(0), lost());
    let terms = Terms { config: &rig.config, now: rig.now, hurry: false };
    assert_eq!(rig.queue.expire(terms, None), 0);
    rig.pass(Duration::from_millis(1));
    let terms = Terms { config: &rig.config, now: rig.now, hurry: false };
    assert!(rig.queue.expire(terms, None) > 0);
    assert!(matches!(rig.fate(0).await, Err(ClientError::TimedOut { .. })));
    assert!(matches!(rig.fate(1).await, Err(ClientError::TimedOut { .. })));
    rig.push("c");
    assert_eq!(rig.drain(), expect(&[("c", 1, 0)]), "the lost sequence numbers are not waited for");
}

#[test]
fn a_producer_id_without_epochs_left_is_replaced() {
    let mut rig = Rig::new();
    rig.queue.identity = Some((77, i16::MAX, 9));
    rig.push("a");
    let a = rig.take(1).unwrap();
    rig.settle(a, refused());
    rig.push("b");
    assert!(rig.take(1).is_none());
    assert!(rig.queue.has_spent(77));
    let terms = Terms { config: &rig.config, now: rig.now, hurry: false };
    let b = rig.queue.take(terms, 1, Some((78, 0))).unwrap();
    assert_eq!(b.stamp, Some(Stamp { producer_id: 78, epoch: 0, base_sequence: 0 }));
}

#[test]
fn without_idempotence_batches_carry_no_stamp_and_keep_their_order_when_resent() {
    let mut rig = Rig::new();
    let terms = |rig: &Rig| Instant::clone(&rig.now);
    rig.push("a");
    let now = terms(&rig);
    let config = rig.config.clone();
    let terms = Terms { config: &config, now, hurry: false };
    let a = rig.queue.take(terms, 1, None).unwrap();
    assert_eq!(seen(&a), ("a".to_owned(), -1, -1));
    rig.push("b");
    rig.settle(a, not_leader());
    rig.pass(PAUSE);
    let terms = Terms { now: rig.now, ..terms };
    let resent = rig.queue.take(terms, 1, None).unwrap();
    assert_eq!(seen(&resent).0, "a");
}

#[test]
fn sequence_numbers_wrap_to_0() {
    assert_eq!(sequence_after(i32::MAX, 1), 0);
    assert_eq!(sequence_after(i32::MAX - 1, 1), i32::MAX);
    assert_eq!(sequence_after(i32::MAX - 1, 5), 3);
}

/// Whatever comes back, in whatever state: every record is written at most once, in order, and nothing is forgotten.
#[test]
fn random_outcomes_never_reorder_duplicate_or_lose_a_record() {
    for seed in 0..300u64 {
        let mut broker = Broker::default();
        let mut rig = Rig::new();
        rig.config.delivery_timeout = Duration::from_secs(1_000_000);
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |bound: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % bound
        };
        let mut in_flight: VecDeque<Batch> = VecDeque::new();
        let (mut pushed, mut refused_values) = (0u32, Vec::new());
        for step in 0..400 {
            rig.pass(PAUSE);
            if step < 300 && draw(2) == 0 {
                rig.push(&format!("{pushed:06}"));
                pushed += 1;
            }
            if in_flight.len() < 5
                && let Some(batch) = rig.take(1)
            {
                in_flight.push_back(batch);
            }
            if draw(3) == 0
                && let Some(batch) = in_flight.pop_front()
            {
                let outcome = if step < 300 { broker.answer(&batch, draw(10)) } else { broker.answer(&batch, 0) };
                if matches!(outcome, Outcome::Refused { .. }) {
                    refused_values.extend(values(&batch));
                }
                rig.settle(batch, outcome);
            }
        }
        while let Some(batch) = in_flight.pop_front() {
            let outcome = broker.answer(&batch, 0);
            rig.settle(batch, outcome);
            rig.pass(PAUSE);
            in_flight.extend(rig.take(1));
        }
        assert!(rig.queue.is_idle(), "seed {seed}: something is left");
        let mut expected: Vec<String> = (0..pushed).map(|n| format!("{n:06}")).collect();
        expected.retain(|value| !refused_values.contains(value));
        assert_eq!(broker.log, expected, "seed {seed}");
    }
}

fn values(batch: &Batch) -> Vec<String> {
    let bytes = batch.clone().finish();
    let view = BatchView::parse(&bytes).unwrap();
    assert_eq!(view.attributes().compression(), Ok(Compression::None));
    let records = view.records().unwrap();
    records.map(|record| String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap()).collect()
}

/// What a broker remembers of a producer that has written to a partition before, and what it has written since.
/// (A broker that knows nothing of a producer takes any first sequence number: there the order of what is in flight
/// behind a first batch that fails is not protected, by nobody's client.)
#[derive(Default)]
struct Broker {
    log: Vec<String>,
    epoch: i16,
    next_sequence: i32,
    recent: VecDeque<(i16, i32, i32)>,
}

impl Broker {
    fn answer(&mut self, batch: &Batch, dice: u64) -> Outcome {
        match dice {
            // The request never arrived.
            1 => lost(),
            2 => not_leader(),
            // A batch that it has written it recognises before it judges it.
            3 if !self.has(batch) => refused(),
            // It arrived, and the answer was lost on its way.
            4 => {
                let _ = self.append(batch);
                lost()
            }
            _ => self.append(batch),
        }
    }

    fn has(&self, batch: &Batch) -> bool {
        let Stamp { epoch, base_sequence, .. } = batch.stamp.unwrap();
        self.recent.contains(&(epoch, base_sequence, batch.records))
    }

    fn append(&mut self, batch: &Batch) -> Outcome {
        if self.has(batch) {
            return written();
        }
        let Stamp { epoch, base_sequence, .. } = batch.stamp.unwrap();
        let due = if epoch > self.epoch { 0 } else { self.next_sequence };
        if epoch < self.epoch || base_sequence != due {
            return out_of_sequence();
        }
        self.epoch = epoch;
        self.next_sequence = base_sequence + batch.records;
        self.recent.push_back((epoch, base_sequence, batch.records));
        if self.recent.len() > 5 {
            self.recent.pop_front();
        }
        self.log.extend(values(batch));
        written()
    }
}
