//! An attack on a broker, with an honest client beside it and an eye on the broker's memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballast_tests::raw::rows::records_of;
use ballast_tests::raw::{Connection, batch, now_ms};
use ballast_tests::target::{Broker, Topic, with};

/// What a broker may grow by under attack.
const GROWTH_KIB_MAX: u64 = 64 << 10;

/// How long an honest client may wait for a produce and a fetch under attack. It takes milliseconds; the machine is busy
/// with the attack itself.
const PROBE_MS_MAX: i64 = 5_000;

/// Between two probes, and between two looks at the broker's memory.
const PAUSE: Duration = Duration::from_millis(5);

/// A broker that is about to be attacked.
pub(crate) struct Watch {
    pub(crate) broker: Broker,
    topic: Topic,
}

/// Ends the honest client, also when the attack panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Watch {
    /// A broker of its own with these settings. `None`: the tests were sent to one that has others.
    pub(crate) fn start(settings: &[&str]) -> Option<Watch> {
        let broker = with(settings)?;
        let topic = broker.topic("honest", 1, &[]);
        // The first of everything takes memory once.
        let mut connection = broker.connect();
        for _ in 0..50 {
            probe(&mut connection, &topic.name);
        }
        Some(Watch { broker, topic })
    }

    /// Runs the attack. Meanwhile and afterwards an honest client must be served, and memory stay where it was.
    pub(crate) fn during(&self, attack: impl FnOnce(&Broker)) {
        self.during_within(GROWTH_KIB_MAX, attack);
    }

    /// As `during`, where honest clients too may make the broker take this much.
    pub(crate) fn during_within(&self, growth_kib_max: u64, attack: impl FnOnce(&Broker)) {
        let before = self.broker.resident_kib().unwrap_or(0);
        let stop = AtomicBool::new(false);
        let peak = std::thread::scope(|scope| {
            let memory = scope.spawn(|| self.peak_until(&stop, before));
            let honest = scope.spawn(|| self.honest_until(&stop));
            let stopped = Stop(&stop);
            attack(&self.broker);
            drop(stopped);
            let probes = honest.join().expect("the honest client was served");
            eprintln!("{probes} honest produces and fetches meanwhile");
            memory.join().expect("the broker lives")
        });
        probe(&mut self.broker.connect(), &self.topic.name);
        let grown = peak - before;
        assert!(grown <= growth_kib_max, "{before} KiB before, {peak} KiB at the peak: {grown} KiB more");
    }

    /// The most memory that the broker takes until it is told to stop, in KiB.
    fn peak_until(&self, stop: &AtomicBool, before: u64) -> u64 {
        let mut peak = before;
        while !stop.load(Ordering::Relaxed) {
            peak = peak.max(self.broker.resident_kib().unwrap_or(0));
            std::thread::sleep(PAUSE);
        }
        eprintln!("memory: {before} KiB before the attack, {peak} KiB at the peak");
        peak
    }

    /// Produces and fetches until told to stop; how often.
    fn honest_until(&self, stop: &AtomicBool) -> u32 {
        let mut connection = self.broker.connect();
        let mut probes = 0;
        loop {
            probe(&mut connection, &self.topic.name);
            probes += 1;
            if stop.load(Ordering::Relaxed) {
                return probes;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// One record in and out again, in time.
fn probe(connection: &mut Connection, topic: &str) {
    let started = now_ms();
    let value = format!("{started}");
    let offset = connection.append(topic, 0, batch(&[&value]));
    let row = connection.fetch(topic, 0, offset);
    assert_eq!(records_of(&row).first(), Some(&(offset, value)));
    let took = now_ms() - started;
    assert!(took <= PROBE_MS_MAX, "an honest produce and fetch took {took} ms");
}

/// Numbers without a pattern, the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    /// The seed of this run: that of `BALLAST_TEST_SEED`, or this one. `test` is named in the line that replays it.
    pub(crate) fn of(test: &str, seed: u64) -> Random {
        let seed = std::env::var("BALLAST_TEST_SEED").map_or(seed, |seed| seed.parse().expect("a seed is a number"));
        eprintln!("replay: BALLAST_TEST_SEED={seed} cargo test -p ballast-tests --test hostile -- --exact {test}");
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 32) as u8).collect()
    }
}
