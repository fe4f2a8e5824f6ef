//! The table, and the same as JSON.

use crate::driver::Measured;
use crate::store::{Candidate, Durability, Isolation, Needs};
use crate::stores::version;
use serde::Serialize;

/// One run.
#[derive(Clone, Serialize)]
pub struct Run {
    pub throughput_tps: f64,
    pub latency_us_p50: f64,
    pub latency_us_p99: f64,
    /// Refused attempts for each transaction that ended.
    pub aborts_per_transaction: f64,
    /// A bare append and sync, just before or just after, whichever took longer, if commits wait
    /// for the disk.
    pub disk_us: Option<f64>,
}

impl Run {
    pub fn new(measured: &Measured, disk_us: Option<f64>) -> Self {
        let latency_us = |quantile| measured.latency_ns.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            throughput_tps: measured.throughput_tps(),
            latency_us_p50: latency_us(0.5),
            latency_us_p99: latency_us(0.99),
            aborts_per_transaction: measured.aborts as f64 / measured.transactions.max(1) as f64,
            disk_us,
        }
    }
}

/// One line of the table: medians over its runs.
#[derive(Serialize)]
pub struct Line {
    pub store: &'static str,
    pub version: &'static str,
    pub isolation: Isolation,
    pub durability: Durability,
    pub clients: usize,
    #[serde(flatten)]
    pub median: Run,
    /// This store's throughput over Chiliad's: the median of the rounds' ratios. None where Chiliad
    /// was not run.
    pub ratio_to_chiliad: Option<f64>,
    /// Whether that ratio compares equal promises.
    pub same_isolation: bool,
    /// Whether the disk was about as quick for this store as for Chiliad.
    pub same_disk: bool,
    pub runs: Vec<Run>,
}

impl Line {
    pub fn new(
        candidate: &Candidate,
        needs: Needs,
        (durability, clients): (Durability, usize),
        runs: Vec<Run>,
        chiliad: Option<&[Run]>,
    ) -> Self {
        let of = |field: fn(&Run) -> f64| median(runs.iter().map(field).collect());
        let ratio_to_chiliad = chiliad.map(|chiliad| {
            let pairs = runs.iter().zip(chiliad);
            median(pairs.map(|(it, ours)| it.throughput_tps / ours.throughput_tps).collect())
        });
        let disk_us = disk_us(&runs);
        Self {
            store: candidate.name,
            version: version(candidate.package),
            isolation: candidate.isolation,
            durability,
            clients,
            median: Run {
                throughput_tps: of(|it| it.throughput_tps),
                latency_us_p50: of(|it| it.latency_us_p50),
                latency_us_p99: of(|it| it.latency_us_p99),
                aborts_per_transaction: of(|it| it.aborts_per_transaction),
                disk_us,
            },
            ratio_to_chiliad,
            same_isolation: candidate.isolation.serializes(needs),
            same_disk: match (disk_us, chiliad.and_then(self::disk_us)) {
                (Some(it), Some(ours)) => it.max(ours) <= DISK_RATIO_MAX * it.min(ours),
                _ => true,
            },
            runs,
        }
    }
}

/// What a disk may differ by between two stores' runs that are still compared.
const DISK_RATIO_MAX: f64 = 1.5;

/// The median of what the disk alone took.
fn disk_us(runs: &[Run]) -> Option<f64> {
    runs.iter().map(|it| it.disk_us).collect::<Option<_>>().map(median)
}

/// The middle one, or the mean of the two in the middle.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let (low, high) = ((numbers.len() - 1) / 2, numbers.len() / 2);
    f64::midpoint(numbers[low], numbers[high])
}

/// The table of one workload.
pub fn table(title: &str, lines: &[Line]) -> String {
    const HEAD: [&str; 11] = [
        "store",
        "version",
        "isolation",
        "durability",
        "clients",
        "tx/s",
        "p50 us",
        "p99 us",
        "aborts/tx",
        "disk us",
        "of chiliad",
    ];
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(lines.iter().map(cells));
    let widths: [usize; HEAD.len()] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let mut text = format!("{title}\n\n");
    for row in &rows {
        // Words to the left, numbers to the right.
        let padded = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column < 4 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    if lines.iter().any(|line| !line.same_isolation) {
        text.push_str("\n* promises less than serializability: not the same work.\n");
    }
    if lines.iter().any(|line| !line.same_disk) {
        text.push_str("\n~ the disk was slower or quicker than for Chiliad: not comparable.\n");
    }
    text
}

fn cells(line: &Line) -> [String; 11] {
    let mark = if line.same_isolation { "" } else { "*" };
    let moody = if line.same_disk { "" } else { "~" };
    let ratio = line.ratio_to_chiliad.map_or("-".to_owned(), |it| format!("{moody}{it:.3}{mark}"));
    [
        format!("{}{mark}", line.store),
        line.version.to_owned(),
        line.isolation.name().to_owned(),
        line.durability.name().to_owned(),
        line.clients.to_string(),
        format!("{:.0}", line.median.throughput_tps),
        format!("{:.1}", line.median.latency_us_p50),
        format!("{:.1}", line.median.latency_us_p99),
        format!("{:.4}", line.median.aborts_per_transaction),
        line.median.disk_us.map_or("-".to_owned(), |it| format!("{it:.0}")),
        ratio,
    ]
}

#[cfg(test)]
mod tests {
    use super::{Line, Run, median, table};
    use crate::store::{Durability, Needs};
    use crate::stores::{CANDIDATES, version};

    fn run(throughput_tps: f64) -> Run {
        let (latency_us_p50, latency_us_p99) = (1.0, 2.0);
        Run {
            throughput_tps,
            latency_us_p50,
            latency_us_p99,
            aborts_per_transaction: 0.0,
            disk_us: None,
        }
    }

    #[test]
    fn the_ratio_is_taken_round_by_round() {
        let chiliad = [run(100.0), run(200.0), run(400.0)];
        let runs = vec![run(50.0), run(20.0), run(100.0)];
        let line = Line::new(
            &CANDIDATES[1],
            Needs::default(),
            (Durability::None, 2),
            runs,
            Some(&chiliad),
        );
        assert_eq!(line.ratio_to_chiliad, Some(0.25));
        assert_eq!(line.median.throughput_tps, 50.0);
        assert!(table("title", &[line]).contains("0.250"));
    }

    #[test]
    fn what_cannot_be_compared_is_marked() {
        let on_disk = |disk_us| Run { disk_us: Some(disk_us), ..run(100.0) };
        let line = |disk_us| {
            let runs = vec![on_disk(disk_us)];
            let cell = (Durability::Sync, 2);
            let ours = [on_disk(200.0)];
            Line::new(&CANDIDATES[1], Needs::default(), cell, runs, Some(&ours))
        };
        assert!(line(140.0).same_disk && line(299.0).same_disk);
        assert!(table("title", &[line(4000.0)]).contains("~1.000"));
        assert!(!table("title", &[line(210.0)]).contains('~'));
    }

    #[test]
    fn a_median_of_two_is_their_mean() {
        assert_eq!(median(vec![3.0, 1.0]), 2.0);
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        for candidate in CANDIDATES {
            assert!(version(candidate.package).contains('.'), "{}", candidate.package);
        }
    }
}
