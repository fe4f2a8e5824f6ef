//! The chain of a bucket: locks in the order in which they came (Jung et al., 2014, 3.1, Figures 5
//! and 6, and `next_pointer_update` of Figure 8).
//!
//! ```text
//! head --> lock --> lock --> lock (obsolete) --> lock --> null
//! tail -----------------------------------------^
//! ```
//!
//! **A lock comes in** by an exchange of the tail, which gives it the one ahead, and a store that links it there
//! (`insert`). Between the two, that lock and those that have come in behind it cannot be reached from the head. A
//! walk that finds the end of the links before the tail therefore waits there, and yields its core if that takes
//! long, since the inserter may have lost its own. That holds of walks over the locks ahead of one's own (`ahead`),
//! as in the paper, and over the locks behind (`each`): one that came in behind such a gap may have checked
//! everything ahead of it already, and sleep.
//!
//! **A lock goes** when it is obsolete and one *sweeper* of the bucket unlinks it. There is one at a time, so that no
//! link is changed by two that remove neighbours; a second one tells the first to go over the chain again, and
//! leaves. A lock that is alone in its chain has no neighbours, and its owner unlinks it without being a sweeper. The
//! last lock of a chain is unlinked by moving the tail back to the one ahead, unless another has come in since. A
//! walk that reached it by a link read before finds the end of the links there, and the tail elsewhere: that looks
//! like a lock that is about to be linked, and is why a walk that waits for one begins at the head again. (The paper
//! leaves the last lock in place, which would keep a segment of the
//! pool alive for each bucket.)
//!
//! Walks that were under way still read a lock that was unlinked. Every walk holds an *epoch guard*
//! (`epoch_guard.rs`), and memory is not reused before all guards have ended under which it might have been seen. An
//! owner that comes into an empty chain, and goes before any other has come, needs none: a thread that loses its core
//! holds memory back only in the middle of a walk.

use crate::faults;
use crate::lock::{Lock, Status};
use chiliad_machine::{Link, Machine, Ordering, Spin, Tagged, Word};

/// Values of `Bucket::sweeper`.
const NOBODY: u64 = 0;
/// Somebody sweeps.
const SWEEPING: u64 = 1;
/// Locks have become obsolete since somebody last began to go over the chain. (Alone: and nobody sweeps.)
const AGAIN: u64 = 2;

/// How often a sweeper goes over a chain at the request of others before it leaves the rest to them.
const ROUNDS_MAX: u32 = 4;

/// One bucket of the lock table.
#[repr(C, align(32))]
pub(crate) struct Bucket<M: Machine> {
    head: M::Link<Lock<M>>,
    tail: M::Link<Lock<M>>,
    sweeper: M::Word,
}

/// Whether a walk goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walk {
    On,
    Enough,
}

impl<M: Machine> Bucket<M> {
    pub fn new() -> Self {
        Self {
            head: M::Link::new(Tagged::null()),
            tail: M::Link::new(Tagged::null()),
            sweeper: M::Word::new(NOBODY),
        }
    }

    /// Puts a prepared lock at the end; returns whether there is anything ahead of it. The caller fences fully before
    /// it looks there.
    #[inline]
    pub fn insert(&self, lock: &Lock<M>) -> bool {
        // Changes nothing, but waits for the line and for earlier stores. A core that is wanted elsewhere goes as soon as it
        // has what it waited for. If that were the exchange it would go before the link, and leave the chain torn.
        let order = Ordering::Relaxed;
        _ = self.sweeper.compare_exchange(NOBODY, NOBODY, order, order);
        // Locks that come in behind wait for the link.
        M::enter_section();
        // Pairs with itself, in the next insertion, and with the release in `unlink_last`: release publishes the
        // lock's words, acquire shows us the one ahead, or that what was before us has been unlinked.
        let ahead = if M::fault(&faults::INSERTED_APART) {
            let ahead = self.tail.load(Ordering::Acquire);
            self.tail.store(lock.tagged(), Ordering::Release);
            ahead
        } else {
            // S1. Pairs with the swap of the next insertion, and with the release in `unlink_last`.
            self.tail.swap(lock.tagged(), Ordering::AcqRel)
        };
        debug_assert!(ahead != lock.tagged(), "a lock comes in once");
        // SAFETY: what was the tail is in the chain until the link that we set next leads on from it, since the last
        // lock is unlinked at the tail. So its memory is there, and no epoch guard is needed for this.
        let link = unsafe { ahead.pointer().as_ref() }.map_or(&self.head, |ahead| &ahead.next);
        // Release pairs with the acquires of walks. Unlinking the lock that this link led to takes back that link
        // alone.
        link.store_beside(lock.tagged(), Ordering::Release);
        M::leave_section();
        // If not, all that came in before was released and unlinked, which the swap has acquired.
        !ahead.is_null()
    }

