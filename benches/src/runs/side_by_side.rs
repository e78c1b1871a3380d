//! Two brokers on the same machine in the same minutes, taking turns: A B B A A B B A … The peer is Apache Kafka, or another
//! build of Ballast: what did a change bring?
//!
//! A pair is two windows that follow each other, one of each broker; what counts is the ratio within a pair. Two windows of
//! the same broker also follow each other (B B, A A): their ratio shows how noisy the machine is. The limit of the workload
//! is measured every few pairs and compared with the windows around it.
//!
//! Holds: nothing is judged. Whoever reads the quartiles decides.

use std::io::Write as _;
use std::path::Path;

use super::case::{Bed, Case};
use crate::broker::{Node, Software};
use crate::load::{Outcome, Span};
use crate::stats::shown;
use crate::{Doing as _, Failure};

/// How a run is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Pairs of windows for each workload.
    pub pairs: usize,
    /// The limit is measured before every so many pairs.
    pub pairs_per_limit: usize,
    /// What is not counted of a window.
    pub warm: Span,
    /// What is.
    pub window: Span,
    /// How long the peer is driven before anything is counted, in seconds: its compiler needs a minute.
    pub peer_warm_seconds: f64,
}

/// What the two are called in tables.
struct Names {
    ours: &'static str,
    peer: &'static str,
}

/// The windows of one workload.
struct Series {
    case: Case,
    ours: Vec<Outcome>,
    theirs: Vec<Outcome>,
    /// The latest limit when each pair was measured.
    limits: Vec<Outcome>,
}

/// Measures every case; without a peer, against the limits alone. Writes each window to `csv`, if there is one.
///
/// # Errors
/// A broker fails.
pub fn run(
    ours: &Software,
    peer: Option<&Software>,
    root: &Path,
    cases: &[Case],
    plan: &Plan,
    csv: Option<&Path>,
) -> Result<(), Failure> {
    let names =
        Names { ours: "Ballast", peer: if matches!(peer, Some(Software::Ballast(_))) { "another" } else { "Kafka" } };
    let mut ours = Bed::new(Node::started(ours, root, &[])?)?;
    let mut peer = peer.map(|peer| Node::started(peer, root, &[]).and_then(Bed::new)).transpose()?;
    if let Some(peer) = &mut peer {
        warm_up(peer, cases, plan)?;
    }
    let mut rows =
        String::from("case,who,mb_per_s,cpu_s_per_gb,client_cpu_s_per_gb,busy_s_per_gb,p50_us,p99_us,p999_us\n");
    for case in cases {
        let series = measure(&mut ours, peer.as_mut(), case, root, plan)?;
        series.show(&names);
        series.write(&names, &mut rows);
        if let Some(path) = csv {
            std::fs::write(path, &rows).doing(path.display())?;
        }
    }
    Ok(())
}

/// Drives the peer with all that is going to be measured.
fn warm_up(peer: &mut Bed, cases: &[Case], plan: &Plan) -> Result<(), Failure> {
    let share = plan.peer_warm_seconds / cases.len() as f64;
    for case in cases {
        peer.measure(case, Span { seconds: 0.0, bytes: 0 }, Span { seconds: share, bytes: u64::MAX })?;
    }
    Ok(())
}

fn measure(
    ours: &mut Bed,
    mut peer: Option<&mut Bed>,
    case: &Case,
    root: &Path,
    plan: &Plan,
) -> Result<Series, Failure> {
    let mut series = Series { case: *case, ours: Vec::new(), theirs: Vec::new(), limits: Vec::new() };
    for pair in 0..plan.pairs {
        let limit = match series.limits.last() {
            Some(limit) if !pair.is_multiple_of(plan.pairs_per_limit) => limit.clone(),
            _ => case.measure_limit(root)?,
        };
        series.limits.push(limit);
        let ours_first = pair.is_multiple_of(2);
        if ours_first {
            series.ours.push(ours.measure(case, plan.warm, plan.window)?);
        }
        if let Some(peer) = &mut peer {
            series.theirs.push(peer.measure(case, plan.warm, plan.window)?);
        }
        if !ours_first {
            series.ours.push(ours.measure(case, plan.warm, plan.window)?);
        }
    }
    Ok(series)
}

/// A figure of a window, its name, and whether less of it is better.
type Figure = (&'static str, fn(&Outcome) -> f64, bool);

const FIGURES: [Figure; 6] = [
    ("MB/s", Outcome::mb_per_second, false),
    ("broker cpu-s/GB", Outcome::server_cpu_per_gb, true),
    ("machine cpu-s/GB", Outcome::busy_per_gb, true),
    ("p50 us", |outcome| outcome.latency_us(0.5), true),
    ("p99 us", |outcome| outcome.latency_us(0.99), true),
    ("p99.9 us", |outcome| outcome.latency_us(0.999), true),
];

impl Series {
    fn show(&self, names: &Names) {
        let Names { ours, peer } = names;
        println!("\n{}   (median [quartiles]; ratios within pairs)", self.case.name());
        println!(
            "  {:<17} {ours:<24} {peer:<24} {:<31} {:<24} {:<24}",
            "",
            format!("{ours}/{peer} (pairs won)"),
            "limit",
            format!("{ours}/limit")
        );
        for (name, figure, less_is_better) in FIGURES {
            let ours = || self.ours.iter().map(figure);
            let ratios: Vec<f64> = ours().zip(self.theirs.iter().map(figure)).map(|(a, b)| a / b).collect();
            let won = ratios.iter().filter(|ratio| (**ratio < 1.0) == less_is_better).count();
            let ratio = if ratios.is_empty() {
                "-".into()
            } else {
                format!("{} {won}/{}", shown(ratios.clone()), ratios.len())
            };
            println!(
                "  {name:<17} {:<24} {:<24} {ratio:<31} {:<24} {:<24}",
                shown(ours()),
                shown(self.theirs.iter().map(figure)),
                shown(self.limits.iter().map(figure)),
                shown(ours().zip(self.limits.iter().map(figure)).map(|(a, b)| a / b)),
            );
        }
        println!("  noise: {}", self.noise());
        // A run takes long: whoever waits sees each workload when it is done.
        let _ = std::io::stdout().flush();
    }

    /// The ratio of windows of ours that follow each other: 1st and 2nd pair end and begin with different brokers, 2nd and
    /// 3rd with ours.
    fn noise(&self) -> String {
        let neighbours = || self.ours.iter().skip(1).step_by(2).zip(self.ours.iter().skip(2).step_by(2));
        let throughput = neighbours().map(|(a, b)| b.mb_per_second() / a.mb_per_second());
        let cpu = neighbours().map(|(a, b)| b.server_cpu_per_gb() / a.server_cpu_per_gb());
        format!("Ballast against itself, MB/s {}, broker CPU {}", shown(throughput), shown(cpu))
    }

    fn write(&self, names: &Names, rows: &mut String) {
        for (who, outcomes) in [(names.ours, &self.ours), (names.peer, &self.theirs), ("limit", &self.limits)] {
            for outcome in outcomes {
                let row = [
                    outcome.mb_per_second(),
                    outcome.server_cpu_per_gb(),
                    outcome.client_cpu_per_gb(),
                    outcome.busy_per_gb(),
                    outcome.latency_us(0.5),
                    outcome.latency_us(0.99),
                    outcome.latency_us(0.999),
                ];
                let row: Vec<String> = row.iter().map(|figure| format!("{figure:.4}")).collect();
                rows.push_str(&format!("{},{who},{}\n", self.case.name(), row.join(",")));
            }
        }
    }
}
