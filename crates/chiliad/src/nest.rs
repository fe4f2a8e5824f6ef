//! Transactions inside the closures of others.
//!
//! The inner one ends before the outer one can. So it must not wait for what the outer one holds: the engine
//! is told of all outer ones, and refuses to wait for them ([`chiliad_engine::Intent::outer`]). And two kinds of
//! aborts come again however often the transaction is run:
//!
//! - of an inner one that meets what an outer one holds, under schemes that do not know which transaction holds what;
//! - of an outer one that has read what an inner one then overwrites.
//!
//! Both may also be due to other transactions, which come and go, so some are allowed for ([`Aborts`]).

use chiliad_engine::{NESTED_PATIENCE, Nested, Outer};
use chiliad_machine::{Interleaved, Machine, WorkerId};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

thread_local! {
    /// Transactions of this thread's fibers whose closures are running.
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
    /// How many those are, for the usual case that there are none.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Open {
    fiber: WorkerId,
    database: u64,
    outer: Outer,
    /// A transaction inside it has committed writes.
    overtaken: bool,
}

/// A closure is running, until this is dropped.
pub(crate) struct Inside {
    fiber: WorkerId,
    database: u64,
    outer: Outer,
}

/// The closure of a transaction begins.
#[inline]
pub(crate) fn enter(database: u64, outer: Outer) -> Inside {
    let fiber = Interleaved::worker();
    let open = Open { fiber, database, outer, overtaken: false };
    change(|all| all.push(open));
    Inside { fiber, database, outer }
}

/// Changes the list, unless the thread is ending.
#[inline]
fn change<T>(change: impl FnOnce(&mut Vec<Open>) -> T) -> Option<T> {
    let changed = OPEN.try_with(|all| {
        let mut all = all.borrow_mut();
        let changed = change(&mut all);
        COUNT.set(all.len());
        changed
    });
    changed.ok()
}

/// The transactions of the database in whose closures the caller runs.
#[inline]
pub(crate) fn outer(database: u64) -> Vec<Outer> {
    if COUNT.get() == 0 { Vec::new() } else { find_outer(database) }
}

#[cold]
fn find_outer(database: u64) -> Vec<Outer> {
    let fiber = Interleaved::worker();
    let outer = OPEN.try_with(|all| {
        let all = all.borrow();
        let own = all.iter().filter(|it| it.fiber == fiber && it.database == database);
        own.map(|it| it.outer).collect()
    });
    outer.unwrap_or_default()
}

/// A transaction of the caller's has committed writes.
#[inline]
pub(crate) fn has_written(database: u64) {
    if COUNT.get() > 0 {
        overtake(database);
    }
}

#[cold]
fn overtake(database: u64) {
    let fiber = Interleaved::worker();
    change(|all| {
        let own = all.iter_mut().filter(|it| it.fiber == fiber && it.database == database);
        own.for_each(|it| it.overtaken = true);
    });
}

impl Inside {
    /// The closure has ended. Whether a transaction inside this one has committed writes.
    #[inline]
    pub fn leave(self) -> bool {
        let overtaken = self.end();
        core::mem::forget(self);
        overtaken
    }

    #[inline]
    fn end(&self) -> bool {
        let left = change(|all| {
            let place = all.iter().rposition(|it| {
                it.outer == self.outer && it.database == self.database && it.fiber == self.fiber
            });
            place.is_some_and(|at| all.swap_remove(at).overtaken)
        });
        left.unwrap_or(false)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.end();
    }
}

/// Aborts of an inner transaction before it gives up, if they have come for as long as it may wait.
const REFUSALS_MIN: u32 = 32;
/// Aborts of an outer one in a row, each after an inner one had committed writes. Those stay committed, so
/// fewer are better.
const OVERTAKEN_MAX: u32 = 32;

/// The aborts of a transaction that has been run again and again.
#[derive(Default)]
pub(crate) struct Aborts {
    /// Since when it has been refused inside another one, and how often.
    nested: Option<(Instant, u32)>,
    overtaken: u32,
}

impl Aborts {
    /// It was refused: `overtaken` if one inside it had committed writes. Why it is not to be run again.
    pub fn add(&mut self, nested: bool, overtaken: bool) -> Option<Nested> {
        self.overtaken = if overtaken { self.overtaken + 1 } else { 0 };
        if self.overtaken == OVERTAKEN_MAX {
            return Some(Nested::UndoneByInner);
        }
        if !nested {
            return None;
        }
        let (since, aborts) = self.nested.get_or_insert_with(|| (Instant::now(), 0));
        *aborts = aborts.saturating_add(1);
        let patience = Duration::from_secs(1) / NESTED_PATIENCE as u32;
        (*aborts >= REFUSALS_MIN && since.elapsed() >= patience).then_some(Nested::HeldUp)
    }
}