    /// Shows `visit` the locks ahead of `own`, which is in the chain, from the first on: all of them, and
    /// perhaps some that are obsolete, or some twice; until it has seen enough. The caller holds an
    /// epoch guard.
    #[inline]
    pub fn ahead(&self, own: &Lock<M>, mut visit: impl FnMut(&Lock<M>) -> Walk) {
        let mut spin = Spin::<M>::new();
        let mut link = &self.head;
        loop {
            // Acquire pairs with the releases of insertions that link.
            let found = link.load(Ordering::Acquire);
            if found.is_null() {
                if M::fault(&faults::UNLINKED_PASSED_OVER) {
                    return;
                }
                // Somebody ahead of `own` is about to link what we look for, or has gone.
                spin.wait();
                if !M::fault(&faults::WAITED_THERE) {
                    link = &self.head;
                }
                continue;
            }
            // SAFETY: it was in the chain when the link was read, and we hold an epoch guard.
            let lock = unsafe { &*found.pointer() };
            if core::ptr::eq(lock, own) || visit(lock) == Walk::Enough {
                return;
            }
            link = &lock.next;
        }
    }

    /// Shows `visit` all locks from the first on; `None` where it begins, perhaps again: what it was shown before is
    /// of no interest then. The caller holds an epoch guard.
    #[inline]
    pub fn each(&self, visit: impl FnMut(Option<&Lock<M>>) -> Walk) {
        self.from(&self.head, Tagged::null(), visit);
    }

    /// As `ahead`, for the locks behind `own`, which is in the chain.
    pub fn behind(&self, own: &Lock<M>, visit: impl FnMut(Option<&Lock<M>>) -> Walk) {
        self.from(&own.next, own.tagged(), visit);
    }

    /// The locks from `first` on, which is the link in `owner`. Those that were in before the call are
    /// shown, but for such as were unlinked since.
    #[inline]
    fn from(
        &self,
        first: &M::Link<Lock<M>>,
        owner: Tagged<Lock<M>>,
        mut visit: impl FnMut(Option<&Lock<M>>) -> Walk,
    ) {
        let mut spin = Spin::<M>::new();
        let (mut link, mut at) = (first, owner);
        _ = visit(None);
        loop {
            // Acquire pairs with the release in `insert`, and with that of a sweeper which links past a lock.
            let found = link.load(Ordering::Acquire);
            // SAFETY: links lead to locks that were in the chain when they were read, and the caller is in a
            // epoch guard, which keeps their memory.
            let Some(lock) = (unsafe { found.pointer().as_ref() }) else {
                // Relaxed: what came in before the caller's full fence is seen.
                if self.tail.load(Ordering::Relaxed) == at || M::fault(&faults::GAP_PASSED_OVER) {
                    return;
                }
                spin.wait();
                (link, at) = (first, owner);
                _ = visit(None);
                continue;
            };
            if visit(Some(lock)) == Walk::Enough {
                return;
            }
            (link, at) = (&lock.next, found);
        }
    }

    /// Unlinks what is obsolete, or sees to it that somebody does; `retire` gets each lock that nobody can
    /// come to any more. The caller holds an epoch guard.
    pub fn sweep(&self, mut retire: impl FnMut(&Lock<M>)) {
        // Release: our locks are obsolete; pairs with the acquire before the sweeper's next round.
        let ask = || self.sweeper.fetch_or(SWEEPING | AGAIN, Ordering::AcqRel);
        if self.begin_sweeping() || ask() & SWEEPING == 0 {
            self.unlink_obsolete(&mut retire);
            self.end_sweeping(&mut retire);
        }
    }

