//! Read-only tables (Yu, 2015, 5.6: what reading TPC-C's ITEM costs, which nobody changes).
//!
//! A table declared [`Writes::Loads`](crate::Writes) takes rows from loads alone, and once it is
//! sealed none at all. From then on its rows are read without the scheme: nothing is locked, tracked
//! or validated, since nothing can change.
//!
//! One word: bit 0 is set when the table is being sealed, the rest counts loads in progress. What has
//! the value 1 is sealed for good. Until then its rows are read like those of any other table, so a
//! transaction that sees it become sealed has either been validated over what it missed before, or is
//! refused.

use chiliad_machine::{Machine, Ordering, Patience, Word};

const SEALED: u64 = 1;
const LOAD: u64 = 2;

/// Whether a table takes loads. Lives in the machine's memory.
pub struct Seal<M: Machine>(M::Word);

impl<M: Machine> Seal<M> {
    /// Of a table that is sealed already, or takes loads.
    pub fn new(sealed: bool) -> Self {
        Self(M::Word::new(u64::from(sealed)))
    }

    /// Whether nothing will ever change in the table.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire pairs with the release in `leave`: all that was loaded is visible.
        self.0.load(Ordering::Acquire) == SEALED
    }

    /// A load begins, unless it is too late.
    pub fn enter(&self) -> bool {
        let enters = self.0.fetch_add(LOAD, Ordering::SeqCst) & SEALED == 0;
        if !enters {
            self.leave();
        }
        enters
    }

    /// A load has ended, either way.
    pub fn leave(&self) {
        // Release pairs with the acquire in `is_closed`.
        let found = self.0.fetch_add(LOAD.wrapping_neg(), Ordering::Release);
        debug_assert!(found >= LOAD, "a load has begun");
    }

    /// Lets no load begin any more, and waits for those that have.
    pub fn close(&self) {
        self.0.fetch_or(SEALED, Ordering::SeqCst);
        let mut patience = Patience::<M>::new();
        while !self.is_closed() {
            patience.wait();
        }
    }
}
