//! Deadlock detection by the requester, without a latch (Jung et al., 2014, 3.3).
//!
//! A transaction about to wait follows the waits-for graph from its own lock: to the owners of the locks that exclude
//! it, to the locks that those wait for, and on. The graph changes meanwhile. The search holds an epoch guard, so all
//! memory that it comes to is a lock; each edge was there when it was read; and since every waiter publishes its wait
//! before it searches (S2), the last of those that make a circle sees all the others. Two that search at once may
//! both find the circle; that may cost one of them a transaction.
//!
//! Edges that were there one after the other make no circle: a transaction that was ahead may have gone, and come
//! back behind. So a search that has found one looks again, and follows only waits that are the same as the first
//! time. All of these lasted
//! from one look to the other, and what is ahead of a lock was ahead of it when it came: the circle was there at one
//! time, and so for good.
//!
//! A hot lock has hundreds of waiters, each of whom waits for many ahead. So a chain is read once for each
//! lock in it that the search comes to, into memory of one's own, and the locks that are reached from there
//! by way of waiters of the same thing are found in one pass from back to front: a waiter reached adds what
//! excludes it.
//! **The youngest of a circle aborts**, where the paper has the requester do so. That is a livelock: when all lock
//! the same things in different orders, the one that has got furthest closes a circle, aborts, and starts behind the
//! others, which do the same. A session has no age until it was aborted for the first time. Then it draws a number
//! ([`Agent::age`]), and keeps it until one of its transactions has committed. Without a number it is younger than
//! all that have one, and aborts by itself, as in the paper; otherwise it tells the youngest to
//! ([`Agent::tell_to_abort`]). The oldest of all is never told, and nobody comes in ahead of it, so that
//! to ([`Agent::tell_to_abort`]). The oldest of all is never told, and nobody comes in ahead of it, so that
//! it gets through; then another is the oldest.

use crate::agents::{Agent, Agents};
use crate::faults;
use crate::ground;
use crate::lock::{Lock, State, Status};
use crate::mode::{Mode, Modes};
use crate::name::Name;
use chiliad_machine::{Cost, Link, Machine, Ordering, Word};

/// A lock table as a search for deadlocks sees it.
pub(crate) trait Lines<M: Machine> {
    fn agents(&self) -> &Agents<M>;

    /// Whether intentions are counted besides (`ground.rs`).
    fn counts_intentions(&self) -> bool;

    /// Shows the states of the locks for `name` from the first on, each with whether it is `lock`; `None` where it
    /// begins, perhaps again.
    fn each(&mut self, name: Name, lock: &Lock<M>, show: impl FnMut(Option<(State, bool)>));
}

/// An owner that the search has come to.
#[derive(Clone, Copy)]
struct Reached {
    owner: u32,
    /// How often it had begun to wait then.
    wait: u64,
    /// The waiters for it, by their places in the search.
    by: usize,
}

/// The victim of a deadlock, and which of its waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Victim {
    pub owner: u32,
    pub wait: u64,
}

/// Modes that exclude waiters which were reached, and of each mode the first of them that it excludes.
struct Front {
    modes: Modes,
    waiters: [usize; Mode::ALL.len() + 1],
}

impl Front {
    fn new(modes: Modes, waiter: usize) -> Self {
        Self { modes, waiters: [waiter; Mode::ALL.len() + 1] }
    }

    /// The waiter for a lock of these modes; `None` if there is none.
    fn waiter_for(&self, modes: Modes) -> Option<usize> {
        let meets = |mode: &Mode| modes.contains(*mode) && self.modes.contains(*mode);
        Mode::ALL.into_iter().find(meets).map(|mode| self.waiters[mode as usize])
    }

    /// A waiter was reached, which these modes exclude.
    fn add(&mut self, modes: Modes, waiter: usize) {
        for mode in Mode::ALL {
            if modes.contains(mode) && !self.modes.contains(mode) {
                self.waiters[mode as usize] = waiter;
            }
        }
        self.modes = self.modes.and(modes);
    }
}

/// A search, with the room that it takes.
#[derive(Default)]
pub(crate) struct Search {
    /// Owners that were come to, the searcher first.
    reached: Vec<Reached>,
    /// Those of them whose waits are followed yet.
    open: Vec<usize>,
    /// The waiter for the searcher, which makes a circle.
    last: Option<usize>,
    /// The locks of a chain for one thing.
    line: Vec<State>,
    /// Waits that were followed the first time: whose, by which lock, and how often the owner had waited then.
    followed: Vec<(u32, usize, u64)>,
}

