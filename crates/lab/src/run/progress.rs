//! The progress bar of a run.

use chiliad_driver::{Length, Progress};
use chiliad_host::bar::bar;
use chiliad_host::interrupt::{self, Listening};
use indicatif::ProgressBar;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Steps of a bar that shows time.
const STEPS: u64 = 1_000;

/// A bar for one run.
pub struct Bar {
    bar: ProgressBar,
    length: Length,
    last: Mutex<(Instant, u64)>,
    /// From the begin of the window on it may end early.
    listening: OnceLock<Listening>,
}

impl Bar {
    /// A bar for a window of `length`; hidden if `quiet` or where there is no terminal.
    pub fn new(length: Length, quiet: bool) -> Self {
        let bar = bar(STEPS, "{msg:<32} [{bar:30}] {elapsed}", quiet);
        Self { bar, length, last: Mutex::new((Instant::now(), 0)), listening: OnceLock::new() }
    }

    fn rate(&self, committed: u64) -> Option<f64> {
        let mut last = self.last.lock().ok()?;
        let now = Instant::now();
        let seconds = (now - last.0).as_secs_f64();
        let rate = committed.saturating_sub(last.1) as f64 / seconds.max(1e-9);
        *last = (now, committed);
        Some(rate)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for reading a file of so many bytes; hidden if `quiet`, where there is no terminal, or where
/// it would be gone at once.
pub fn reading(bytes: u64, quiet: bool) -> ProgressBar {
    const SHOWN_FROM_BYTES: u64 = 32 << 20;
    let quiet = quiet || bytes < SHOWN_FROM_BYTES;
    bar(bytes, "reading {bytes} of {total_bytes} [{bar:30}]", quiet)
}

impl Progress for Bar {
    fn loading(&self, done: usize, of: usize) {
        self.bar.set_message(format!("loading {done} of {of} parts"));
        self.bar.set_position(done as u64 * STEPS / of.max(1) as u64);
    }

    fn running(&self, measured: Duration, committed: u64) {
        let done = match self.length {
            Length::Time(length) => measured.as_secs_f64() / length.as_secs_f64(),
            Length::Transactions(all) => committed as f64 / all as f64,
        };
        let what = if measured.is_zero() { "warming up" } else { "measuring" };
        if let Some(rate) = self.rate(committed) {
            let rate = chiliad_host::text::thousands(rate as u64);
            self.bar.set_message(format!("{what}: {rate}/s"));
        }
        self.bar.set_position((done.min(1.0) * STEPS as f64) as u64);
    }

    fn measuring(&self) {
        self.listening.get_or_init(Listening::begin);
    }

    fn interrupted(&self) -> bool {
        interrupt::asked()
    }

    fn checking(&self) {
        self.bar.set_message("checking");
        self.bar.set_position(STEPS);
    }
}