    /// Unlinks an obsolete lock if it is the only one in the chain, so that nobody waits behind it; whether it
    /// was. Its owner does, under an epoch guard, and beside a sweeper: which of the two moves the tail has
    /// unlinked it.
    #[inline]
    pub fn remove_only(&self, lock: &Lock<M>) -> bool {
        // Acquire pairs with the releases of those who link.
        self.head.load(Ordering::Acquire) == lock.tagged()
            && self.unlink_last(lock, Tagged::null(), &self.head)
    }

    #[inline]
    fn begin_sweeping(&self) -> bool {
        // Acquire pairs with the releases below: we see what the last sweeper did to the links.
        let order = (Ordering::Acquire, Ordering::Relaxed);
        self.sweeper.compare_exchange(NOBODY, SWEEPING, order.0, order.1).is_ok()
    }

    /// Goes over the chain for others, if they have asked for it, and leaves.
    #[inline]
    fn end_sweeping(&self, retire: &mut impl FnMut(&Lock<M>)) {
        for _ in 0..ROUNDS_MAX {
            // Release pairs with the acquire in `begin_sweeping`: the next sweeper sees what we did to the links.
            let order = (Ordering::Release, Ordering::Relaxed);
            if self.sweeper.compare_exchange(SWEEPING, NOBODY, order.0, order.1).is_ok() {
                return;
            }
            // Acquire pairs with the release of the caller that asked.
            self.sweeper.fetch_and(!AGAIN, Ordering::Acquire);
            self.unlink_obsolete(retire);
        }
        // Others keep releasing here: the next of them goes on, or the background.
        self.sweeper.store(AGAIN, Ordering::Release);
    }

    /// Whether a sweeper has left something.
    pub fn is_unswept(&self) -> bool {
        self.sweeper.load(Ordering::Relaxed) == AGAIN
    }

    /// One pass over the chain by its sweeper.
    fn unlink_obsolete(&self, retire: &mut impl FnMut(&Lock<M>)) {
        // The last lock that stays, and the link in it.
        let mut behind: Tagged<Lock<M>> = Tagged::null();
        let mut link = &self.head;
        let mut spin = Spin::<M>::new();
        loop {
            // Acquire pairs with the release in `insert`: the lock is prepared.
            let found = link.load(Ordering::Acquire);
            // SAFETY: it was in the chain when the link was read, and we hold an epoch guard.
            let Some(lock) = (unsafe { found.pointer().as_ref() }) else {
                if self.tail.load(Ordering::Relaxed) == behind {
                    return;
                }
                // Its owner may have unlinked the one behind which we wait, when it was alone.
                spin.wait();
                (behind, link) = (Tagged::null(), &self.head);
                continue;
            };
            if lock.state().status() != Status::Obsolete {
                (behind, link) = (found, &lock.next);
                continue;
            }
            // Acquire pairs with the release in `insert`: the lock behind is prepared.
            let next = lock.next.load(Ordering::Acquire);
            debug_assert!(next != found, "a chain does not lead back");
            if !next.is_null() {
                // Release pairs with the acquires of walks: they see the one behind as we do.
                link.store(next, Ordering::Release);
                retire(lock);
                continue;
            }
            if self.unlink_last(lock, behind, link) {
                retire(lock);
            } else {
                spin.wait();
            }
        }
    }

    /// Unlinks `lock`, to which `link` of the one ahead leads, if it is the last.
    fn unlink_last(&self, lock: &Lock<M>, ahead: Tagged<Lock<M>>, link: &M::Link<Lock<M>>) -> bool {
        debug_assert!(ahead != lock.tagged(), "another one is ahead, or none");
        M::enter_section();
        // Release pairs with the swap in `insert`: the next insertion finds the one ahead as we do. Relaxed: another
        // has come in.
        let moved =
            self.tail.compare_exchange(lock.tagged(), ahead, Ordering::Release, Ordering::Relaxed);
        if moved.is_ok() {
            // An insertion may have linked itself to the one ahead already. Acquire pairs with the release in
            // `insert`, release with the acquires of walks.
            let null = Tagged::null();
            _ = link.compare_exchange(lock.tagged(), null, Ordering::AcqRel, Ordering::Relaxed);
        }
        M::leave_section();
        moved.is_ok()
    }
}
