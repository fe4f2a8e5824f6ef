//! The lock of one partition: who has it, who waits for it, and who is next.
//!
//! ```text
//!  63                                         1       0
//! +--------------------------------------------+--------+
//! | the holder's timestamp; 0: the lock is free| queued |
//! +--------------------------------------------+--------+
//! ```
//!
//! - **Free, and nobody queued**: taken by one compare-and-swap. Whoever comes to an empty queue is the
//!   oldest in it, so this grants what the paper's engines grant. Someone older may have drawn a
//!   timestamp and not be here yet; H-Store's engines do not wait for those either, once they need
//!   not allow for clocks that disagree (Yu, 2015, 4.3.3).
//! - **Held**: the transaction queues, under the queue's latch, says so in the word, spins a little
//!   if it is the first there, and parks. The holder, when it goes, finds the bit and hands the word to the oldest in the queue, in
//!   one store. Then it wakes that worker.
//! - **Free, and somebody queued**: only where threads share cores ([`Machine::shares_cores`]). A lock that is handed to a
//!   thread that sleeps does nothing until a core has been found for that thread, and so does everybody who wants the
//!   partition: with more clients than cores each transaction would take a switch of threads. So a holder hands the lock to a
//!   sleeper [`HAND_OVERS`] times a second at most. In between it *calls* the oldest, which means that it wakes it, and leaves the
//!   lock free: a transaction that runs may take it, and goes before those that sleep. One is called at a time. When the called
//!   one runs and the lock is free, it hands the lock to the oldest in the queue, itself as a rule; otherwise it sleeps again,
//!   and the holder will call once more.
//!
//! **Nobody starves.** Timestamps grow, so only finitely many are older than that of one who waits. Who is the oldest is handed
//! the lock by the first holder to go after a time that is bounded.
//!
//! **No wake-up is lost.** A waiter looks at the word before each park. The word is stored before the
//! wake-up, and a wake-up before the park makes the park return at once. The lock is left free only when somebody was called,
//! and the called one does not sleep again, or leave, before it has found the lock held or has handed it on.

use super::super::faults;
use crate::timestamps::TIMESTAMP_BITS;
use crate::wait::{Ended, Limits};
use chiliad_machine::{Cost, Latch, Line, Machine, Ordering, Ticks, Word, WorkerId};
use core::cmp::Reverse;
use std::collections::BinaryHeap;

const QUEUED: u64 = 1;
const _: () = assert!(TIMESTAMP_BITS < u64::BITS, "a timestamp has room for the bit");

/// The first in a queue spins for this part of a second before it parks, 31 us: several times what a short
/// transaction takes, and about what it costs to be woken.
const SPINS_FOR: u64 = 32_000;

/// How often in a second a lock is handed to a thread that sleeps, where others could take it meanwhile: each time may cost as
/// much as ten short transactions.
const HAND_OVERS: u64 = 4_000;

/// One partition: the word that every transaction looks at and, on another line, its waiters.
#[repr(C)]
pub(super) struct Partition<M: Machine> {
    pub(super) word: Line<M::Word>,
    pub(super) queue: Line<Latch<M, Queue>>,
}

/// The waiters of a partition. Zero is nobody's timestamp.
#[derive(Default)]
pub(super) struct Queue {
    /// The oldest on top.
    pub(super) waiters: BinaryHeap<Reverse<(u64, WorkerId)>>,
    /// The one that spins.
    awake: u64,
    /// The one that was called, and has not looked at the lock yet.
    called: u64,
    /// When the lock may be handed to a sleeper again.
    hands_over_at: Ticks,
}

impl Queue {
    fn oldest(&self) -> Option<(u64, WorkerId)> {
        self.waiters.peek().map(|Reverse(waiter)| *waiter)
    }

    /// Whether the oldest sleeps, and others may go before it at this moment.
    fn may_be_overtaken<M: Machine>(&self) -> bool {
        let sleeps = self.oldest().is_some_and(|(timestamp, _)| timestamp != self.awake);
        M::shares_cores() && sleeps && M::now() < self.hands_over_at
    }

