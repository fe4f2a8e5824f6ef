//! The workers of a database, and what comes of those that have nothing to do.
//!
//! Each thread has a cache of *slots*, so that it may run transactions without asking for a session; a session that is held on its own
//! has a slot, too. The database knows of all of them. A slot is empty once its thread
//! or its database has gone, so that no thread keeps the memory of a dropped database, and no database that of an
//! ended thread; or when another thread has taken its worker.
//!
//! The lock in a slot is held for each run, so a slot that is not locked has nothing to do. Others only try to
//! take it, so its owner waits for it at most for as long as they work on a portion:
//!
//! - the database's ticker has workers that have run nothing for a while collect their garbage and give back their
//!   free memory;
//! - a transaction that meets the limit of memory has all idle workers do so, one that the ticker has in hand after that;
//! - a thread that may not have a further worker takes one that is idle in another thread's cache.

use crate::rules::Relief;
use crate::session::Session;
use crate::{Error, Result};
use chiliad_machine::{Machine, Native};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The items that the ticker has an idle worker collect at a time: a millisecond's worth.
const PORTION: usize = 4096;

type Slot = Mutex<Berth>;

/// A place for a worker.
#[derive(Default)]
struct Berth {
    session: Option<Session>,
    /// Somebody has it in hand, so no other thread may take it.
    held: bool,
    /// Runs so far.
    runs: u64,
    /// The runs when the ticker looked last.
    seen: u64,
    /// It has nothing left to give back since then.
    rested: bool,
}

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
    /// Held while the ticker works on a slot, which seems to be in use then, and is not.
    ticking: Mutex<()>,
}

#[derive(Default)]
struct Known {
    slots: Vec<Weak<Slot>>,
    /// Those of ended threads are forgotten when there are so many.
    sweep_at: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The slot, if nobody uses it.
fn lock_idle(slot: &Slot) -> Option<MutexGuard<'_, Berth>> {
    match slot.try_lock() {
        Ok(berth) => Some(berth),
        Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => None,
    }
}

impl Slots {
    /// Runs `body` on a worker of this thread: one from its cache, or one made by `make`. A nested
    /// call finds the outer call's worker gone from the cache and takes another.
    pub fn with<T>(
        &self,
        database: u64,
        make: impl FnOnce() -> Result<Session>,
        body: impl FnOnce(&mut Session) -> T,
    ) -> Result<T> {
        let loan = Loan { database, slot: self.take(database) };
        let mut berth = lock(&loan.slot);
        self.fill(&mut berth, make)?;
        Ok(berth.run(body))
    }

    /// One worker for several runs, between which it may be idle.
    pub fn hold(&self, database: u64, make: impl FnOnce() -> Result<Session>) -> Result<Held> {
        let loan = Loan { database, slot: self.take(database) };
        let mut berth = lock(&loan.slot);
        self.fill(&mut berth, make)?;
        berth.held = true;
        drop(berth);
        Ok(Held(loan))
    }

    /// A session out of its slot, for a transaction that lasts longer than a call: one from this thread's cache, or one
    /// made by `make`.
    pub fn out(&self, database: u64, make: impl FnOnce() -> Result<Session>) -> Result<Out> {
        let loan = Loan { database, slot: self.take(database) };
        let mut berth = lock(&loan.slot);
        self.fill(&mut berth, make)?;
        berth.held = true;
        let session = berth.session.take();
        drop(berth);
        Ok(Out { session, loan })
    }

    /// A session that may move to another thread.
    pub fn own(&self, make: impl FnOnce() -> Result<Session>) -> Result<Own> {
        let slot = Arc::new(Slot::default());
        let mut berth = lock(&slot);
        self.fill(&mut berth, make)?;
        berth.held = true;
        drop(berth);
        self.register(&slot);
        Ok(Own { slot, out: None })
    }

    /// Workers that have run nothing since the last call give back what they have.
    pub fn rest_idle(&self) {
        for slot in self.all() {
            let _ticking = lock(&self.ticking);
            let Some(mut berth) = lock_idle(&slot) else { continue };
            if berth.runs != berth.seen {
                berth.seen = berth.runs;
                berth.rested = false;
            } else if !berth.rested {
                berth.rested = berth.session.as_mut().is_none_or(|session| session.rest(PORTION).0);
            }
        }
    }

    /// The slot of this thread that was used last, or a new one.
    fn take(&self, database: u64) -> Arc<Slot> {
        let cached = CACHE.try_with(|cache| {
            let mut cache = cache.borrow_mut();
            let at = cache.iter().rposition(|cached| cached.database == database);
            if at.is_none() {
                cache.retain(Cached::is_alive);
            }
            Some(cache.swap_remove(at?).slot)
        });
        cached.ok().flatten().unwrap_or_else(|| {
            let slot = Arc::new(Slot::default());
            self.register(&slot);
            slot
        })
    }

