//! Epoch guards: they tell whether a walk may have seen a lock that was unlinked (Jung et al., 2014, 4.1, Theorems
//! 4.1 and 4.2).
//!
//! A walk along chains publishes the *epoch* in which it began. A segment of the pool all of whose locks have been
//! unlinked is given the epoch at which that was noticed, and the epoch advances; the segment is reused when every
//! reader has begun in a later one. That is Theorem 4.2, if a guard covers one walk: a transaction that sleeps,
//! thinks or is gone holds back nothing. Theorem 4.1, by the oldest transaction, is the case of guards that cover
//! transactions (`Reclaim::OldestTransaction`).
//!
//! With many threads and few cores a thread now and then loses its core under a guard, for as long as all others take
//! for their turns. So a guard also publishes *which* chain it protects: it does not hold back a segment none of
//! whose locks was in that chain, however long it lasts. (Not in the paper. With 500 threads on two cores some thread
//! nearly always stood still under a guard, and locks came from memory that had gone cold.)
//!
//! Why it is safe: the caller that notices that a segment is empty knows of each unlinking (the acquire in
//! `Pool::try_recycle`), and advances the epoch. A reader that could come to one of the locks has read the epoch
//! before that, or it would know of the unlinkings, too. A search for the oldest reader reads the epoch, by which it
//! knows of what was noticed in earlier ones, fences, and looks: a reader has published its epoch and its chain, in
//! one word, before that fence, or its own fence makes it see the chains as they are afterwards. A lock is in one
//! chain from one use of its memory to the next, so a walk along another chain does not come to it. The paper lets
//! the epoch move only when all readers have caught up, and then waits for two steps; comparing with the oldest
//! reader directly makes the same promise.

use crate::agents::{Agents, OUTSIDE};
use crate::faults;
use chiliad_machine::{Line, Machine, Ordering, Word};

/// What holds back the memory of released locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaim {
    /// Walks along chains that have not ended (4.2).
    EpochGuards,
    /// Transactions that have not ended (4.1).
    OldestTransaction,
}

/// The epoch. It begins with one, and never comes round.
pub(crate) struct Epoch<M: Machine>(Line<M::Word>);

/// The chain that a guard protects, or where a lock was: that of a bucket, several of which share a value where there
/// are very many; or any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Along(pub u16);

impl Along {
    /// Any chain. The chain of a bucket that has this number counts as that, too.
    pub const ANY: Self = Self(u16::MAX);

    /// The chain of a bucket.
    #[inline]
    pub fn bucket(number: u64) -> Self {
        Self(number as u16)
    }
}

/// Some of them.
#[derive(Default)]
pub(crate) struct Chains(Vec<Along>);

impl Chains {
    fn add(&mut self, chain: Along) {
        if !self.0.contains(&chain) {
            self.0.push(chain);
        }
    }

    /// Each once.
    pub fn iter(&self) -> impl Iterator<Item = Along> {
        self.0.iter().copied()
    }
}

/// The epoch guards that are held.
pub(crate) struct Readers {
    /// The epoch in which the longest began, or the present one.
    oldest: u64,
    /// The oldest epoch among guards that protect any chain, or the present one.
    anywhere: u64,
    chains: Chains,
}

impl Readers {
    /// Whether all of them began after the epoch `over`.
    pub fn are_younger(&self, over: u64) -> bool {
        over < self.oldest
    }

    /// Whether all guards that protect any chain began after the epoch `over`.
    pub fn keep_elsewhere(&self, over: u64) -> bool {
        over < self.anywhere
    }

    /// The chains that the other guards protect.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }
}

impl<M: Machine> Epoch<M> {
    pub fn new() -> Self {
        Self(Line(M::Word::new(1)))
    }

    /// Takes a guard, or another in its place.
    #[inline]
    pub fn enter(&self, word: &M::Word, along: Along) {
        self.show(word, along);
        if !M::fault(&faults::GUARD_UNFENCED) {
            M::fence(Ordering::SeqCst);
        }
    }

    /// Takes a guard without a fence, for a caller that fences fully before it walks along anything.
    #[inline]
    pub fn show(&self, word: &M::Word, along: Along) {
        let Along(along) = match M::fault(&faults::GUARD_ELSEWHERE) {
            true => Along(along.0 ^ 1),
            false => along,
        };
        // Acquire pairs with the release in `step`: a guard that begins later knows what was unlinked before.
        let now = self.0.0.load(Ordering::Acquire);
        debug_assert!(now > OUTSIDE, "no epoch looks like none");
        debug_assert!(now <= u64::MAX >> u16::BITS, "an epoch has 48 bits");
        // Release: under a guard that ends here we read nothing any more. The fence that follows makes it visible,
        // and pairs with the one in `readers`.
        word.store(now << u16::BITS | u64::from(along), Ordering::Release);
    }

    /// Ends it.
    #[inline]
    pub fn leave(word: &M::Word) {
        // Release pairs with the acquire in `readers`: we read nothing any more.
        word.store(OUTSIDE, Ordering::Release);
    }

    /// Moves on, and returns the epoch that is over.
    pub fn step(&self) -> u64 {
        // Release pairs with the acquires in `show` and `readers`.
        self.0.0.fetch_add(1, Ordering::AcqRel)
    }

    /// The guards that are held. The result stays true: a later guard begins in this epoch or a later one, or sees
    /// the chains as they are now.
    pub fn readers(&self, agents: &Agents<M>) -> Readers {
        // Acquire pairs with the release in `step`: what was noticed in earlier epochs is known.
        let now = self.0.0.load(Ordering::Acquire);
        // Pairs with the fence of a reader that has published a guard.
        M::fence(Ordering::SeqCst);
        let mut readers = Readers { oldest: now, anywhere: now, chains: Chains::default() };
        for (_, agent) in agents.iter() {
            // Acquire pairs with the releases in `show` and `leave`: a guard that has ended reads nothing any more.
            let shown = agent.guard.load(Ordering::Acquire);
            if shown == OUTSIDE {
                continue;
            }
            let (epoch, along) = (shown >> u16::BITS, Along(shown as u16));
            readers.oldest = readers.oldest.min(epoch);
            if along == Along::ANY {
                readers.anywhere = readers.anywhere.min(epoch);
            } else {
                readers.chains.add(along);
            }
        }
        debug_assert!(readers.oldest <= readers.anywhere, "the oldest of all is as old");
        readers
    }
}
