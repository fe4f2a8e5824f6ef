//! H-Store (Yu, 2015, 2.2.4, 4.3.3): a lock per partition, granted to the transaction with the
//! oldest timestamp among those that wait for it.
//!
//! ```text
//!  63                                         1       0
//! +--------------------------------------------+--------+
//! | the holder's timestamp; 0: the lock is free| queued |
//! +--------------------------------------------+--------+
//! ```
//!
//! A transaction draws its timestamp when it arrives and asks for its partitions, all of which it has
//! declared, one after the other, in ascending order. Records of any of them it then touches itself
//! (4.3.3), with all that `partitioned.rs` does for whoever is alone with its partitions.
//!
//! - **Free, and nobody queued**: taken by one compare-and-swap. Whoever comes to an empty queue is the
//!   oldest in it, so this grants what the paper's engines grant. Someone older may have drawn a
//!   timestamp and not be here yet; H-Store's engines do not wait for those either, once they need
//!   not allow for clocks that disagree (4.3.3).
//! - **Held**: the transaction queues, under the queue's latch, says so in the word, spins a little
//!   if it is the first there, and parks. The holder, when it goes, finds the bit and hands the word to the oldest in the queue, in
//!   one store: a lock with a queue is never free, so nobody overtakes. Then it wakes that worker.
//!
//! **Nobody starves.** Timestamps grow, so only finitely many are older than that of one who waits.
//!
//! **No deadlock** (see `partitioned.rs`): partitions are asked for in ascending order. The paper
//! enters a transaction in all its queues at once. Here it would not do, since locks are held by
//! whoever has been granted them and not by an engine that goes through its queue: of two
//! transactions in the queues of A and B, one that came first may hold A when the other, which is
//! older, is granted B. What is lost is that the oldest has a claim to partitions that it does not wait
//! for yet.
//!
//! **No wake-up is lost.** A waiter looks at the word before each park. The word is stored before the
//! wake-up, and a wake-up before the park makes the park return at once.

#[cfg(test)]
mod models;

use super::faults;
use super::partitioned::{Exclusive, Policy};
use crate::Options;
use crate::scheme::SchemeName;
use crate::timestamps::{Clock, TIMESTAMP_BITS, TimestampSource};
use crate::wait::{Ended, Limits};
use chiliad_api::Info;
use chiliad_machine::{Array, Cost, Latch, Line, Machine, Ordering, Word, WorkerId};
use chiliad_storage::LocalHeap;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// A lock per partition, granted in the order of timestamps.
pub type HStore<M> = Exclusive<M, Queueing<M>>;

const QUEUED: u64 = 1;
const _: () = assert!(TIMESTAMP_BITS < u64::BITS, "a timestamp has room for the bit");

/// The first in a queue spins for this part of a second before it parks, 31 us: several times what a short
/// transaction takes, and about what it costs to be woken.
const SPINS_FOR: u64 = 32_000;

/// One worker's part of the policy.
pub struct Queueing<M: Machine> {
    clock: Clock<M>,
    timestamp: u64,
}

/// State shared by all workers.
pub struct Queues<M: Machine> {
    timestamps: TimestampSource<M>,
    partitions: Array<M, Partition<M>>,
}

/// One partition: the word that every transaction looks at and, on another line, its waiters.
#[repr(C)]
struct Partition<M: Machine> {
    word: Line<M::Word>,
    queue: Line<Latch<M, Queue>>,
}

/// Waiters, the oldest on top.
type Queue = BinaryHeap<Reverse<(u64, WorkerId)>>;

impl<M: Machine> Policy<M> for Queueing<M> {
    const INFO: Info = SchemeName::HStore.info();

    const DRAWS: bool = true;
    type Shared = Queues<M>;

    fn shared(options: &Options) -> Queues<M> {
        Queues {
            timestamps: TimestampSource::new(options),
            partitions: Array::new(options.partitions as usize, Partition::new),
        }
    }

    fn new() -> Self {
        Self { clock: Clock::new(), timestamp: 0 }
    }

    #[inline]
    fn arrive(&mut self, shared: &Queues<M>, heap: &LocalHeap<M>, limits: &Limits<M>) {
        self.timestamp = self.clock.draw(&shared.timestamps, heap);
        // A partition's word says when its holder arrived, not in which slot its worker is.
        limits.call(self.timestamp);
    }

