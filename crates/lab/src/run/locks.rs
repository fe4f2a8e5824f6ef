//! One run of locks alone, acquired and released one at a time.

use super::progress::Bar;
use crate::result::{Counts, RunResult};
use crate::spec::{Shown, yes_no};
use chiliad_driver::{Length, LockMode, Locking, run_locking};
use chiliad_host::values::show_time;
use chiliad_host::{Stop, limit};

/// The workload's name, and that of what it counts.
const NAMES: (&str, &str) = ("locks", "pair");

/// A run of locks alone.
#[derive(Clone, Debug)]
pub struct LocksSpec {
    /// The lock table, the locks and their mode.
    pub locking: Locking,
    /// The scheme that has this lock table, by name.
    pub scheme: String,
    /// How often it runs.
    pub repeat: usize,
}

impl LocksSpec {
    /// Locks and unlocks natively and does nothing else.
    pub(super) fn run(&self, quiet: bool) -> Result<RunResult, Stop> {
        let locking = &self.locking;
        limit::check_threads("--threads", locking.threads, 0)?;
        let bar = Bar::new(Length::Time(locking.duration), quiet || locking.pairs.is_some());
        let (counted, tally) = run_locking(locking, &bar)?;
        drop(bar);
        let mut result = RunResult::counted(NAMES, locking.threads, 0, &counted, self.options());
        result.scheme.clone_from(&self.scheme);
        result.counts = Counts::new(&tally, &[NAMES.1], Some(counted.seconds), None);
        Ok(result)
    }

    fn options(&self) -> Shown {
        let locking = &self.locking;
        let mode = match locking.mode {
            LockMode::Is => "is",
            LockMode::Ix => "ix",
            LockMode::S => "s",
            LockMode::Six => "six",
            LockMode::X => "x",
        };
        let mut shown = Shown::new();
        shown.insert("mode".into(), mode.into());
        shown.insert("hot".into(), yes_no(locking.hot));
        shown.insert("latch".into(), locking.mutex.name().into());
        shown.insert("threads".into(), locking.threads.into());
        match locking.pairs {
            Some(pairs) => shown.insert("transactions".into(), pairs.into()),
            None => {
                shown.insert("warmup".into(), show_time(locking.warmup).into());
                shown.insert("duration".into(), show_time(locking.duration).into())
            }
        };
        shown.insert("repeat".into(), self.repeat.into());
        shown
    }
}
