//! Appends to a shared log alone: how fast it takes records, and how long each call takes.

use super::threads::{join, start};
use super::{Failure, Progress};
use chiliad_machine::shared_log::SharedLog;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the driver looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// The measurement to make.
#[derive(Clone, Debug)]
pub struct Appending {
    /// Bytes of a record.
    pub record_bytes: usize,
    /// Threads that append, anywhere.
    pub threads: usize,
    /// Records of one call.
    pub in_flight: usize,
    /// The measured window.
    pub duration: Duration,
}

/// The records that a run appended.
#[derive(Clone, Debug)]
pub struct Appended {
    /// The length of the window, until the last call returned.
    pub seconds: f64,
    /// Records that the log has acknowledged.
    pub records: u64,
    /// The time of each call, ascending.
    pub calls: Vec<Duration>,
}

impl Appended {
    /// The time of a call that this share of all calls, 0 to 1, has not exceeded; zero if there was no call.
    #[must_use]
    pub fn call(&self, share: f64) -> Duration {
        let place = (self.calls.len() as f64 * share) as usize;
        self.calls.get(place.min(self.calls.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// The state that the threads share.
#[derive(Default)]
struct Counts {
    over: AtomicBool,
    records: AtomicU64,
}

/// Appends records of equal size to `log` until the window is over.
///
/// # Errors
/// Those of the log; when a thread fails; [`Failure::Interrupted`].
pub fn run_appending(
    appending: &Appending,
    log: &dyn SharedLog,
    progress: &dyn Progress,
) -> Result<Appended, Failure> {
    let counts = Counts::default();
    let begun = Instant::now();
    let calls = thread::scope(|scope| {
        let append = || appending.append(log, &counts);
        let begin = |_| start(scope, append);
        let threads: Result<Vec<_>, _> = (0..appending.threads).map(begin).collect();
        let threads = threads.inspect_err(|_| counts.over.store(true, Ordering::Relaxed))?;
        while begun.elapsed() < appending.duration && !progress.interrupted() {
            thread::sleep(LOOK.min(appending.duration));
        }
        counts.over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| join(thread.join())).collect::<Result<Vec<_>, _>>()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let mut calls = calls?.concat();
    if progress.interrupted() {
        return Err(Failure::Interrupted);
    }
    calls.sort_unstable();
    Ok(Appended { seconds, records: counts.records.load(Ordering::Relaxed), calls })
}

impl Appending {
    /// Appends until the window is over; returns how long each call has taken.
    fn append(&self, log: &dyn SharedLog, counts: &Counts) -> Result<Vec<Duration>, Failure> {
        let record = vec![0x5a; self.record_bytes];
        let records = vec![record.as_slice(); self.in_flight];
        let mut calls = Vec::new();
        while !counts.over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            log.append(&records).map_err(Failure::Log)?;
            calls.push(begun.elapsed());
            counts.records.fetch_add(self.in_flight as u64, Ordering::Relaxed);
        }
        Ok(calls)
    }
}
