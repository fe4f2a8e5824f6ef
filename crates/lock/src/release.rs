//! A transaction's end (Jung et al., 2014, 3.2, lines R1 to R14 of Figure 3).
//!
//! A lock that is alone in its chain is unlinked while it is still its owner's: as long as the tail leads to it
//! nobody waits behind it, and nobody else unlinks what is not obsolete, so that no epoch guard is needed.
//! All others become obsolete, with one fence (S6) for all of them, before those who wait are looked for.

use crate::epoch_guard::Epoch;
use crate::faults;
use crate::held::Entry;
use crate::lock::State;
use crate::session::{Place, Session, is_strong};
use chiliad_machine::{Machine, Ordering};

impl<M: Machine> Session<M> {
    /// The transaction has ended: releases all that it holds, and what it stands in line for.
    // Always: what is rare is out of line, and to call the rest costs a tenth of a pair of acquisition and release.
    #[inline(always)]
    pub fn release_all(&mut self) {
        if self.pending.is_some() {
            self.stop_waiting();
        }
        if !self.intentions.is_empty() {
            self.count_out();
        }
        for held in self.held.entries() {
            // SAFETY: the lock is in its chain and not released, so its memory is the session's; the bucket
            // lives as long as the manager.
            let (lock, bucket) = unsafe { (held.place.0.as_ref(), held.place.1.as_ref()) };
            if bucket.remove_only(lock) {
                // For the sessions that have come to it before.
                lock.set(State::RELEASED);
                if self.strong {
                    self.go_if_strong(held);
                }
                self.retired.add(lock.place, &self.manager.pool);
            } else {
                self.shared.push(*held);
            }
        }
        if !self.shared.is_empty() {
            self.release_shared();
        }
        debug_assert!(self.pending.is_none(), "it stands in no line");
        debug_assert!(self.shared.is_empty(), "nothing is left to release");
        debug_assert!(self.intentions.is_empty(), "nor to count out");
        self.held.clear();
        self.strong = false;
        if !self.by_guards {
            Epoch::<M>::leave(&self.agent().guard);
        }
    }

    /// Counts out what is held by counters.
    #[inline(never)]
    fn count_out(&mut self) {
        for (name, mode) in self.intentions.iter() {
            debug_assert!(mode.is_intention(), "only intentions are counted");
            let ground = self.manager.grounds.of(name).expect("it was counted there");
            if ground.leave(self.number, mode) {
                self.wake_strong(name);
            }
        }
        let agent = self.manager.agents.get(self.number);
        self.intentions.clear(agent);
    }

    /// Counts out what intentions have to look out for.
    #[inline(never)]
    fn go_if_strong(&self, held: &Entry<Place<M>>) {
        debug_assert!(self.strong || !is_strong(held.name, held.mode), "strong ones are known");
        if is_strong(held.name, held.mode) {
            self.go(held.name);
        }
    }

    /// Releases locks that have others in their chains.
    #[inline(never)]
    fn release_shared(&mut self) {
        debug_assert!(!self.shared.is_empty(), "somebody may wait");
        for held in &self.shared {
            // SAFETY: the lock is in its chain and not released, so its memory is the session's.
            unsafe { held.place.0.as_ref() }.set(State::RELEASED);
            self.go_if_strong(held);
        }
        self.show(self.shared[0].name);
        // S6: a waiter for these sees them released, or we see that it waits.
        if !M::fault(&faults::RELEASE_UNFENCED) {
            M::fence(Ordering::SeqCst);
        }
        for (at, held) in self.shared.iter().enumerate() {
            if at > 0 {
                self.enter(held.name);
            }
            // SAFETY: the bucket lives as long as the manager.
            self.manager.release(unsafe { held.place.1.as_ref() }, held.name);
        }
        self.shared.clear();
        self.leave();
    }
}
