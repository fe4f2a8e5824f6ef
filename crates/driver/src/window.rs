//! The measured window of the micro-benchmarks, which have no transactions: threads do one thing over
//! and over, each on a core of its own where there are enough, and their counts are read at both ends.

use super::series::resident_bytes;
use super::signals::{Phase, Signals};
use super::threads::{join, place, start};
use super::{Failure, Progress};
use chiliad_machine::allowed_cores;
use std::thread;
use std::time::{Duration, Instant};

/// How often progress is told.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// How long, on how many threads.
pub(super) struct Window {
    pub threads: usize,
    pub warmup: Duration,
    pub duration: Duration,
}

/// The result of a micro-benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The length of the window.
    pub seconds: f64,
    /// The operations in it: look-ups, timestamps.
    pub count: u64,
    /// Resident memory of the process at its end, in bytes.
    pub memory_bytes: u64,
    /// The window ended before its time.
    pub interrupted: bool,
}

impl Window {
    /// Runs `work` on all threads until the phase is [`Phase::Stop`]. It gets its thread's index and
    /// publishes how much it has done.
    pub(super) fn run(
        &self,
        progress: &dyn Progress,
        work: impl Fn(usize, &Signals) -> Result<(), Failure> + Sync,
    ) -> Result<Counted, Failure> {
        let signals = Signals::new(self.threads, Phase::Warmup, u64::MAX);
        let cores = allowed_cores();
        thread::scope(|scope| {
            let begin = |index| {
                let (work, signals, cores) = (&work, &signals, &cores);
                start(scope, move || {
                    place(cores, self.threads, self.threads, index);
                    work(index, signals)
                })
            };
            let threads: Result<Vec<_>, _> = (0..self.threads).map(begin).collect();
            let threads = threads.inspect_err(|_| signals.set(Phase::Stop))?;
            thread::sleep(self.warmup);
            let start = Instant::now();
            let before = signals.committed();
            progress.measuring();
            signals.set(Phase::Measure);
            let mut interrupted = false;
            while start.elapsed() < self.duration && !interrupted {
                progress.running(start.elapsed(), signals.committed());
                let left = self.duration.saturating_sub(start.elapsed());
                thread::sleep(REPORT_INTERVAL.min(left));
                interrupted = progress.interrupted();
            }
            let (seconds, after) = (start.elapsed().as_secs_f64(), signals.committed());
            signals.set(Phase::Stop);
            threads.into_iter().try_for_each(|thread| join(thread.join()))?;
            let memory_bytes = resident_bytes();
            Ok(Counted { seconds, count: after - before, memory_bytes, interrupted })
        })
    }
}
