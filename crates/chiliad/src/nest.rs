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
use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    /// Transactions of this thread's fibers whose closures are running.
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
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
pub(crate) fn enter(database: u64, outer: Outer) -> Inside {
    let fiber = Interleaved::worker();
    let open = Open { fiber, database, outer, overtaken: false };
    _ = OPEN.try_with(|all| all.borrow_mut().push(open));
    Inside { fiber, database, outer }
}

/// The transactions of the database in whose closures the caller runs.
pub(crate) fn outer(database: u64) -> Vec<Outer> {
    let open = OPEN.try_with(|all| {
        let all = all.borrow();
        if all.is_empty() {
            return Vec::new();
        }
        let fiber = Interleaved::worker();
        let own = all.iter().filter(|it| it.fiber == fiber && it.database == database);
        own.map(|it| it.outer).collect()
    });
    open.unwrap_or_default()
}

/// A transaction of the caller's has committed writes.
pub(crate) fn has_written(database: u64) {
    _ = OPEN.try_with(|all| {
        let mut all = all.borrow_mut();
        if all.is_empty() {
            return;
        }
        let fiber = Interleaved::worker();
        let own = all.iter_mut().filter(|it| it.fiber == fiber && it.database == database);
        own.for_each(|it| it.overtaken = true);
    });
}

impl Inside {
    fn place(&self, all: &[Open]) -> Option<usize> {
        all.iter().rposition(|it| {
            it.outer == self.outer && it.database == self.database && it.fiber == self.fiber
        })
    }

    /// Whether a transaction inside this one has committed writes.
    pub fn is_overtaken(&self) -> bool {
        let overtaken = OPEN.try_with(|all| {
            let all = all.borrow();
            self.place(&all).is_some_and(|at| all[at].overtaken)
        });
        overtaken.unwrap_or(false)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        _ = OPEN.try_with(|all| {
            let mut all = all.borrow_mut();
            if let Some(at) = self.place(&all) {
                all.swap_remove(at);
            }
        });
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