impl Search {
    /// The victim of a circle in which `owner`, which waits by `lock`, waits for itself; `None` if there is none but
    /// such as somebody was told to end. The caller holds an epoch guard.
    pub fn victim<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        owner: u32,
        lock: &Lock<M>,
    ) -> Option<Victim> {
        loop {
            self.followed.clear();
            if !self.looks(lines, owner, lock, false) {
                return None;
            }
            if self.looks(lines, owner, lock, true) {
                return Some(self.youngest(lines.agents()));
            }
            // It was none; there may be another.
        }
    }

    /// The youngest of the circle: the searcher, unless another is younger.
    fn youngest<M: Machine>(&self, agents: &Agents<M>) -> Victim {
        debug_assert!(self.last.is_some(), "the circle is closed");
        let age = |at: usize| agents.get(self.reached[at].owner).age();
        let (mut youngest, mut at) = (0, self.last);
        while let Some(member) = at.filter(|&member| member != 0) {
            if age(member) > age(youngest) {
                youngest = member;
            }
            at = Some(self.reached[member].by);
        }
        let Reached { owner, wait, .. } = self.reached[youngest];
        Victim { owner, wait }
    }

    fn looks<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        owner: u32,
        lock: &Lock<M>,
        again: bool,
    ) -> bool {
        self.open.clear();
        self.reached.clear();
        self.last = None;
        self.reached.push(Reached { owner, wait: lines.agents().get(owner).waits(), by: 0 });
        if self.follow(lines, 0, lock) {
            return true;
        }
        while let Some(next) = self.open.pop() {
            let Reached { owner, .. } = self.reached[next];
            let agent = lines.agents().get(owner);
            // Acquire pairs with the release of the waiter. It may have ceased to wait; its lock is there as long as
            // we hold our guard.
            let waits_for = agent.waits_for.load(Ordering::Acquire);
            let wait = (owner, waits_for.pointer().addr(), agent.waits());
            if agent.must_abort() {
                // It waits no more, as soon as it looks.
                continue;
            }
            match again {
                true if !self.followed.contains(&wait) => continue,
                true => {}
                false => self.followed.push(wait),
            }
            self.reached[next].wait = wait.2;
            // SAFETY: shown while it stood in its chain, and taken back before it was released.
            let Some(lock) = (unsafe { waits_for.pointer().as_ref() }) else { continue };
            let state = lock.state();
            let waits = state.status() == Status::Waiting && state.owner() == owner;
            let found = waits && self.follow(lines, next, lock);
            // What was followed may have been a later wait by the same lock. Relaxed: the acquire, or the mutex, by which
            // we have seen that it waits shows how often it had begun to.
            if again && lines.agents().get(owner).waits() != wait.2 {
                return false;
            }
            if found {
                return true;
            }
        }
        false
    }

    /// Comes to the owners of all that excludes `lock`, by which the one at `waiter` waits; whether the searcher
    /// is one of them.
    fn follow<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        waiter: usize,
        lock: &Lock<M>,
    ) -> bool {
        debug_assert!(waiter < self.reached.len(), "who waits was reached");
        let name = lock.name();
        let Some(at) = self.read_line(lines, name, lock) else { return false };
        let own = self.line[at];
        if own.status() != Status::Waiting {
            return false;
        }
        let wanted = |state: State| state.wanted().map_or(Modes::NONE, |mode| mode.conflicts());
        if own.converts() {
            for behind in at + 1..self.line.len() {
                let state = self.line[behind];
                if state.toward_ahead().meets(wanted(own))
                    && self.come_to(lines.agents(), state.owner(), waiter)
                {
                    return true;
                }
            }
        }
        // And the same without the first of the waiters.
        let mut front = Front::new(wanted(own), waiter);
        let mut others = Front::new(Modes::NONE, waiter);
        for ahead in (0..at).rev() {
            M::work(Cost::Queue, 1);
            let state = self.line[ahead];
            let Some(waiter) = front.waiter_for(state.toward_behind()) else { continue };
            if self.come_to(lines.agents(), state.owner(), waiter) {
                return true;
            }
            let waits = state.status() == Status::Waiting;
            if waits && !lines.agents().get(state.owner()).must_abort() {
                let waiter = self.place_of(state.owner());
                front.add(wanted(state), waiter);
                others.add(wanted(state), waiter);
            }
        }
        if name.ground().is_none() || !lines.counts_intentions() {
            return false;
        }
        // Nobody waits for a counter of its own.
        let toward_searcher = if waiter == 0 { &others } else { &front };
        self.come_to_counted(lines.agents(), name, &front, toward_searcher)
    }

    /// Visits the transactions that hold intentions on `name` by counters that keep the front waiting, or in the case
    /// of the searcher those of `toward_searcher`; returns whether it is one of them.
    fn come_to_counted<M: Machine>(
        &mut self,
        agents: &Agents<M>,
        name: Name,
        front: &Front,
        toward_searcher: &Front,
    ) -> bool {
        let searcher = self.reached[0].owner;
        for (number, agent) in agents.iter() {
            let front = if number == searcher { toward_searcher } else { front };
            let waiter = front.waiter_for(ground::shown(agent, name));
            if waiter.is_some_and(|waiter| self.come_to(agents, number, waiter)) {
                return true;
            }
        }
        false
    }

    /// Records an owner that the one at `by` waits for; returns whether it is the searcher.
    fn come_to<M: Machine>(&mut self, agents: &Agents<M>, owner: u32, by: usize) -> bool {
        debug_assert!(by < self.reached.len(), "whoever leads here was reached");
        if owner == self.reached[0].owner {
            self.last = Some(by);
            return true;
        }
        if !self.reached.iter().any(|reached| reached.owner == owner) {
            self.open.push(self.reached.len());
            self.reached.push(Reached { owner, wait: agents.get(owner).waits(), by });
        }
        false
    }

    /// Where an owner is that was come to.
    fn place_of(&self, owner: u32) -> usize {
        self.reached.iter().position(|reached| reached.owner == owner).unwrap_or(0)
    }

    /// Reads the locks for `name`, and finds `lock` among them.
    fn read_line<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        name: Name,
        lock: &Lock<M>,
    ) -> Option<usize> {
        let mut at = None;
        lines.each(name, lock, |other| {
            let Some((state, is_it)) = other else {
                self.line.clear();
                at = None;
                return;
            };
            if is_it {
                at = Some(self.line.len());
            }
            self.line.push(state);
        });
        at
    }
}

