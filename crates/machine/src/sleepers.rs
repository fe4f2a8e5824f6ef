//! Sleepers that can be woken, by number: threads, and the fibers of a group on one (`interleaved`).

use crate::WorkerId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

/// All that have asked for a [`WorkerId`], by its number; `None` once it has ended. Wakers read it side by side.
static SLEEPERS: RwLock<Vec<Option<Sleeper>>> = RwLock::new(Vec::new());

enum Sleeper {
    Thread(Thread),
    Fiber(Arc<FiberBell>),
}

/// Tells a thread that fibers of its group were woken.
pub(crate) struct GroupBell {
    rung: AtomicBool,
    /// The fibers that were woken since the thread looked last, by their numbers in the group.
    woken: Mutex<Vec<u32>>,
    /// Wakes the thread, which may be asleep since none of its fibers can run.
    waker: Waker,
    /// The thread, by [`here`].
    thread: usize,
}

/// A number of the calling thread that no other living one has.
fn here() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| core::ptr::from_ref(place).addr())
}

impl GroupBell {
    /// The bell of the calling thread, which `waker` wakes.
    pub(crate) fn new(waker: Waker) -> Self {
        Self { rung: AtomicBool::new(false), woken: Mutex::default(), waker, thread: here() }
    }

    /// Wakes the calling thread where it sleeps in [`thread::park`].
    pub(crate) fn waker_of_thread() -> Waker {
        Waker::from(Arc::new(Parked(thread::current())))
    }

    /// Whether a fiber was woken since it was hushed.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        // Relaxed: a hint; `hush` acquires what the wakers did.
        self.rung.load(Ordering::Relaxed)
    }

    /// Moves the fibers that were woken since the last call to `woken`.
    pub(crate) fn hush(&self, woken: &mut Vec<u32>) {
        debug_assert!(woken.is_empty(), "all that were woken before were looked at");
        // Acquire pairs with the release in `ring`: the entry that was made before is seen.
        if self.is_rung() && self.rung.swap(false, Ordering::Acquire) {
            core::mem::swap(woken, &mut *self.lock());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u32>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that sleeps in [`thread::park`].
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Wakes one fiber.
pub(crate) struct FiberBell {
    permit: AtomicBool,
    /// The fiber's number in its group.
    number: u32,
    group: Arc<GroupBell>,
}

impl FiberBell {
    /// Takes the permit to return from a park, if somebody has given it.
    pub(crate) fn take_permit(&self) -> bool {
        // Acquire pairs with the release in `ring`: what the waker did before is visible.
        self.permit.load(Ordering::Relaxed) && self.permit.swap(false, Ordering::Acquire)
    }

    fn ring(&self) {
        // Release pairs with the acquire in `take_permit`. A permit that is there already has its entry, or its
        // fiber is awake and takes it before it sleeps.
        if !self.permit.swap(true, Ordering::Release) {
            self.group.lock().push(self.number);
        }
        // Release pairs with the acquire in `hush`.
        self.group.rung.store(true, Ordering::Release);
        // The group's own thread is awake: it looks at the bell before it sleeps.
        if self.group.thread != here() {
            self.group.waker.wake_by_ref();
        }
    }
}

fn enter(sleeper: Sleeper) -> WorkerId {
    let mut sleepers = SLEEPERS.write().unwrap_or_else(PoisonError::into_inner);
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

/// Enters the fiber of this number in a group.
pub(crate) fn enter_fiber(group: &Arc<GroupBell>, number: u32) -> (WorkerId, Arc<FiberBell>) {
    let (permit, group) = (AtomicBool::new(false), Arc::clone(group));
    let bell = Arc::new(FiberBell { permit, number, group });
    (enter(Sleeper::Fiber(Arc::clone(&bell))), bell)
}

/// Takes an entry back: its number may be another's from now on.
pub(crate) fn leave(worker: WorkerId) {
    let mut sleepers = SLEEPERS.write().unwrap_or_else(PoisonError::into_inner);
    sleepers[worker.0 as usize] = None;
}

/// Wakes `worker`, or lets its next park return at once.
pub(crate) fn wake(worker: WorkerId) {
    let sleepers = SLEEPERS.read().unwrap_or_else(PoisonError::into_inner);
    match sleepers.get(worker.0 as usize) {
        Some(Some(Sleeper::Thread(thread))) => thread.unpark(),
        Some(Some(Sleeper::Fiber(bell))) => bell.ring(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Counts its calls.
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_thread_does_not_wake_itself() {
        let calls = Arc::new(Calls(AtomicUsize::new(0)));
        let group = Arc::new(GroupBell::new(Waker::from(Arc::clone(&calls))));
        let (worker, bell) = enter_fiber(&group, 3);
        let woken = || {
            let mut woken = Vec::new();
            group.hush(&mut woken);
            assert!(bell.take_permit());
            (woken, calls.0.load(Ordering::Relaxed))
        };
        wake(worker);
        assert_eq!(woken(), (vec![3], 0));
        std::thread::spawn(move || wake(worker)).join().unwrap();
        assert_eq!(woken(), (vec![3], 1));
        leave(worker);
    }
}
