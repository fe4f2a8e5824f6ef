//! Memory of locks in a table with mutexes: made by the dozen, kept by the session that used it, and passed on when a
//! session has far more than it needs. Never given back to the machine.

use crate::answer::Refused;
use crate::lock::{Lock, Place};
use chiliad_machine::{Array, Latch, Machine};
use core::ptr::NonNull;

/// Locks that are made, or change hands, at a time.
const TOGETHER: usize = 64;

/// The locks that a session keeps at most.
const KEPT_MAX: usize = 4 * TOGETHER;

/// Locks that are in no chain.
pub(super) type Spare<M> = Vec<NonNull<Lock<M>>>;

/// All memory of a table's locks.
pub(super) struct Memory<M: Machine> {
    stock: Latch<M, Stock<M>>,
    locks_max: u64,
}

struct Stock<M: Machine> {
    made: Vec<Array<M, Lock<M>>>,
    /// The locks that no session keeps.
    spare: Spare<M>,
}

// SAFETY: the pointers lead to what has been made, which is shared by words.
unsafe impl<M: Machine> Send for Stock<M> where Array<M, Lock<M>>: Send {}

impl<M: Machine> Memory<M> {
    pub fn new(locks_max: u64) -> Self {
        Self { stock: Latch::new(Stock { made: Vec::new(), spare: Vec::new() }), locks_max }
    }

    /// A lock of those that the session keeps, or one more. It lives as long as the table.
    #[inline]
    pub fn take(&self, kept: &mut Spare<M>) -> Result<NonNull<Lock<M>>, Refused> {
        if kept.is_empty() {
            self.refill(kept)?;
        }
        kept.pop().ok_or(Refused::Exhausted)
    }

    #[cold]
    fn refill(&self, kept: &mut Spare<M>) -> Result<(), Refused> {
        debug_assert!(kept.is_empty(), "what is kept is used up first");
        let mut stock = self.stock.lock();
        if stock.spare.is_empty() {
            if (stock.made.len() * TOGETHER) as u64 >= self.locks_max {
                return Err(Refused::Exhausted);
            }
            // Where it is given back to is not what this table goes by.
            let place = Place::default();
            let made = Array::<M, Lock<M>>::new(TOGETHER, || Lock::new(place));
            stock.spare.extend((0..TOGETHER).rev().map(|at| NonNull::from(made.get(at))));
            stock.made.push(made);
        }
        let some = stock.spare.len().saturating_sub(TOGETHER);
        kept.extend(stock.spare.drain(some..));
        debug_assert!(!kept.is_empty(), "there is one");
        Ok(())
    }

    /// Passes on what a session has too much of; all of it when the session ends.
    #[inline]
    pub fn pass_on(&self, kept: &mut Spare<M>, ends: bool) {
        if ends || kept.len() > KEPT_MAX {
            let stays = if ends { 0 } else { TOGETHER };
            debug_assert!(stays <= kept.len(), "some stay");
            self.stock.lock().spare.extend(kept.drain(stays..));
        }
    }
}