    #[inline]
    fn lock(
        &mut self,
        shared: &Queues<M>,
        partition: u32,
        _slot: u32,
        limits: &Limits<M>,
    ) -> Result<(), Ended> {
        shared.partitions.get(partition as usize).lock(self.timestamp, limits)
    }

    #[inline]
    fn unlock(&mut self, shared: &Queues<M>, partition: u32) {
        shared.partitions.get(partition as usize).unlock(self.timestamp);
    }
}

impl<M: Machine> Partition<M> {
    fn new() -> Self {
        Self { word: Line(M::Word::new(0)), queue: Line(Latch::new(Queue::new())) }
    }

    #[inline]
    fn lock(&self, timestamp: u64, limits: &Limits<M>) -> Result<(), Ended> {
        debug_assert!(timestamp > 0, "zero stands for nobody");
        if self.take(timestamp) { Ok(()) } else { self.wait(timestamp, limits) }
    }

    /// Takes the lock if it is free, which it is only while nobody is queued.
    #[inline]
    fn take(&self, timestamp: u64) -> bool {
        let word = &self.word.0;
        if word.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if M::fault(&faults::TAKEN_IN_TWO_STEPS) {
            // Release pairs with the acquire below, and hands nothing over.
            word.store(timestamp << 1, Ordering::Release);
            return true;
        }
        // Acquire pairs with the releases in `unlock`: we see what the last holder wrote.
        word.compare_exchange(0, timestamp << 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
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
            let said = found == queued
                || found != 0
                    && word
                        .compare_exchange(found, queued, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok();
            if said {
                break;
            }
        }
        // With others ahead the wait is long. The core is kept while spinning: to yield it to another process, just
        // before the grant, would hold up all that come after.
        let spins = if queue.is_empty() { M::ticks_per_second() / SPINS_FOR } else { 0 };
        let own = |waiter: &Reverse<(u64, WorkerId)>| waiter.0.0 == timestamp;
        debug_assert!(!queue.iter().any(own), "a transaction waits once");
        queue.push(Reverse((timestamp, M::worker())));
        drop(queue);
        M::mark("queued for a partition");
        let mut wait = limits.wait();
        let end = M::now() + spins;
        while M::now() < end {
            if self.is_granted(timestamp) {
                return Ok(());
            }
            M::pause();
        }
        while !self.is_granted(timestamp) {
            M::mark("parked for a partition");
            if let Err(ended) = wait.asleep(None) {
                return self.leave(timestamp, ended);
            }
        }
        Ok(())
    }

    /// Leaves the queue, unless the lock has been granted in the last moment. The word may go on saying
    /// that somebody is queued.
    fn leave(&self, timestamp: u64, ended: Ended) -> Result<(), Ended> {
        let mut queue = self.queue.0.lock();
        if self.is_granted(timestamp) {
            return Ok(());
        }
        M::mark("left the queue of a partition");
        queue.retain(|Reverse((waiter, _))| *waiter != timestamp);
        Err(ended)
    }

    #[inline]
    fn is_granted(&self, timestamp: u64) -> bool {
        // Acquire pairs with the release in `unlock`: we see what the last holder wrote.
        self.word.0.load(Ordering::Acquire) >> 1 == timestamp
    }

    #[inline]
    fn unlock(&self, timestamp: u64) {
        // Release pairs with the acquire in `take`.
        let (word, mine) = (&self.word.0, timestamp << 1);
        debug_assert!(mine != 0, "zero stands for nobody");
        if word.compare_exchange(mine, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_on();
        }
    }

    /// Hands the lock to the oldest in the queue, and wakes it.
    #[cold]
    fn hand_on(&self) {
        M::work(Cost::Queue, 1);
        let mut queue = self.queue.0.lock();
        let oldest = queue.pop();
        let next = oldest.map_or(0, |Reverse((timestamp, _))| timestamp << 1);
        let queued = if queue.is_empty() { 0 } else { QUEUED };
        // Release pairs with the acquires in `is_granted` and `take`.
        self.word.0.store(next | queued, Ordering::Release);
        drop(queue);
        if let Some(Reverse((_, worker))) = oldest {
            M::unpark(worker);
        }
    }
}
