//! Throughput and memory over time.

use std::time::Duration;

/// The distance of two samples.
pub(crate) const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// One sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Seconds since the measured window began.
    pub seconds: f64,
    /// Commits per second since the sample before.
    pub throughput_tps: f64,
    /// Resident memory of the process in bytes.
    pub memory_bytes: u64,
}

/// Turns a running count into samples.
pub(crate) struct Series {
    samples: Vec<Sample>,
    last_seconds: f64,
    last_committed: u64,
}

impl Series {
    /// Begins at `committed` transactions.
    pub(crate) fn new(committed: u64) -> Self {
        Self { samples: Vec::new(), last_seconds: 0.0, last_committed: committed }
    }

    /// Adds a sample.
    pub(crate) fn add(&mut self, seconds: f64, committed: u64) {
        let passed = (seconds - self.last_seconds).max(1e-9);
        let throughput_tps = committed.saturating_sub(self.last_committed) as f64 / passed;
        self.samples.push(Sample { seconds, throughput_tps, memory_bytes: resident_bytes() });
        (self.last_seconds, self.last_committed) = (seconds, committed);
    }

    /// The samples.
    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

/// Resident memory of the process in bytes; zero where the system does not tell.
#[must_use]
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_differences() {
        let mut series = Series::new(1_000);
        series.add(0.1, 1_050);
        series.add(0.3, 1_150);
        let rates: Vec<f64> = series.into_samples().iter().map(|s| s.throughput_tps).collect();
        assert!((rates[0] - 500.0).abs() < 1e-6 && (rates[1] - 500.0).abs() < 1e-6);
    }

    #[test]
    fn a_process_has_memory() {
        assert!(resident_bytes() > 100_000);
    }
}
