//! One value of a metric as people read it, with its unit.

use super::describe::Metric;
use super::numbers::short;

/// The heading of a column of such values.
pub fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput | Metric::Accesses | Metric::AllRate | Metric::Bytes => "Per second",
        Metric::ThroughputPerCore => "Per second and core",
        Metric::AbortRate => "Attempts refused",
        Metric::Versions => "Records",
        Metric::LatencyP50 | Metric::LatencyP99 => "Latency",
        Metric::Memory => "Memory",
        Metric::Instructions => "For each transaction",
        Metric::CommittedTime | Metric::AbortedTime | Metric::StalledTime | Metric::IdleTime => {
            "Core time"
        }
        Metric::BuildNs
        | Metric::PremeldNs
        | Metric::LastNs
        | Metric::AllNs
        | Metric::Visited
        | Metric::Made => "For each intention",
        Metric::ZoneLeft => "Intentions",
    }
}

/// A value.
pub fn text(metric: Metric, value: f64) -> String {
    let (scale, unit) = match metric {
        Metric::AbortRate
        | Metric::Versions
        | Metric::CommittedTime
        | Metric::AbortedTime
        | Metric::StalledTime
        | Metric::IdleTime => (1e2, " %"),
        Metric::LatencyP50 | Metric::LatencyP99 if value >= 1e3 => (1e-3, " ms"),
        Metric::LatencyP50 | Metric::LatencyP99 => (1.0, " us"),
        Metric::BuildNs | Metric::PremeldNs | Metric::LastNs | Metric::AllNs if value >= 1e3 => {
            (1e-3, " us")
        }
        Metric::BuildNs | Metric::PremeldNs | Metric::LastNs | Metric::AllNs => (1.0, " ns"),
        Metric::Memory => (1.0 / f64::from(1 << 20), " MiB"),
        Metric::Bytes => (1e-6, " MB"),
        Metric::Throughput
        | Metric::ThroughputPerCore
        | Metric::Accesses
        | Metric::AllRate
        | Metric::Instructions
        | Metric::Visited
        | Metric::Made
        | Metric::ZoneLeft => (1.0, ""),
    };
    format!("{}{unit}", short(value * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_units_of_their_metrics() {
        for (metric, value, shown) in [
            (Metric::Throughput, 84_000.0, "84.0 k"),
            (Metric::AbortRate, 0.0192, "1.92 %"),
            (Metric::LastNs, 11_900.0, "11.9 us"),
            (Metric::PremeldNs, 0.79, "0.79 ns"),
            (Metric::LatencyP50, 180.0, "180 us"),
            (Metric::LatencyP99, 5_500.0, "5.50 ms"),
            (Metric::Visited, 122.2, "122"),
            (Metric::Memory, 3.0 * 1_048_576.0, "3.00 MiB"),
            (Metric::Bytes, 328e6, "328 MB"),
        ] {
            assert_eq!(text(metric, value), shown);
        }
        assert_eq!(heading(Metric::LastNs), "For each intention");
        assert_eq!(heading(Metric::Throughput), "Per second");
    }
}
