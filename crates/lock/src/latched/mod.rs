//! A lock table with mutexes: the baseline for the one without (Jung et al., 2014, 2, the left column of Figure 3).
//!
//! Locks stand in the chain of their bucket, in the order in which they came, and everything happens to them under
//! the bucket's mutex: coming, going, and the granting, which the releasing session does on behalf of the waiters.
//! There is one mutex for the whole table, as MySQL had it, or one for each bucket, as Shore-MT has it. Intentions
//! are locks like any other. Waiters sleep.
//!
//! A requester brings the memory of its lock (`memory.rs`).

mod memory;
mod session;

pub use session::LatchedSession;

use crate::agents::Agents;
use crate::lock::{Lock, Status};
use crate::mode::Modes;
use crate::name::Name;
use chiliad_machine::{
    Array, Link, Machine, Mutex, MutexKind, Ordering, Place, Tagged, Word, WorkerId,
};
use memory::Memory;

/// The layout of a lock table with mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatchedOptions {
    /// Buckets; rounded up to a power of two.
    pub buckets: usize,
    /// A mutex for each bucket, or one for all.
    pub by_bucket: bool,
    /// How the mutexes are waited for.
    pub mutex: MutexKind,
    /// Intentions and shared locks of databases and tables stay with the session that had them, for its next
    /// transaction, until somebody is in the way (*speculative lock inheritance*: R. Johnson, I. Pandis,
    /// A. Ailamaki, "Improving OLTP Scalability using Speculative Lock Inheritance", VLDB 2009).
    pub inherits: bool,
    /// Locks in memory at most.
    pub locks_max: u64,
}

impl Default for LatchedOptions {
    fn default() -> Self {
        Self {
            buckets: 1 << 14,
            by_bucket: false,
            mutex: MutexKind::Sleep,
            inherits: false,
            locks_max: 1 << 24,
        }
    }
}

/// One bucket. All of it is read and written under its mutex.
#[repr(C, align(64))]
struct Chain<M: Machine> {
    head: M::Link<Lock<M>>,
    tail: M::Link<Lock<M>>,
}

/// Where a session waits for mutexes.
struct Queue<M: Machine> {
    place: Place<M>,
    /// It must not sleep there.
    awake: bool,
}

impl<M: Machine> Queue<M> {
    fn new() -> Self {
        Self { place: Place::new(), awake: false }
    }
}

/// The lock table. Lives in the machine's memory.
pub struct Latched<M: Machine> {
    chains: Array<M, Chain<M>>,
    guards: Array<M, Mutex<M>>,
    agents: Agents<M>,
    memory: Memory<M>,
    options: LatchedOptions,
}

impl<M: Machine> Latched<M> {
    /// One that nobody uses yet.
    ///
    /// # Panics
    /// When the machine has no memory for the buckets.
    #[must_use]
    pub fn new(options: &LatchedOptions) -> Self {
        let buckets = options.buckets.max(1).next_power_of_two();
        let null = || M::Link::new(Tagged::null());
        Self {
            chains: Array::new(buckets, || Chain { head: null(), tail: null() }),
            guards: Array::new(if options.by_bucket { buckets } else { 1 }, || {
                Mutex::new(options.mutex)
            }),
            agents: Agents::new(),
            memory: Memory::new(options.locks_max),
            options: *options,
        }
    }

    /// Locks that are not released, counted while nobody is at work.
    #[must_use]
    pub fn locks(&self) -> usize {
        let mut queue = Queue::new();
        let count = |bucket| {
            let mut locks = 0;
            self.hold(bucket, &mut queue, |chain| {
                chain.each(|lock| locks += usize::from(lock.state().status() != Status::Obsolete));
            });
            locks
        };
        (0..self.chains.count()).map(count).sum()
    }

    fn bucket(&self, name: Name) -> usize {
        name.hash() as usize & (self.chains.count() - 1)
    }

    fn guard(&self, bucket: usize) -> &Mutex<M> {
        debug_assert!(self.guards.count().is_power_of_two(), "a mask chooses");
        self.guards.get(bucket & (self.guards.count() - 1))
    }