/// How a session's transactions get older, and how they are told to give up.
impl<M: Machine> Agent<M> {
    /// How often it has begun to wait.
    pub fn waits(&self) -> u64 {
        // Relaxed: a search that follows a wait looks again.
        self.waits_begun.load(Ordering::Relaxed)
    }

    /// Its age: the less, the older.
    pub fn age(&self) -> u64 {
        // Relaxed: the choice of the youngest may be wrong, as long as the oldest is never chosen, which has had its
        // number since before it began to wait.
        match self.seniority.load(Ordering::Relaxed) {
            0 => u64::MAX,
            number => number,
        }
    }

    /// Whether it was told to give up the wait that it is in.
    pub fn must_abort(&self) -> bool {
        // Acquire pairs with the release in `tell_to_abort`.
        self.victim.load(Ordering::Acquire) == self.waits()
    }

    /// Whether it gives up the wait that it is in.
    pub fn gives_up(&self) -> bool {
        self.must_abort() && !M::fault(&faults::VICTIM_UNHEARD)
    }

    /// Tells it to give up a wait; it is to be woken.
    pub fn tell_to_abort(&self, wait: u64) {
        debug_assert!(wait > 0, "it has begun to wait");
        // Release pairs with the acquire in `must_abort`. A searcher that was slow tells of a wait that is over: it must
        // not take back what another has told of a later one.
        if M::fault(&faults::VICTIM_TAKEN_BACK) {
            self.victim.store(wait, Ordering::Release);
        } else {
            self.victim.fetch_max(wait, Ordering::Release);
        }
        // Full: a session that looks for the last time before it sleeps sees that it was told, or we see that it
        // sleeps. Pairs with S4, and with the fence before a session of the table with mutexes sleeps.
        M::fence(Ordering::SeqCst);
    }

    /// It was refused: it has an age from here on, if it had none. `numbers` is where they come from.
    pub fn grow_older(&self, numbers: &M::Word) {
        if self.seniority.load(Ordering::Relaxed) == 0 {
            // Relaxed, both: nothing but less than later ones.
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            self.seniority.store(number, Ordering::Relaxed);
        }
    }

    /// It has got through: its next transaction is as young as any.
    pub fn grow_young(&self) {
        self.seniority.store(0, Ordering::Relaxed);
    }
}