    /// The worker to be woken so that it takes the lock, unless one is on its way.
    fn call(&mut self) -> Option<WorkerId> {
        let (timestamp, worker) = self.oldest().filter(|_| self.called == 0)?;
        self.called = timestamp;
        Some(worker)
    }

    /// The waiter does not spin any more, and is not on its way.
    fn forget(&mut self, timestamp: u64) {
        for note in [&mut self.awake, &mut self.called] {
            if *note == timestamp {
                *note = 0;
            }
        }
    }
}

impl<M: Machine> Partition<M> {
    pub fn new() -> Self {
        Self { word: Line(M::Word::new(0)), queue: Line(Latch::new(Queue::default())) }
    }

    #[inline]
    pub fn lock(&self, timestamp: u64, limits: &Limits<M>) -> Result<(), Ended> {
        debug_assert!(timestamp > 0, "zero stands for nobody");
        if self.take(timestamp) { Ok(()) } else { self.wait(timestamp, limits) }
    }

    /// Takes the lock if it is free.
    #[inline]
    fn take(&self, timestamp: u64) -> bool {
        let word = &self.word.0;
        let found = word.load(Ordering::Relaxed);
        if found > QUEUED {
            return false;
        }
        let taken = timestamp << 1 | found;
        if M::fault(&faults::TAKEN_IN_TWO_STEPS) {
            // Release pairs with the acquire below, and hands nothing over.
            word.store(taken, Ordering::Release);
            return true;
        }
        // Acquire pairs with the releases in `unlock` and `hand_on`: we see what the last holder wrote.
        word.compare_exchange(found, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Queues and waits for the grant, unless the lock has become free.
    #[cold]
    fn wait(&self, timestamp: u64, limits: &Limits<M>) -> Result<(), Ended> {
        // Relaxed: if it is this thread's own it stays.
        limits.check_named(self.word.0.load(Ordering::Relaxed) >> 1)?;
        M::work(Cost::Queue, 1);
        let word = &self.word.0;
        let mut queue = self.queue.0.lock();
        loop {
            if self.take(timestamp) {
                return Ok(());
            }
            let found = word.load(Ordering::Relaxed);
            if found > timestamp << 1 && M::fault(&faults::TAKEN_FROM_YOUNGER) {
                // Release pairs with the acquire in `take`, and hands nothing over.
                word.store(timestamp << 1 | found & QUEUED, Ordering::Release);
                return Ok(());
            }
            // The bit tells the holder to look into the queue, for which it needs the latch.
            let queued = found | QUEUED;
            let said = found > QUEUED
                && (found == queued
                    || word
                        .compare_exchange(found, queued, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok());
            if said {
                break;
            }
        }
        // With others ahead the wait is long.
        let spins = queue.waiters.is_empty();
        let own = |waiter: &Reverse<(u64, WorkerId)>| waiter.0.0 == timestamp;
        debug_assert!(!queue.waiters.iter().any(own), "a transaction waits once");
        queue.waiters.push(Reverse((timestamp, M::worker())));
        if spins {
            queue.awake = timestamp;
        }
        drop(queue);
        M::mark("queued for a partition");
        if spins && self.spin(timestamp) {
            return Ok(());
        }
        let mut wait = limits.wait();
        while !self.is_granted(timestamp) {
            M::mark("parked for a partition");
            if let Err(ended) = wait.asleep(None) {
                return self.leave(timestamp, ended);
            }
            if M::shares_cores() && self.answer(timestamp) {
                break;
            }
        }
        Ok(())
    }

    /// Waits awake, for a short time; whether the lock has been granted. The core is kept: to yield it to another process,
    /// just before the grant, would hold up all that come after.
    fn spin(&self, timestamp: u64) -> bool {
        let end = M::now() + M::ticks_per_second() / SPINS_FOR;
        while M::now() < end {
            let is_free = self.word.0.load(Ordering::Relaxed) == QUEUED;
            if self.is_granted(timestamp) || is_free && self.answer(timestamp) {
                return true;
            }
            M::pause();
        }
        M::shares_cores() && self.answer(timestamp)
    }

    /// A waiter looks at the lock, before it sleeps again: if it is free, the oldest gets it. Whether the waiter has it.
    fn answer(&self, timestamp: u64) -> bool {
        let mut queue = self.queue.0.lock();
        if !M::fault(&faults::CALL_KEPT) {
            queue.forget(timestamp);
        }
        let woken = self.hand_free(&mut queue);
        drop(queue);
        let others = woken.filter(|_| !self.is_granted(timestamp));
        others.into_iter().for_each(M::unpark);
        self.is_granted(timestamp)
    }

    /// Hands the lock to the oldest in the queue if it is free: the worker to be woken.
    fn hand_free(&self, queue: &mut Queue) -> Option<WorkerId> {
        let word = &self.word.0;
        let (oldest, worker) = queue.oldest()?;
        if word.load(Ordering::Relaxed) != QUEUED {
            return None;
        }
        let rest = if queue.waiters.len() > 1 { QUEUED } else { 0 };
        // Acquire pairs with the release in `hand_on`, release with the acquire in `is_granted`: what the last holder wrote is
        // passed on.
        let handed =
            word.compare_exchange(QUEUED, oldest << 1 | rest, Ordering::AcqRel, Ordering::Relaxed);
        handed.ok()?;
        queue.waiters.pop();
        queue.forget(oldest);
        Some(worker)
    }

    /// Leaves the queue, unless the lock has been granted in the last moment. The word may go on saying
    /// that somebody is queued.
    fn leave(&self, timestamp: u64, ended: Ended) -> Result<(), Ended> {
        let mut queue = self.queue.0.lock();
        if self.is_granted(timestamp) {
            return Ok(());
        }
        M::mark("left the queue of a partition");
        queue.waiters.retain(|Reverse((waiter, _))| *waiter != timestamp);
        queue.forget(timestamp);
        let woken = self.hand_free(&mut queue);
        drop(queue);
        woken.into_iter().for_each(M::unpark);
        Err(ended)
    }

    #[inline]
    fn is_granted(&self, timestamp: u64) -> bool {
        // Acquire pairs with the releases in `hand_on` and `hand_free`: we see what the last holder wrote.
        self.word.0.load(Ordering::Acquire) >> 1 == timestamp
    }

    #[inline]
    pub fn unlock(&self, timestamp: u64) {
        // Release pairs with the acquire in `take`.
        let (word, mine) = (&self.word.0, timestamp << 1);
        debug_assert!(mine != 0, "zero stands for nobody");
        if word.compare_exchange(mine, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_on();
        }
    }

    /// Hands the lock to the oldest in the queue, and wakes it; or leaves the lock free, and calls the oldest.
    #[cold]
    fn hand_on(&self) {
        M::work(Cost::Queue, 1);
        let mut queue = self.queue.0.lock();
        if queue.may_be_overtaken::<M>() {
            M::mark("partition left free");
            // Release pairs with the acquires in `take` and `hand_free`.
            self.word.0.store(QUEUED, Ordering::Release);
            let called = queue.call();
            drop(queue);
            return called.into_iter().for_each(M::unpark);
        }
        let oldest = queue.waiters.pop().map(|Reverse(waiter)| waiter);
        let next = oldest.map_or(0, |(timestamp, _)| timestamp);
        let queued = if queue.waiters.is_empty() { 0 } else { QUEUED };
        if M::shares_cores() {
            if next != queue.awake {
                queue.hands_over_at = M::now() + M::ticks_per_second() / HAND_OVERS;
            }
            queue.forget(next);
        }
        // Release pairs with the acquires in `is_granted` and `take`.
        self.word.0.store(next << 1 | queued, Ordering::Release);
        drop(queue);
        oldest.into_iter().for_each(|(_, worker)| M::unpark(worker));
    }
}
