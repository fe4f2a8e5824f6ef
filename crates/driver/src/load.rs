//! Loading in parallel: threads take part after part until none is left.

use super::threads::start;
use super::{Failure, Progress, Target};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How often progress is told.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// Loads all rows of `target` with up to `threads` threads.
///
/// # Errors
/// The first error of any part; the other threads stop at their next part. [`Failure::Interrupted`].
pub(crate) fn load(
    target: &(dyn Target + Sync),
    seed: u64,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let parts = target.load_parts();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let work = || {
        let mut in_hand = false;
        let result = target.load(seed, &mut || {
            if in_hand {
                done.fetch_add(1, Ordering::Relaxed);
            }
            in_hand = true;
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&part| part < parts)
        });
        if result.is_err() {
            next.store(parts, Ordering::Relaxed);
        }
        result
    };
    thread::scope(|scope| {
        let begin = |_| start(scope, work);
        // With fewer threads it takes longer.
        let threads: Vec<_> =
            (0..threads.clamp(1, parts.max(1))).map(begin).take_while(Result::is_ok).collect();
        let threads: Vec<_> = threads.into_iter().flatten().collect();
        if threads.is_empty() {
            return Err(Failure::Host("no thread that loads could start".into()));
        }
        let mut interrupted = false;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            progress.loading(done.load(Ordering::Relaxed), parts);
            if progress.interrupted() {
                next.store(parts, Ordering::Relaxed);
                interrupted = true;
            }
            thread::sleep(REPORT_INTERVAL);
        }
        progress.loading(done.load(Ordering::Relaxed), parts);
        threads.into_iter().try_for_each(|thread| super::threads::join(thread.join()))?;
        if interrupted { Err(Failure::Interrupted) } else { Ok(()) }
    })
}
