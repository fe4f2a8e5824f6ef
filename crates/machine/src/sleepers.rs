//! Sleepers that can be woken, by number: threads, and the fibers of a group on one (`interleaved`).

use crate::WorkerId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// All that have asked for a [`WorkerId`], by its number; `None` once it has ended.
static SLEEPERS: Mutex<Vec<Option<Sleeper>>> = Mutex::new(Vec::new());

enum Sleeper {
    Thread(Thread),
    Fiber(Arc<FiberBell>),
}

/// Tells a thread that one of the fibers of its group was woken.
pub(crate) struct GroupBell {
    rung: AtomicBool,
    /// Asleep, perhaps, since none of its fibers can run.
    thread: Thread,
}

impl GroupBell {
    /// The calling thread's.
    pub(crate) fn new() -> Self {
        Self { rung: AtomicBool::new(false), thread: thread::current() }
    }

    /// Whether a fiber was woken since it was hushed.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        // Relaxed: a hint; `hush` acquires what the wakers did.
        self.rung.load(Ordering::Relaxed)
    }

    /// The caller looks for woken fibers from here on.
    pub(crate) fn hush(&self) {
        if self.is_rung() {
            // Acquire pairs with the release in `ring`: the permit that was given before is seen.
            self.rung.swap(false, Ordering::Acquire);
        }
    }
}

/// Wakes one fiber.
pub(crate) struct FiberBell {
    permit: AtomicBool,
    group: Arc<GroupBell>,
}

impl FiberBell {
    /// Takes the permit to return from a park, if somebody has given it.
    pub(crate) fn take_permit(&self) -> bool {
        // Acquire pairs with the release in `ring`: what the waker did before is visible.
        self.permit.load(Ordering::Relaxed) && self.permit.swap(false, Ordering::Acquire)
    }

    fn ring(&self) {
        // Release pairs with the acquire in `take_permit`.
        self.permit.store(true, Ordering::Release);
        // Release pairs with the acquire in `hush`.
        self.group.rung.store(true, Ordering::Release);
        self.group.thread.unpark();
    }
}

fn enter(sleeper: Sleeper) -> WorkerId {
    let mut sleepers = SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let free = sleepers.iter().position(Option::is_none).unwrap_or(sleepers.len());
    if free == sleepers.len() {
        sleepers.push(None);
    }
    sleepers[free] = Some(sleeper);
    WorkerId(u32::try_from(free).expect("fewer sleepers than u32 counts"))
}

/// Enters the calling thread.
pub(crate) fn enter_thread() -> WorkerId {
    enter(Sleeper::Thread(thread::current()))
}

/// Enters a fiber of a group.
pub(crate) fn enter_fiber(group: &Arc<GroupBell>) -> (WorkerId, Arc<FiberBell>) {
    let bell = Arc::new(FiberBell { permit: AtomicBool::new(false), group: Arc::clone(group) });
    (enter(Sleeper::Fiber(Arc::clone(&bell))), bell)
}

/// Takes an entry back: its number may be another's from now on.
pub(crate) fn leave(worker: WorkerId) {
    let mut sleepers = SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    sleepers[worker.0 as usize] = None;
}

/// Wakes `worker`, or lets its next park return at once.
pub(crate) fn wake(worker: WorkerId) {
    let sleepers = SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    match sleepers.get(worker.0 as usize) {
        Some(Some(Sleeper::Thread(thread))) => thread.unpark(),
        Some(Some(Sleeper::Fiber(bell))) => bell.ring(),
        _ => {}
    }
}
