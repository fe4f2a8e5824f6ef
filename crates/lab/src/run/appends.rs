//! One run of appends to a shared log alone.

use super::progress::Bar;
use crate::BUILD;
use crate::result::Reading;
use crate::spec::OpenLog;
use chiliad_driver::{Appended, Appending, Length, run_appending};
use chiliad_host::Stop;
use chiliad_host::text::thousands;
use chiliad_host::values::show_time;
use serde_json::{Value, json};

/// A run of appends to a shared log alone.
#[derive(Clone, Debug)]
pub struct AppendSpec {
    /// The records, and the threads that append them.
    pub appending: Appending,
    /// The name of the log; what is appended stays in it.
    pub log: String,
    /// Opens it.
    pub open: OpenLog,
}

/// The appends of a run on a shared log.
#[derive(Clone, Debug)]
pub struct AppendResult {
    /// The specification.
    pub appending: Appending,
    /// The place of the log.
    pub place: String,
    /// Records, and times of calls.
    pub appended: Appended,
}

impl AppendSpec {
    /// Opens the log and appends to it. No bar is shown.
    ///
    /// # Errors
    /// Bad input where the log cannot be opened or does not take records of this size; those of the log; interrupted.
    pub fn run(&self) -> Result<AppendResult, Stop> {
        let appending = &self.appending;
        let log = (self.open)(&self.log)?;
        let most = log.record_bytes_max();
        if appending.record_bytes > most {
            let problem = format!("{} bytes; this log accepts 1 to {most}", appending.record_bytes);
            return Err(Stop::bad("--record-bytes", problem));
        }
        let bar = Bar::new(Length::Time(appending.duration), true);
        let appended = run_appending(appending, &*log, &bar)?;
        Ok(AppendResult { appending: appending.clone(), place: log.place(), appended })
    }
}

impl AppendResult {
    /// Acknowledged records per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.appended.records as f64 / self.appended.seconds
    }

    /// Their bytes per second, in megabytes.
    #[must_use]
    pub fn megabytes(&self) -> f64 {
        self.rate() * self.appending.record_bytes as f64 / 1e6
    }

    /// The numbers that charts are made of.
    pub(crate) fn reading(&self) -> Reading {
        let call = |share| Some(self.appended.call(share).as_secs_f64() * 1e6);
        Reading {
            throughput: Some(self.rate()),
            bytes: Some(self.megabytes() * 1e6),
            latency_us: [call(0.5), call(0.99)],
            ..Reading::default()
        }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let Appending { record_bytes, threads, in_flight, .. } = &self.appending;
        let [p50, p99] = [0.5, 0.99].map(|share| show_time(self.appended.call(share)));
        format!(
            "{}\n  records      {} per second of {record_bytes} bytes: {:.1} MB/s\n  calls        of {in_flight} \
             records, {threads} threads: p50 {p50}, p99 {p99}\n",
            self.place,
            thousands(self.rate() as u64),
            self.megabytes(),
        )
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let [p50, p99] = [0.5, 0.99].map(|share| self.appended.call(share).as_secs_f64() * 1e6);
        json!({
            "workload": "log",
            "shared_log": self.place,
            "record_bytes": self.appending.record_bytes,
            "threads": self.appending.threads,
            "in_flight": self.appending.in_flight,
            "seconds": self.appended.seconds,
            "records_per_second": self.rate(),
            "megabytes_per_second": self.megabytes(),
            "p50_us": p50,
            "p99_us": p99,
            "build": BUILD,
        })
    }
}
