//! Deadlock detection by the requester, without a latch (scalable-lock-manager.txt 3.3).
//!
//! Who is about to wait follows the waits-for graph from its own lock: to the owners of what excludes it, to
//! the locks that those wait for, and on. What it reads changes meanwhile. It is in a critical region, so no
//! memory that it comes to is anything but a lock; each edge was there when it was read; and since all who
//! wait show it before they look (S2), the last of those who make a circle sees all the others. Two who look
//! at once may both find the circle, and both give up; that costs one of them a transaction.
//!
//! Edges that were there one after the other make no circle: who was ahead has gone, and has come back behind. So
//! who has found one looks again, and follows only waits that are the same as the first time. All of these lasted
//! from one look to the other, and what is ahead of a lock was ahead of it when it came: the circle was there at one
//! time, and so for good.
//!
//! A hot lock has hundreds of waiters, each of whom waits for many ahead. So a chain is read once for each
//! lock in it that the search comes to, into memory of one's own, and the locks that are reached from there
//! by way of waiters of the same thing are found in one pass from back to front: a waiter reached adds what
//! excludes it.

use crate::agents::Agents;
use crate::ground;
use crate::lock::{Lock, State, Status};
use crate::mode::Modes;
use crate::name::Name;
use chiliad_machine::{Cost, Link, Machine, Ordering, Word};

/// A lock table, as one sees it who looks for deadlocks.
pub(crate) trait Lines<M: Machine> {
    fn agents(&self) -> &Agents<M>;

    /// Whether intentions are counted besides (`ground.rs`).
    fn counts_intentions(&self) -> bool;

    /// Shows the states of the locks for `name` from the first on, each with whether it is `lock`; `None` where it
    /// begins, perhaps again.
    fn each(&mut self, name: Name, lock: &Lock<M>, show: impl FnMut(Option<(State, bool)>));
}

/// A search, with the room that it takes.
#[derive(Default)]
pub(crate) struct Search {
    /// Owners whose waits are followed yet.
    open: Vec<u32>,
    /// Owners that were come to.
    seen: Vec<u32>,
    /// The locks of a chain for one thing.
    line: Vec<State>,
    /// Waits that were followed the first time: whose, by which lock, and how often the owner had waited then.
    followed: Vec<(u32, usize, u64)>,
}

impl Search {
    /// Whether `owner`, which waits by `lock`, waits for itself. The caller is in a critical region.
    pub fn finds_itself<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        owner: u32,
        lock: &Lock<M>,
    ) -> bool {
        loop {
            self.followed.clear();
            if !self.looks(lines, owner, lock, false) {
                return false;
            }
            if self.looks(lines, owner, lock, true) {
                return true;
            }
            // It was none; there may be another.
        }
    }

    fn looks<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        owner: u32,
        lock: &Lock<M>,
        again: bool,
    ) -> bool {
        self.open.clear();
        self.seen.clear();
        if self.follow(lines, owner, lock) {
            return true;
        }
        while let Some(next) = self.open.pop() {
            let agent = lines.agents().get(next);
            // Acquire pairs with the release of whoever waits. It may have ceased to; its lock is there as
            // long as we are in our region.
            let waits_for = agent.waits_for.load(Ordering::Acquire);
            let wait =
                (next, waits_for.pointer().addr(), agent.waits_begun.load(Ordering::Relaxed));
            match again {
                true if !self.followed.contains(&wait) => continue,
                true => {}
                false => self.followed.push(wait),
            }
            // SAFETY: shown while it stood in its chain, and taken back before it was released.
            let Some(lock) = (unsafe { waits_for.pointer().as_ref() }) else { continue };
            let state = lock.state();
            let waits = state.status() == Status::Waiting && state.owner() == next;
            let found = waits && self.follow(lines, owner, lock);
            // What was followed may have been a later wait by the same lock. Relaxed: the acquire, or the mutex, by which
            // we have seen that it waits shows how often it had begun to.
            if again && lines.agents().get(next).waits_begun.load(Ordering::Relaxed) != wait.2 {
                return false;
            }
            if found {
                return true;
            }
        }
        false
    }

    /// Comes to the owners of all that excludes `lock`; whether `target` is one of them.
    fn follow<M: Machine>(
        &mut self,
        lines: &mut impl Lines<M>,
        target: u32,
        lock: &Lock<M>,
    ) -> bool {
        let name = lock.name();
        let Some(at) = self.read_line(lines, name, lock) else { return false };
        let own = self.line[at];
        let wanted = |state: State| state.wanted().map_or(Modes::NONE, |mode| mode.conflicts());
        if own.converts() {
            for behind in at + 1..self.line.len() {
                let state = self.line[behind];
                if state.toward_ahead().meets(wanted(own)) && self.come_to(state.owner(), target) {
                    return true;
                }
            }
        }
        // What excludes waiters that were reached, and the same without the first of them.
        let (mut reached, mut others) = (wanted(own), Modes::NONE);
        for ahead in (0..at).rev() {
            M::work(Cost::Queue, 1);
            let state = self.line[ahead];
            if !state.toward_behind().meets(reached) {
                continue;
            }
            if self.come_to(state.owner(), target) {
                return true;
            }
            if state.status() == Status::Waiting {
                reached = reached.and(wanted(state));
                others = others.and(wanted(state));
            }
        }
        if name.ground().is_none() || !lines.counts_intentions() {
            return false;
        }
        // Nobody waits for a counter of its own.
        let toward_target = if own.owner() == target { others } else { reached };
        self.come_to_counted(lines.agents(), target, name, reached, toward_target)
    }

    /// Comes to those who hold intentions on `name` by counters that meet `conflicts`, or `toward_target` in
    /// the case of the one that is looked for; whether it is one of them.
    fn come_to_counted<M: Machine>(
        &mut self,
        agents: &Agents<M>,
        target: u32,
        name: Name,
        conflicts: Modes,
        toward_target: Modes,
    ) -> bool {
        let mut found = false;
        for (number, agent) in agents.iter() {
            let conflicts = if number == target { toward_target } else { conflicts };
            if ground::shows(agent, name, conflicts) {
                found |= self.come_to(number, target);
            }
        }
        found
    }

    /// Takes note of an owner; whether it is the one that is looked for.
    fn come_to(&mut self, owner: u32, target: u32) -> bool {
        if owner != target && !self.seen.contains(&owner) {
            self.seen.push(owner);
            self.open.push(owner);
        }
        owner == target
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
