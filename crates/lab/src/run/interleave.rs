//! `--interleave auto`: short trials on the loaded database choose how many transactions each client has in
//! flight.
//!
//! The numbers take turns, upwards and then downwards, so that a drift of the computer and what the first
//! trial finds cold meet all of them alike. Trials write without a recorder: runs whose history is
//! recorded are refused `auto` where flags are resolved, and so are runs with a log, whose writers run once.

use chiliad_driver::{Length, Plan, Progress, Target, run_native};
use chiliad_engine::WORKERS_MAX;
use chiliad_host::Stop;
use std::time::Duration;

/// The numbers that are tried, upwards.
const CANDIDATES: [usize; 5] = [1, 2, 4, 8, 16];

/// The warm-up and the window of a trial.
const WARMUP: Duration = Duration::from_millis(50);
const WINDOW: Duration = Duration::from_millis(200);

/// How close to the best a smaller number must come to be taken: more in flight is a longer wait for each.
const CLOSE: f64 = 0.97;

/// Loads `target`'s rows, unless they are there, and says how many transactions each client of the run
/// `plan` should have in flight.
pub fn choose(
    plan: &Plan,
    target: &(dyn Target + Sync),
    progress: &dyn Progress,
) -> Result<usize, Stop> {
    let mut trial = Plan {
        warmup: WARMUP,
        length: Length::Time(WINDOW),
        versions: false,
        conditions: false,
        series: false,
        following_cost: false,
        stalled_at: None,
        deferral_records: false,
        ..plan.clone()
    };
    let mut tried: Vec<(usize, u64)> = candidates(plan.clients).map(|number| (number, 0)).collect();
    for _ in 0..2 {
        for (number, committed) in &mut tried {
            trial.interleave = *number;
            let report = run_native(target, &trial, &Loading(progress))?;
            *committed += report.tally.committed();
            trial.load = false;
        }
        tried.reverse();
    }
    Ok(best(&tried))
}

/// The numbers to try with so many clients: each transaction in flight needs a worker.
fn candidates(clients: usize) -> impl Iterator<Item = usize> {
    CANDIDATES.into_iter().filter(move |number| *number == 1 || clients * number < WORKERS_MAX)
}

/// The smallest number that comes close to the most.
fn best(tried: &[(usize, u64)]) -> usize {
    let most = tried.iter().map(|&(_, committed)| committed).max().unwrap_or(0);
    let close = |committed: u64| committed as f64 >= most as f64 * CLOSE;
    let close = tried.iter().filter(|&&(_, committed)| close(committed));
    close.map(|&(number, _)| number).min().unwrap_or(1)
}

/// Passes on that rows are loaded; the trials themselves are not the run that is waited for.
struct Loading<'a>(&'a dyn Progress);

impl Progress for Loading<'_> {
    fn loading(&self, done: usize, of: usize) {
        self.0.loading(done, of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_comes_close_is_taken() {
        assert_eq!(best(&[(1, 100), (2, 180), (4, 240), (8, 300), (16, 290)]), 8);
        assert_eq!(best(&[(16, 300), (8, 292), (4, 240), (2, 180), (1, 100)]), 8);
        assert_eq!(best(&[(1, 100), (2, 102), (4, 101), (8, 90), (16, 80)]), 1);
        assert_eq!(best(&[(1, 0), (2, 0)]), 1);
    }

    #[test]
    fn many_clients_leave_out_what_no_database_has_workers_for() {
        assert_eq!(candidates(2).collect::<Vec<_>>(), CANDIDATES);
        assert_eq!(candidates(5_000).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(candidates(WORKERS_MAX).collect::<Vec<_>>(), [1]);
    }
}
