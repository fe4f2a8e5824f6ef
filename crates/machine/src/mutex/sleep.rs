//! A mutex of three states whose waiters sleep (Drepper, "Futexes are tricky", 2004), with the system's
//! queue of sleepers beside it.
//!
//! - Without waiters there are no calls into the system.
//! - A worker that falls asleep has written `WANTED`, and found it still written in the queue's critical
//!   section. The holder frees the word when it leaves, and looks into the queue if that was written. So it
//!   finds the sleeper there, or the sleeper finds the word changed.
//! - The mutex is not handed over: a woken worker competes like all others, and may come too late.
//! - The queue is guarded as Linux guards its own, by a queue lock whose waiters spin.

use super::Node;
use super::mcs::Mcs;
use crate::{Fault, Line, Link, Machine, Ordering, Rig, Spin, Tagged, Word, WorkerId};

const FREE: u64 = 0;
const HELD: u64 = 1;
/// Held, and a waiter may sleep.
const WANTED: u64 = 2;

/// A holder that leaves before the sleeper is in the queue does not find it there.
static SLEPT_UNSEEN: Fault = Fault {
    name: "slept-unseen",
    step: "whoever falls asleep looks at the mutex again in the critical section of the sleepers' queue",
    rig: Rig::Loom,
    schemes: &[],
    workload: "ycsb",
    expected: &["deadlock"],
    seeds: 0,
};

/// The planted bugs of the mutexes.
pub static FAULTS: &[&Fault] = &[&SLEPT_UNSEEN];

/// The word, and the sleepers.
pub(super) struct Sleep<M: Machine> {
    word: Line<M::Word>,
    guard: Mcs<M>,
    sleepers: Line<Sleepers<M>>,
}

/// A queue; touched under the guard.
struct Sleepers<M: Machine> {
    first: M::Link<Node<M>>,
    last: M::Link<Node<M>>,
}

impl<M: Machine> Sleep<M> {
    pub(super) fn new() -> Self {
        let sleepers =
            Sleepers { first: M::Link::new(Tagged::null()), last: M::Link::new(Tagged::null()) };
        Self { word: Line(M::Word::new(FREE)), guard: Mcs::new(), sleepers: Line(sleepers) }
    }

    /// Waits until the word is ours, asleep or awake.
    pub(super) fn enter(&self, node: &Node<M>, sleeps: bool) -> u64 {
        // Acquire, here and below, pairs with the release in `leave`.
        let quick =
            || self.word.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        if sleeps {
            if quick().is_err() {
                while self.word.0.swap(WANTED, Ordering::Acquire) != FREE {
                    self.sleep(node);
                }
            }
        } else {
            // Sleepers are not forgotten: the release that freed the word wakes one, which writes that it waits.
            let mut spin = Spin::<M>::new();
            while quick().is_err() {
                // Relaxed: a hint; the exchange decides.
                while self.word.0.load(Ordering::Relaxed) != FREE {
                    spin.wait();
                }
            }
        }
        M::enter_section();
        0
    }

    pub(super) fn leave(&self, node: &Node<M>) {
        M::leave_section();
        // Release pairs with the acquires in `enter`.
        if self.word.0.swap(FREE, Ordering::Release) == WANTED {
            self.wake(node);
        }
    }

    /// Sleeps, unless the word has changed.
    fn sleep(&self, node: &Node<M>) {
        M::call_system();
        self.guard.enter(node);
        // Relaxed: the guard orders this against a holder that frees the word and then looks.
        let wanted = self.word.0.load(Ordering::Relaxed) == WANTED;
        let sleeps = wanted || M::fault(&SLEPT_UNSEEN);
        if sleeps {
            self.sleepers.0.put(node);
        }
        self.guard.leave(node);
        // Acquire pairs with the release in `wake`: the node is ours again.
        while sleeps && node.woken.load(Ordering::Acquire) == 0 {
            M::park();
        }
    }

    /// Wakes the worker that has slept longest.
    fn wake(&self, node: &Node<M>) {
        M::call_system();
        self.guard.enter(node);
        let first = self.sleepers.0.take();
        self.guard.leave(node);
        if let Some(first) = first {
            // SAFETY: it sleeps until the word below is written, and keeps its node until then.
            let first = unsafe { &*first.pointer() };
            let worker = first.worker.load(Ordering::Relaxed);
            // Release pairs with the acquire in `sleep`. The node is its owner's from here on.
            first.woken.store(1, Ordering::Release);
            M::unpark(WorkerId(worker as u32));
        }
    }
}

/// All relaxed: under the guard.
impl<M: Machine> Sleepers<M> {
    fn put(&self, node: &Node<M>) {
        node.worker.store(u64::from(M::worker().0), Ordering::Relaxed);
        node.woken.store(0, Ordering::Relaxed);
        node.behind.store(Tagged::null(), Ordering::Relaxed);
        let last = self.last.load(Ordering::Relaxed);
        if last.is_null() {
            self.first.store(node.tagged(), Ordering::Relaxed);
        } else {
            // SAFETY: it sleeps, and keeps its node until it has been taken out.
            let last = unsafe { &*last.pointer() };
            last.behind.store(node.tagged(), Ordering::Relaxed);
        }
        self.last.store(node.tagged(), Ordering::Relaxed);
    }

    fn take(&self) -> Option<Tagged<Node<M>>> {
        let first = self.first.load(Ordering::Relaxed);
        if first.is_null() {
            return None;
        }
        // SAFETY: the first sleeps, and keeps its node until it has been taken out, which is what happens here.
        let behind = unsafe { &*first.pointer() }.behind.load(Ordering::Relaxed);
        self.first.store(behind, Ordering::Relaxed);
        if behind.is_null() {
            self.last.store(Tagged::null(), Ordering::Relaxed);
        }
        Some(first)
    }
}
