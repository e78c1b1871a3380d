//! What came out of a window of measurement.

use hdrhistogram::Histogram;

use crate::stats::three_digits;

/// Latencies above it are counted as it, in ns.
const LATENCY_NS_MAX: u64 = 60_000_000_000;
/// Digits of a latency that count.
const DIGITS: u8 = 3;
const GB: f64 = 1e9;
const MB: f64 = 1e6;

/// A window of measurement.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How long it was.
    pub seconds: f64,
    /// Requests answered in it.
    pub requests: u64,
    /// Bytes of record batches that they moved.
    pub bytes: u64,
    /// Their latencies, in ns.
    pub latency_ns: Histogram<u64>,
    /// CPU time of the generator's thread, in seconds.
    pub client_cpu_seconds: f64,
    /// CPU time of the broker's process, in seconds; `None` if nobody said which one it is.
    pub server_cpu_seconds: Option<f64>,
    /// CPU time of the whole machine, in seconds.
    pub busy_seconds: f64,
}

impl Outcome {
    /// An empty one.
    #[must_use]
    pub fn new() -> Outcome {
        Outcome {
            seconds: 0.0,
            requests: 0,
            bytes: 0,
            latency_ns: Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("the bounds are in order"),
            client_cpu_seconds: 0.0,
            server_cpu_seconds: None,
            busy_seconds: 0.0,
        }
    }

    /// Counts an answer.
    pub fn count(&mut self, bytes: u64, latency_ns: u64) {
        self.requests += 1;
        self.bytes += bytes;
        self.latency_ns.saturating_record(latency_ns);
    }

    /// Throughput, in MB (1e6 bytes) a second.
    #[must_use]
    pub fn mb_per_second(&self) -> f64 {
        self.bytes as f64 / MB / self.seconds
    }

    /// CPU time of the broker for a GB (1e9 bytes), in seconds; not a number if it was not measured.
    #[must_use]
    pub fn server_cpu_per_gb(&self) -> f64 {
        self.server_cpu_seconds.map_or(f64::NAN, |cpu| self.per_gb(cpu))
    }

    /// CPU time of the broker for a request, in µs; not a number if it was not measured.
    #[must_use]
    pub fn server_us_per_request(&self) -> f64 {
        self.server_cpu_seconds.map_or(f64::NAN, |cpu| cpu * 1e6 / self.requests as f64)
    }

    /// CPU time of the generator for a GB, in seconds.
    #[must_use]
    pub fn client_cpu_per_gb(&self) -> f64 {
        self.per_gb(self.client_cpu_seconds)
    }

    /// CPU time of the whole machine for a GB, in seconds.
    #[must_use]
    pub fn busy_per_gb(&self) -> f64 {
        self.per_gb(self.busy_seconds)
    }

    /// The latency below which `share` (0 to 1) of the requests stayed, in µs.
    #[must_use]
    pub fn latency_us(&self, share: f64) -> f64 {
        self.latency_ns.value_at_quantile(share) as f64 / 1e3
    }

    fn per_gb(&self, seconds: f64) -> f64 {
        seconds / (self.bytes as f64 / GB)
    }

    /// One line for a person.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{} MB/s  {} requests/s  p50 {} p99 {} p99.9 {} max {} us  cpu-s/GB: broker {} client {} machine {}  \
             ({} us of broker CPU a request; {:.2} s)",
            three_digits(self.mb_per_second()),
            three_digits(self.requests as f64 / self.seconds),
            three_digits(self.latency_us(0.5)),
            three_digits(self.latency_us(0.99)),
            three_digits(self.latency_us(0.999)),
            three_digits(self.latency_us(1.0)),
            three_digits(self.server_cpu_per_gb()),
            three_digits(self.client_cpu_per_gb()),
            three_digits(self.busy_per_gb()),
            three_digits(self.server_us_per_request()),
            self.seconds,
        )
    }
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome::new()
    }
}
