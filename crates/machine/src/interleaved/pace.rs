//! How many fibers each group admits: one number for all groups that share the work of a database, since
//! what one thread has in flight is in the way of the others' transactions, too.
//!
//! Each group counts what its fibers finish in a line of its own. Whichever group looks at the clock first
//! after the end of a window adds the counts up and asks [`Trials`] what is next; the others see the new
//! number where they are between two transactions.

use super::trials::{Totals, Trials};
use crate::{Machine, Native, Ticks};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many transactions threads have in flight that work on one database: as many as pay, found out by
/// short trials while they work. What was found stays while the value does, beyond the groups.
#[derive(Clone)]
pub struct Pace(Arc<Shared>);

/// The state that groups share.
#[repr(align(128))]
struct Shared {
    /// Fibers that each group admits.
    limit: AtomicUsize,
    /// When somebody is to look next.
    look_at: AtomicU64,
    control: Mutex<Control>,
}

struct Control {
    trials: Trials,
    /// The groups at work.
    groups: Vec<Arc<Count>>,
    /// The counts of groups that are gone.
    finished: u64,
    idle: Ticks,
    /// Time of all groups together, up to a moment.
    group_time: Ticks,
    known_at: Ticks,
}

/// The counts of one group: written by its thread alone.
#[repr(align(128))]
#[derive(Default)]
struct Count {
    finished: AtomicU64,
    /// Time in which no fiber had anything to do.
    idle: AtomicU64,
}

impl Pace {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        let trials = Trials::new(1, Native::now());
        Self(Arc::new(Shared {
            limit: AtomicUsize::new(trials.limit()),
            look_at: AtomicU64::new(trials.until()),
            control: Mutex::new(Control {
                trials,
                groups: Vec::new(),
                finished: 0,
                idle: 0,
                group_time: 0,
                known_at: Native::now(),
            }),
        }))
    }

    /// How many fibers each group admits at this moment.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.limit()
    }

    /// Another group.
    pub(super) fn join(&self, fibers: usize) -> Joined {
        let count = Arc::new(Count::default());
        let now = Native::now();
        let mut control = self.0.lock();
        control.pass(now);
        control.trials.reach(fibers, now);
        control.groups.push(Arc::clone(&count));
        drop(control);
        Joined { shared: Arc::clone(&self.0), count }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    fn limit(&self) -> usize {
        // Relaxed, as all in this file: numbers that say nothing about other memory.
        self.limit.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control {
    /// Counts the time of the groups up to now.
    fn pass(&mut self, now: Ticks) {
        self.group_time += now.saturating_sub(self.known_at) * self.groups.len() as Ticks;
        self.known_at = self.known_at.max(now);
    }

    fn totals(&mut self, now: Ticks) -> Totals {
        self.pass(now);
        let (mut finished, mut idle) = (self.finished, self.idle);
        for group in &self.groups {
            finished += group.finished.load(Ordering::Relaxed);
            idle += group.idle.load(Ordering::Relaxed);
        }
        Totals { now: self.known_at, finished, busy: self.group_time.saturating_sub(idle) }
    }
}

/// A group's place among those that share a pace.
pub(super) struct Joined {
    shared: Arc<Shared>,
    count: Arc<Count>,
}

impl Joined {
    /// Fibers to admit.
    #[inline]
    pub fn limit(&self) -> usize {
        self.shared.limit()
    }

    /// A fiber has finished a transaction.
    #[inline]
    pub fn finished(&self) {
        let finished = &self.count.finished;
        finished.store(finished.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The group had nothing to do for so long.
    pub fn idle(&self, time: Ticks) {
        let idle = &self.count.idle;
        idle.store(idle.load(Ordering::Relaxed) + time, Ordering::Relaxed);
    }

    /// Sees to it that what is due happens.
    pub fn look(&self, now: Ticks) {
        let shared = &self.shared;
        if now < shared.look_at.load(Ordering::Relaxed) {
            return;
        }
        // The group that has the lock does it.
        let Ok(mut control) = shared.control.try_lock() else { return };
        let totals = control.totals(now);
        if totals.now < control.trials.until() {
            return;
        }
        let groups = control.groups.len();
        control.trials.go_on(totals, groups);
        shared.limit.store(control.trials.limit(), Ordering::Relaxed);
        shared.look_at.store(control.trials.until(), Ordering::Relaxed);
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut control = self.shared.lock();
        control.pass(Native::now());
        control.finished += self.count.finished.load(Ordering::Relaxed);
        control.idle += self.count.idle.load(Ordering::Relaxed);
        control.groups.retain(|group| !Arc::ptr_eq(group, &self.count));
    }
}
