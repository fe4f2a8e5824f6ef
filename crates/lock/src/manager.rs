//! The lock manager: the table of buckets, the pool of locks, and the agents of transactions.

use crate::agents::{Agent, Agents};
use crate::chain::{Bucket, Walk};
use crate::deadlock::Lines;
use crate::epoch_guard::{Along, Epoch, Reclaim};
use crate::faults;
use crate::ground::Grounds;
use crate::lock::{Lock, State, Status};
use crate::mode::Modes;
use crate::name::Name;
use crate::pool::{Pool, Stock};
use chiliad_machine::{Array, Machine, Ordering, Word, WorkerId};

/// How a lock manager is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Buckets of the lock table; rounded up to a power of two. Half a line of memory each.
    pub buckets: usize,
    /// Locks in memory at most, of released ones those that are not reclaimed yet among them. A line each.
    pub locks_max: u64,
    /// Locks that are made and reclaimed together; rounded up to a multiple of 64, at most 4,096.
    pub segment_locks: u32,
    /// What holds back the memory of released locks.
    pub reclaim: Reclaim,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            buckets: 1 << 16,
            locks_max: 1 << 24,
            segment_locks: 512,
            reclaim: Reclaim::EpochGuards,
        }
    }
}

/// Locks for transactions: see the crate's head. Lives in the machine's memory.
pub struct Manager<M: Machine> {
    /// A power of two of them.
    pub(crate) buckets: Array<M, Bucket<M>>,
    pub(crate) grounds: Grounds<M>,
    pub(crate) pool: Pool<M>,
    pub(crate) agents: Agents<M>,
    pub(crate) epoch: Epoch<M>,
    pub(crate) reclaim: Reclaim,
    /// The bucket from which the background goes on sweeping.
    unswept_from: M::Word,
}

/// Buckets that the background looks at in one go.
const BUCKETS_A_GO: u64 = 1024;

/// Memory and counts of a lock manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Locks in chains that are not obsolete.
    pub locks: usize,
    /// Locks in chains that are.
    pub obsolete: usize,
    /// The pool's memory.
    pub stock: Stock,
}

impl<M: Machine> Manager<M> {
    /// One that nobody uses yet.
    ///
    /// # Panics
    /// When the machine has no memory for the buckets.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            buckets: Array::new(options.buckets.max(1).next_power_of_two(), Bucket::new),
            grounds: Grounds::new(),
            pool: Pool::new(options.segment_locks, options.locks_max),
            agents: Agents::new(),
            epoch: Epoch::new(),
            reclaim: options.reclaim,
            unswept_from: M::Word::new(0),
        }
    }

    /// The bucket of a name, which lives as long as the manager.
    #[inline]
    pub(crate) fn bucket(&self, name: Name) -> &Bucket<M> {
        self.buckets.get(name.hash() as usize & (self.buckets.count() - 1))
    }

    /// Makes locks ahead of demand, gives back memory that nobody wants and unlinks what was left: for a
    /// background task, now and then. Without one, transactions make locks when they find none.
    pub fn supply(&self) {
        self.sweep_some();
        self.pool.supply(&self.epoch, &self.agents);
    }

    fn sweep_some(&self) {
        let Some(number) = self.agents.acquire() else { return };
        let agent = self.agents.get(number);
        let from = self.unswept_from.fetch_add(BUCKETS_A_GO, Ordering::Relaxed);
        for at in from..from + BUCKETS_A_GO.min(self.buckets.count() as u64) {
            let at = at & (self.buckets.count() as u64 - 1);
            let bucket = self.buckets.get(at as usize);
            if bucket.is_unswept() {
                self.epoch.enter(&agent.guard, Along::bucket(at));
                self.sweep(bucket);
                Epoch::<M>::leave(&agent.guard);
            }
        }
        self.agents.release(number);
    }

    /// Counts what it holds, while transactions go on.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut usage = Usage { stock: self.pool.stock(), ..Usage::default() };
        let Some(number) = self.agents.acquire() else { return usage };
        let agent = self.agents.get(number);
        for bucket in 0..self.buckets.count() {
            self.epoch.enter(&agent.guard, Along::bucket(bucket as u64));
            let (mut locks, mut obsolete) = (0, 0);
            self.buckets.get(bucket).each(|lock| {
                match lock.map(|lock| lock.state().status()) {
                    None => (locks, obsolete) = (0, 0),
                    Some(Status::Obsolete) => obsolete += 1,
                    Some(_) => locks += 1,
                }
                Walk::On
            });
            usage.locks += locks;
            usage.obsolete += obsolete;
        }
        Epoch::<M>::leave(&agent.guard);
        self.agents.release(number);
        usage
    }

    /// Wakes the transactions that wait for `name` and need not any more. A lock that stood in their way has become
    /// obsolete or weaker before, with a full fence in between. The caller holds an epoch guard.
    #[inline]
    pub(crate) fn wake_waiters(&self, bucket: &Bucket<M>, name: Name) {
        let mut ahead = Modes::NONE;
        bucket.each(|lock| {
            let Some(lock) = lock else {
                ahead = Modes::NONE;
                return Walk::On;
            };
            if lock.is_for(name) {
                let state = lock.state();
                // Conversions look at locks on either side: they may as well look themselves.
                let conflicts = state.wanted().map_or(Modes::NONE, |mode| mode.conflicts());
                let may_go = state.converts() || !ahead.meets(conflicts);
                if state.status() == Status::Waiting && may_go {
                    self.rouse(self.agents.get(state.owner()));
                }
                ahead = ahead.and(state.toward_behind());
            }
            Walk::On
        });
    }

    /// Wakes an agent that sleeps, or is about to.
    pub(crate) fn rouse(&self, agent: &Agent<M>) {
        // Relaxed: read after the caller's full fence, which pairs with S4.
        if agent.sleeps.load(Ordering::Relaxed) == 0 {
            return;
        }
        let wake = || M::unpark(WorkerId(agent.thread.load(Ordering::Relaxed) as u32));
        if M::fault(&faults::WAKE_UNORDERED) {
            wake();
            // Pairs with the acquire of the sleeper, too late for it.
            agent.sleeps.store(0, Ordering::Release);
            return;
        }
        // Release pairs with the acquire of the sleeper.
        agent.sleeps.store(0, Ordering::Release);
        // S7: a woken transaction finds that it is not to sleep. Waking is a full fence on every machine.
        wake();
    }

    /// Unlinks what is obsolete in a bucket. The caller holds an epoch guard.
    fn sweep(&self, bucket: &Bucket<M>) {
        bucket.sweep(|lock: &Lock<M>| self.pool.retire(lock.place.leaf(), lock.place.flag()));
    }

    /// Handles a lock that has become obsolete: wakes the transactions that wait for it, and unlinks it. As for
    /// [`Manager::wake_waiters`].
    pub(crate) fn release(&self, bucket: &Bucket<M>, name: Name) {
        self.wake_waiters(bucket, name);
        self.sweep(bucket);
    }
}

/// The caller holds an epoch guard.
impl<M: Machine> Lines<M> for &Manager<M> {
    fn agents(&self) -> &Agents<M> {
        &self.agents
    }

    fn counts_intentions(&self) -> bool {
        true
    }

    fn each(&mut self, name: Name, lock: &Lock<M>, mut show: impl FnMut(Option<(State, bool)>)) {
        self.bucket(name).each(|other| {
            match other {
                None => show(None),
                Some(other) if other.is_for(name) => {
                    show(Some((other.state(), core::ptr::eq(other, lock))));
                }
                Some(_) => {}
            }
            Walk::On
        });
    }
}
