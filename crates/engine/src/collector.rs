//! The collector: goes through a worker's garbage and asks the scheme what becomes of each entry: it goes now, later,
//! or is gone.
//!
//! There is no thread for it. Each worker collects what its own transactions have left behind, a little after each of
//! them, so the cost is paid where the garbage is made. What differs from scheme to scheme is when an entry is due
//! ([`Due`]) and how the scheme keeps writers off the record meanwhile; [`Scheme::collect`] says both.

use crate::contract::{Context, Scheme, Tables};
use crate::garbage::{Due, Garbage};
use chiliad_machine::{Cost, Machine};

/// The fate of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing is left to do.
    Gone,
    /// Its time is yet to come, or a transaction is at the record: it is looked at again after the others, or after
    /// the epoch that the scheme has put there.
    Later,
    /// A transaction holds the record for a moment: it is looked at again after all others, which wait as well.
    Blocked,
}

/// Asks `judge` about up to `budget` entries that are `due`, which it takes out of their chains and indexes. Pinned.
pub fn sweep<M: Machine, S: Scheme<M>>(
    scheme: &mut S,
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    budget: usize,
    due: Due,
    mut judge: impl FnMut(&mut S, &mut Context<'_, M, S>, &mut Garbage<M>) -> Fate,
) {
    debug_assert!(cx.heap.is_pinned(), "records stay while they are looked at");
    let there = cx.garbage.len();
    for _ in 0..budget.min(there) {
        let Some(mut garbage) = cx.garbage.take(due) else { return };
        M::work(Cost::Collect, 1);
        // A table that was dropped takes its garbage along.
        let fate = match tables.contains(garbage.table) {
            true => judge(scheme, cx, &mut garbage),
            false => Fate::Gone,
        };
        match fate {
            Fate::Gone => cx.keys.give(garbage.key),
            Fate::Later => cx.garbage.add(garbage),
            Fate::Blocked => {
                cx.garbage.add_last(garbage);
                return;
            }
        }
    }
    debug_assert!(cx.garbage.len() <= there, "a sweep leaves nothing new");
}
