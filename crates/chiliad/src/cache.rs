//! Each thread's workers, so that any thread may run transactions without asking for one.
//!
//! A slot belongs to the thread that made it: the thread's cache owns it, the database knows of it.
//! It is empty once either has gone, so that no thread keeps the memory of a dropped database, and
//! no database that of an ended thread. The lock in a slot is taken by its own thread for each run
//! and by another only when the database is dropped, so it is never waited for.

use crate::Result;
use crate::seat::Seat;
use chiliad_machine::{Machine, Native};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

type Slot = Mutex<Option<Seat>>;

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = RefCell::new({
        // The machine's own thread-local must outlive the workers that are dropped with this one:
        // what is first used earlier is destroyed later. The thread's, also if one of those that take
        // turns on it comes here first.
        Native::worker();
        Vec::new()
    });
}

struct Cached {
    database: u64,
    slot: Arc<Slot>,
}

/// The slots of one database, in whichever threads.
#[derive(Default)]
pub(crate) struct Slots {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    slots: Vec<Weak<Slot>>,
    /// Those of ended threads are forgotten when there are so many.
    sweep_at: usize,
}

impl Slots {
    /// Runs `body` on a worker of this thread: one from its cache, or one made by `make`. A nested
    /// call finds the outer call's worker gone from the cache and takes another.
    pub fn with<T>(
        &self,
        database: u64,
        make: impl FnOnce() -> Result<Seat>,
        body: impl FnOnce(&mut Seat) -> T,
    ) -> Result<T> {
        let loan = Loan { database, slot: Some(self.take(database, make)?) };
        let Some(slot) = &loan.slot else { unreachable!("lent above") };
        let mut seat = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seat) = &mut *seat else { unreachable!("emptied only without a database") };
        Ok(body(seat))
    }

    fn take(&self, database: u64, make: impl FnOnce() -> Result<Seat>) -> Result<Arc<Slot>> {
        let cached = CACHE.try_with(|cache| {
            let mut cache = cache.borrow_mut();
            let at = cache.iter().rposition(|cached| cached.database == database);
            if at.is_none() {
                cache.retain(Cached::is_alive);
            }
            Some(cache.swap_remove(at?).slot)
        });
        if let Ok(Some(slot)) = cached {
            return Ok(slot);
        }
        let slot = Arc::new(Mutex::new(Some(make()?)));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.slots.len() >= known.sweep_at {
            known.slots.retain(|slot| slot.strong_count() > 0);
            known.sweep_at = 2 * known.slots.len() + 16;
        }
        known.slots.push(Arc::downgrade(&slot));
        Ok(slot)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        for slot in known.slots.drain(..).filter_map(|slot| slot.upgrade()) {
            slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

/// A slot out of the cache, which returns there also when a panic passes.
struct Loan {
    database: u64,
    slot: Option<Arc<Slot>>,
}

impl Drop for Loan {
    fn drop(&mut self) {
        let (database, Some(slot)) = (self.database, self.slot.take()) else { return };
        // In a thread that is ending there is no cache any more, and the worker goes with the loan.
        let _ = CACHE.try_with(|cache| {
            let mut cache = cache.borrow_mut();
            cache.push(Cached { database, slot });
        });
    }
}

impl Cached {
    fn is_alive(&self) -> bool {
        // Locked: in use, hence alive. (A slot in a cache is not in use by its own thread.)
        self.slot.try_lock().map_or(true, |seat| seat.is_some())
    }
}
