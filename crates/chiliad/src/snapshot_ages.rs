//! The times at which epochs began, from which the age of a snapshot follows.

use chiliad_api::Stats;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Epochs that are remembered before some are forgotten.
const EPOCHS_MAX: usize = 2048;

/// The beginning of an epoch is known to within this part of its age: some thousand entries reach back for centuries.
const PART: u64 = 32;

/// Remembers when the database came to its epochs. The ticker tells, so no transaction pays for it.
pub(crate) struct SnapshotAges(Mutex<VecDeque<(u64, Instant)>>);

impl SnapshotAges {
    /// The database is opened in this epoch.
    pub fn new(epoch: u64) -> Self {
        Self(Mutex::new(VecDeque::from([(epoch, Instant::now())])))
    }

    /// The database has come to this epoch, or stays in it.
    pub fn ticked(&self, epoch: u64) {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.back().is_some_and(|&(last, _)| last >= epoch) {
            return;
        }
        if begun.len() == EPOCHS_MAX {
            thin(&mut begun);
        }
        begun.push_back((epoch, Instant::now()));
    }

    /// How long ago the state was the present that the oldest open snapshot reads: it has the effect of all
    /// epochs before the snapshot's, which began then.
    pub fn oldest_snapshot(&self, stats: &Stats) -> Option<Duration> {
        let open = stats.holds.iter().map(|hold| hold.snapshot).filter(|&snapshot| snapshot > 0);
        let oldest = open.min()?;
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = begun.partition_point(|&(epoch, _)| epoch < oldest);
        Some(begun.get(at).map_or(Duration::ZERO, |(_, when)| when.elapsed()))
    }
}

/// Forgets, from the newest on, each epoch whose neighbours are near enough to each other.
fn thin(begun: &mut VecDeque<(u64, Instant)>) {
    let newest = begun.back().map_or(0, |last| last.0);
    let mut kept: VecDeque<(u64, Instant)> = VecDeque::with_capacity(EPOCHS_MAX);
    for at in (0..begun.len()).rev() {
        let older = at.checked_sub(1).map(|older| begun[older].0);
        let neighbours = older.zip(kept.front().map(|newer| newer.0));
        let is_spared =
            neighbours.is_some_and(|(older, newer)| newer - older <= (newest - newer) / PART);
        if !is_spared {
            kept.push_front(begun[at]);
        }
    }
    *begun = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_ago_is_remembered_roughly() {
        let ages = SnapshotAges::new(1);
        for epoch in 2..1_000_000 {
            ages.ticked(epoch);
            ages.ticked(epoch);
        }
        let begun = ages.0.lock().unwrap();
        assert!(begun.len() <= EPOCHS_MAX);
        assert_eq!(begun.front().map(|it| it.0), Some(1), "the opening stays");
        assert_eq!(begun.back().map(|it| it.0), Some(999_999));
        for (one, next) in begun.iter().zip(begun.iter().skip(1)) {
            let age = 1_000_000 - one.0;
            assert!(next.0 - one.0 <= 1 + age / PART, "{} and {}", one.0, next.0);
        }
    }
}