    fn register(&self, slot: &Arc<Slot>) {
        let mut known = lock(&self.known);
        if known.slots.len() >= known.sweep_at {
            known.slots.retain(|slot| slot.strong_count() > 0);
            known.sweep_at = 2 * known.slots.len() + 16;
        }
        known.slots.push(Arc::downgrade(slot));
    }

    /// Sees to it that the slot has a worker, if need be one that is idle in another thread's cache.
    #[inline]
    fn fill(&self, berth: &mut Berth, make: impl FnOnce() -> Result<Session>) -> Result<()> {
        if berth.session.is_none() {
            berth.session = Some(make().or_else(|error| match error {
                Error::TooManyWorkers { .. } => self.take_over().ok_or(error),
                other => Err(other),
            })?);
        }
        Ok(())
    }

    fn take_over(&self) -> Option<Session> {
        let idle =
            |slot: &Arc<Slot>| self.lock_at_rest(slot).filter(|berth| !berth.held)?.session.take();
        self.all().iter().find_map(idle)
    }

    fn all(&self) -> Vec<Arc<Slot>> {
        lock(&self.known).slots.iter().filter_map(Weak::upgrade).collect()
    }

    /// The slot, if none of those who run transactions uses it: waits for the ticker, if need be.
    fn lock_at_rest<'a>(&self, slot: &'a Slot) -> Option<MutexGuard<'a, Berth>> {
        lock_idle(slot).or_else(|| {
            drop(lock(&self.ticking));
            lock_idle(slot)
        })
    }
}

impl Relief for Slots {
    fn relieve(&self) -> u64 {
        let rest = |slot: &Arc<Slot>| {
            let mut berth = self.lock_at_rest(slot)?;
            Some(berth.session.as_mut()?.rest(usize::MAX).1)
        };
        self.all().iter().filter_map(rest).sum()
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        for slot in known.slots.drain(..).filter_map(|slot| slot.upgrade()) {
            lock(&slot).session.take();
        }
    }
}

impl Berth {
    #[inline]
    fn run<T>(&mut self, body: impl FnOnce(&mut Session) -> T) -> T {
        self.runs += 1;
        let Some(session) = &mut self.session else {
            unreachable!("filled, and emptied only when idle")
        };
        body(session)
    }
}

/// A slot out of the cache, which returns there also when a panic passes.
struct Loan {
    database: u64,
    slot: Arc<Slot>,
}

impl Drop for Loan {
    fn drop(&mut self) {
        let (database, slot) = (self.database, Arc::clone(&self.slot));
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
        lock_idle(&self.slot).is_none_or(|berth| berth.session.is_some())
    }
}

/// A worker of this thread, in hand.
pub(crate) struct Held(Loan);

impl Held {
    /// Runs `body` on it.
    pub fn with<T>(&self, body: impl FnOnce(&mut Session) -> T) -> T {
        lock(&self.0.slot).run(body)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.0.slot).held = false;
    }
}

/// A session out of its slot. Wherever this is dropped, the session goes to that thread's cache.
pub(crate) struct Out {
    session: Option<Session>,
    loan: Loan,
}

impl Out {
    /// The session.
    #[inline]
    pub fn session(&mut self) -> &mut Session {
        let Some(session) = &mut self.session else { unreachable!("until this is dropped") };
        session
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let mut berth = lock(&self.loan.slot);
        berth.session = self.session.take();
        berth.held = false;
        berth.runs += 1;
    }
}

/// A session outside the caches, with one owner.
pub(crate) struct Own {
    slot: Arc<Slot>,
    /// Out of its slot, for a transaction that lasts longer than a call; until the next call.
    out: Option<Session>,
}

impl Own {
    /// Runs `body` on it.
    #[inline]
    pub fn with<T>(&mut self, body: impl FnOnce(&mut Session) -> T) -> T {
        let mut berth = lock(&self.slot);
        if let Some(session) = self.out.take() {
            berth.session = Some(session);
        }
        berth.run(body)
    }

    /// The worker, for as long as its transaction lasts.
    pub fn session(&mut self) -> &mut Session {
        let Self { slot, out } = self;
        out.get_or_insert_with(|| {
            let Some(session) = lock(slot).session.take() else {
                unreachable!("no other thread takes it")
            };
            session
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn what_the_ticker_has_in_hand_is_waited_for_and_what_is_in_use_is_not() {
        let (slots, slot) = (Slots::default(), Slot::default());
        let (begun, has_begun) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ticking = lock(&slots.ticking);
                let _berth = lock(&slot);
                begun.send(()).expect("somebody listens");
                // So that the other thread comes meanwhile, as a rule.
                thread::sleep(Duration::from_millis(20));
            });
            has_begun.recv().expect("it begins");
            assert!(slots.lock_at_rest(&slot).is_some());
        });
        let _used = lock(&slot);
        assert!(slots.lock_at_rest(&slot).is_none());
    }
}
