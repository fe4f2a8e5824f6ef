//! Locks that a session has released and the pool does not know of yet: gathered by leaf, so that the pool
//! is told of a leaf's locks with one access.

use crate::lock::Place;
use crate::pool::Pool;
use chiliad_machine::Machine;

/// Locks of a leaf to which nobody comes any more, and of which the pool does not know yet.
#[derive(Default)]
pub(crate) struct Retired {
    /// One of them.
    place: Place,
    /// A flag for each.
    flags: u64,
}

impl Retired {
    /// One more.
    #[inline]
    pub fn add<M: Machine>(&mut self, place: Place, pool: &Pool<M>) {
        if place.leaf() != self.place.leaf() {
            self.hand_back(pool);
            self.place = place;
        }
        debug_assert!(self.flags & place.flag() == 0, "a lock is given back once");
        self.flags |= place.flag();
    }

    /// Lets the pool know.
    #[cold]
    pub fn hand_back<M: Machine>(&mut self, pool: &Pool<M>) {
        let flags = core::mem::take(&mut self.flags);
        if flags != 0 {
            pool.retire(self.place.leaf(), flags);
        }
    }
}
