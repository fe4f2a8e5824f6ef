//! What each transaction shows the others, one line each: the *shadow transaction* that locks point to
//! (Jung et al., 2014, 4.5). Agents stay where they are and are used again; a lock names its own by
//! number.

use crate::lock::Lock;
use chiliad_machine::{Array, Latch, Line, Link, Machine, Ordering, Tagged, Word};

/// Agents at most: as many as a lock's state can name.
pub const AGENTS_MAX: usize = 1 << 16;

const GROUP_AGENTS: usize = 64;

/// Intentions that an agent can show; what a transaction has beyond them it takes as locks in chains.
pub(crate) const INTENTIONS_MAX: usize = 8;

/// The word of an agent without an epoch guard. With one it is the epoch in which that began, and in the lower bits
/// the chain that it protects.
pub(crate) const OUTSIDE: u64 = 0;

/// One agent.
#[repr(C, align(64))]
pub(crate) struct Agent<M: Machine> {
    /// The epoch in which its epoch guard began, and the chain that it protects: see `epoch_guard.rs`.
    pub guard: M::Word,
    /// It sleeps, or is about to: the session that releases the lock that it waits for clears this and wakes it.
    pub sleeps: M::Word,
    /// Whether somebody has told it to give up waiting: see `cancel.rs`.
    pub cancelled: M::Word,
    /// The thread to wake.
    pub thread: M::Word,
    /// The lock that it waits for.
    pub waits_for: M::Link<Lock<M>>,
    /// How often it has begun to wait.
    pub waits_begun: M::Word,
    /// Which of its waits it was told to give up: see `deadlock.rs`.
    pub victim: M::Word,
    /// Its number among those that were refused; zero for none.
    pub seniority: M::Word,
    /// The lock that it holds by counters: see `ground.rs`.
    pub intentions: [M::Word; INTENTIONS_MAX],
}

/// All of them.
pub(crate) struct Agents<M: Machine> {
    groups: Array<M, M::Link<Agent<M>>>,
    /// Refused sessions that have been given a number.
    pub refused: Line<M::Word>,
    /// One more than the greatest number ever in use.
    high: M::Word,
    registry: Latch<M, Registry<M>>,
}

struct Registry<M: Machine> {
    owned: Vec<Array<M, Agent<M>>>,
    free: Vec<u32>,
}

impl<M: Machine> Agents<M> {
    pub fn new() -> Self {
        let registry = Registry { owned: Vec::new(), free: Vec::new() };
        Self {
            groups: Array::new(AGENTS_MAX / GROUP_AGENTS, || M::Link::new(Tagged::null())),
            refused: Line(M::Word::new(0)),
            high: M::Word::new(0),
            registry: Latch::new(registry),
        }
    }

    /// Takes one; `None` when all are in use.
    pub fn acquire(&self) -> Option<u32> {
        let mut registry = self.registry.lock();
        if let Some(number) = registry.free.pop() {
            return Some(number);
        }
        let next = self.high.load(Ordering::Relaxed) as usize;
        if next == AGENTS_MAX {
            return None;
        }
        if next.is_multiple_of(GROUP_AGENTS) {
            debug_assert!(registry.owned.len() == next / GROUP_AGENTS, "groups come in order");
            let group = Array::new(GROUP_AGENTS, Agent::new);
            // Release pairs with the acquire in `get`: they are constructed.
            self.groups
                .get(next / GROUP_AGENTS)
                .store(Tagged::new(group.first(), 0), Ordering::Release);
            registry.owned.push(group);
        }
        // Release pairs with the acquire in `iter`: the group is linked.
        self.high.store(next as u64 + 1, Ordering::Release);
        Some(next as u32)
    }

    /// Gives one back that shows nothing.
    pub fn release(&self, number: u32) {
        let mut registry = self.registry.lock();
        debug_assert!(!registry.free.contains(&number), "an agent is released once");
        debug_assert!((number as usize) < registry.owned.len() * GROUP_AGENTS, "it was acquired");
        registry.free.push(number);
    }

    /// The agent of this number, which [`Agents::acquire`] once gave out.
    #[inline]
    pub fn get(&self, number: u32) -> &Agent<M> {
        let number = number as usize;
        // Acquire pairs with the release in `acquire`: the group's agents are constructed.
        let group = self.groups.get(number / GROUP_AGENTS).load(Ordering::Acquire);
        assert!(!group.is_null(), "an agent that never was");
        // SAFETY: groups live as long as `self`, and have this many agents.
        unsafe { &*group.pointer().add(number % GROUP_AGENTS) }
    }

    /// All that were ever in use, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Agent<M>)> {
        // Acquire pairs with the release in `acquire`: the groups of all agents below are linked.
        let high = self.high.load(Ordering::Acquire) as u32;
        (0..high).map(|number| (number, self.get(number)))
    }
}

impl<M: Machine> Agent<M> {
    /// Shows that it waits by `lock`: its owner does.
    pub fn waits_by(&self, lock: &Lock<M>) {
        let begun = self.waits_begun.load(Ordering::Relaxed);
        self.waits_begun.store(begun + 1, Ordering::Relaxed);
        // Release pairs with the acquire of searches for deadlocks.
        self.waits_for.store(lock.tagged(), Ordering::Release);
    }

    fn new() -> Self {
        Self {
            guard: M::Word::new(OUTSIDE),
            sleeps: M::Word::new(0),
            cancelled: M::Word::new(0),
            thread: M::Word::new(0),
            waits_for: M::Link::new(Tagged::null()),
            waits_begun: M::Word::new(0),
            victim: M::Word::new(0),
            seniority: M::Word::new(0),
            intentions: core::array::from_fn(|_| M::Word::new(0)),
        }
    }
}
