//! Critical regions: who may have seen a lock that was unlinked (scalable-lock-manager.txt 4.1, Theorems 4.1
//! and 4.2).
//!
//! Whoever goes along chains shows the *epoch* in which it began to. A segment of the pool all of whose locks
//! have been unlinked is given the epoch at which that was noticed, and the epoch moves on; it is used again
//! when everybody who still reads began in a later one. That is Theorem 4.2, if a region is one walk:
//! who sleeps, thinks or is gone holds back nothing. Theorem 4.1, by the oldest transaction,
//! is the same with regions that are transactions (`Reclaim::OldestTransaction`).
//!
//! Why it is safe: whoever notices that a segment is empty knows of each unlinking (the acquire in `Pool::recycle`),
//! and moves the epoch on. A reader that could come to one of the locks has read the epoch before that move, or it
//! would know of the unlinkings, too. Whoever asks for the oldest reader reads the epoch, by which it knows of what
//! was noticed in earlier ones, fences heavily, and looks: a reader has shown its epoch before that fence, or its own
//! fence makes it see the chains as they are afterwards. The paper lets the epoch move only when everybody who
//! reads has caught up, and then waits for two steps; comparing with the oldest reader directly is the same promise.

use crate::agents::Agents;
use chiliad_machine::{Line, Machine, Ordering, Word};

/// What holds back the memory of released locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaim {
    /// Walks along chains that have not ended (4.2).
    Regions,
    /// Transactions that have not ended (4.1).
    OldestTransaction,
}

/// The epoch. It begins with one, and never comes round.
pub(crate) struct Epoch<M: Machine>(Line<M::Word>);

/// No region.
pub(crate) const OUTSIDE: u64 = 0;

impl<M: Machine> Epoch<M> {
    pub fn new() -> Self {
        Self(Line(M::Word::new(1)))
    }

    /// Begins a region, which `word` shows.
    #[inline]
    pub fn enter(&self, word: &M::Word) {
        // Acquire pairs with the release in `step`: who begins later knows what was unlinked before.
        // Relaxed: the fence makes it visible.
        word.store(self.0.0.load(Ordering::Acquire), Ordering::Relaxed);
        // Pairs with the heavy fence in `oldest`.
        M::light_fence();
    }

    /// Ends it.
    #[inline]
    pub fn leave(word: &M::Word) {
        // Release pairs with the acquire in `oldest`: we read nothing any more.
        word.store(OUTSIDE, Ordering::Release);
    }

    /// Moves on, and returns the epoch that is over.
    pub fn step(&self) -> u64 {
        self.0.0.fetch_add(1, Ordering::AcqRel)
    }

    /// The epoch in which the longest region that still lasts began, or this one. It stays true: who begins later
    /// begins in this epoch or a later one.
    pub fn oldest(&self, agents: &Agents<M>) -> u64 {
        let now = self.0.0.load(Ordering::Acquire);
        // Pairs with the light fence in `enter`.
        M::heavy_fence();
        let shown = agents.iter().map(|(_, agent)| agent.region.load(Ordering::Acquire));
        shown.filter(|&epoch| epoch != OUTSIDE).fold(now, u64::min)
    }
}