    /// Does something to a bucket under its mutex, and if there is one for all, under that of all.
    fn hold<R>(&self, bucket: usize, queue: &mut Queue<M>, act: impl FnOnce(&Chain<M>) -> R) -> R {
        let (mutex, act) = (self.guard(bucket), || act(self.chains.get(bucket)));
        match queue.awake {
            false => mutex.hold(&mut queue.place, act),
            true => mutex.hold_awake(&mut queue.place, act),
        }
    }

    /// Grants `name` to the waiters that need not wait any more. Under the mutex.
    fn grant(&self, chain: &Chain<M>, name: Name) {
        let mut ahead = Modes::NONE;
        chain.each(|lock| {
            if !lock.is_for(name) {
                return;
            }
            let state = lock.state();
            let conflicts = state.wanted().map_or(Modes::NONE, |mode| mode.conflicts());
            let waits = state.status() == Status::Waiting;
            let excluded = || match state.granted() {
                None => ahead.meets(conflicts),
                Some(_) => chain.excludes_conversion(name, lock, conflicts),
            };
            if waits && !excluded() {
                // A cancel or an abort that others told it stays: otherwise only the waiter writes the state, under
                // the mutex.
                lock.set(state.granting());
                let thread = self.agents.get(state.owner()).thread.load(Ordering::Relaxed);
                M::unpark(WorkerId(thread as u32));
            }
            ahead = ahead.and(lock.state().toward_behind());
        });
    }
}

/// All under the chain's mutex, which orders it.
impl<M: Machine> Chain<M> {
    fn each(&self, mut visit: impl FnMut(&Lock<M>)) {
        let mut link = &self.head;
        // SAFETY: memory of locks lives as long as the table.
        while let Some(lock) = unsafe { link.load(Ordering::Relaxed).pointer().as_ref() } {
            link = &lock.next;
            visit(lock);
        }
    }

    fn append(&self, lock: &Lock<M>) {
        lock.next.store(Tagged::null(), Ordering::Relaxed);
        let last = self.tail.load(Ordering::Relaxed);
        debug_assert!(last != lock.tagged(), "a lock comes in once");
        // SAFETY: memory of locks lives as long as the table.
        let link = unsafe { last.pointer().as_ref() }.map_or(&self.head, |last| &last.next);
        link.store(lock.tagged(), Ordering::Relaxed);
        self.tail.store(lock.tagged(), Ordering::Relaxed);
    }

    fn remove(&self, lock: &Lock<M>) {
        let (mut link, mut ahead) = (&self.head, Tagged::null());
        loop {
            let found = link.load(Ordering::Relaxed);
            debug_assert!(!found.is_null(), "the lock is in its chain");
            if found == lock.tagged() {
                break;
            }
            // SAFETY: memory of locks lives as long as the table, and `lock` is in its chain, so we come to it before the end.
            link = unsafe { &(*found.pointer()).next };
            ahead = found;
        }
        link.store(lock.next.load(Ordering::Relaxed), Ordering::Relaxed);
        if self.tail.load(Ordering::Relaxed) == lock.tagged() {
            self.tail.store(ahead, Ordering::Relaxed);
        }
        lock.set(lock.state().with(Status::Obsolete));
    }

    /// Whether a new request for `name` that meets `conflicts` has to wait. What stands in its way without being
    /// used goes; what is used is told that somebody waits.
    fn excludes(&self, name: Name, conflicts: Modes) -> bool {
        let mut excluded = false;
        self.each(|lock| {
            excluded |= lock.is_for(name) && lock.modes().meets(conflicts) && lock.stays();
        });
        excluded
    }

    /// The same of `own`, which has a mode and asks for a stronger one: it goes before those behind it that
    /// wait.
    fn excludes_conversion(&self, name: Name, own: &Lock<M>, conflicts: Modes) -> bool {
        let (mut excluded, mut behind) = (false, false);
        self.each(|lock| {
            if core::ptr::eq(lock, own) {
                behind = true;
                return;
            }
            let modes = if behind { lock.granted() } else { lock.modes() };
            excluded |= lock.is_for(name) && modes.meets(conflicts) && lock.stays();
        });
        excluded
    }
}
