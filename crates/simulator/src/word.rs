//! Shared words and links: each operation is an event, then the plain operation.
//!
//! Both hold a host atomic, accessed relaxed: the cores of a run share one host thread, so the host's
//! memory model never shows. The simulated one does: what a store's ordering means is decided here
//! (weaker than `SeqCst`: it may be held back) and in the read-modify-writes, which drain.

use crate::outcome::Access;
use crate::state::State;
use chiliad_machine::{Link, Ordering, Tagged, Word};
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64};

const _: () = assert!(size_of::<usize>() == 8, "the simulator runs on 64-bit hosts");

/// A simulated shared word.
#[repr(transparent)]
pub struct SimWord(AtomicU64);

impl SimWord {
    fn target(&self) -> *const AtomicPtr<()> {
        ptr::from_ref(self).cast()
    }

    /// The event of a read-modify-write, which makes the core's earlier stores visible.
    #[inline]
    fn modify(&self) -> &AtomicU64 {
        let state = State::current();
        state.access(self.target().addr(), Access::Rmw);
        state.drain_own();
        &self.0
    }
}

impl Word for SimWord {
    #[inline]
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    #[inline]
    fn load(&self, _order: Ordering) -> u64 {
        let state = State::current();
        state.access(self.target().addr(), Access::Load);
        match state.forward(self.target()) {
            Some(own) => own.addr() as u64,
            None => self.0.load(Relaxed),
        }
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        let state = State::current();
        state.access(self.target().addr(), Access::Store);
        if order == Ordering::SeqCst {
            state.drain_own();
        } else {
            let held = ptr::without_provenance_mut(value as usize);
            if state.hold_back(self.target(), held) {
                return;
            }
        }
        self.0.store(value, Relaxed);
    }

    #[inline]
    fn swap(&self, value: u64, _order: Ordering) -> u64 {
        self.modify().swap(value, Relaxed)
    }

    #[inline]
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<u64, u64> {
        self.modify().compare_exchange(current, new, Relaxed, Relaxed)
    }

    #[inline]
    fn fetch_add(&self, value: u64, _order: Ordering) -> u64 {
        self.modify().fetch_add(value, Relaxed)
    }

    #[inline]
    fn fetch_and(&self, value: u64, _order: Ordering) -> u64 {
        self.modify().fetch_and(value, Relaxed)
    }

    #[inline]
    fn fetch_or(&self, value: u64, _order: Ordering) -> u64 {
        self.modify().fetch_or(value, Relaxed)
    }

    #[inline]
    fn fetch_max(&self, value: u64, _order: Ordering) -> u64 {
        self.modify().fetch_max(value, Relaxed)
    }
}

/// A simulated shared pointer.
#[repr(transparent)]
pub struct SimLink<T>(AtomicPtr<T>);

impl<T> SimLink<T> {
    fn target(&self) -> *const AtomicPtr<()> {
        ptr::from_ref(self).cast()
    }

    /// As [`SimWord::modify`].
    #[inline]
    fn modify(&self) -> &AtomicPtr<T> {
        let state = State::current();
        state.access(self.target().addr(), Access::Rmw);
        state.drain_own();
        &self.0
    }
}

impl<T> Link<T> for SimLink<T> {
    #[inline]
    fn new(value: Tagged<T>) -> Self {
        Self(AtomicPtr::new(value.into_raw()))
    }

    #[inline]
    fn load(&self, _order: Ordering) -> Tagged<T> {
        let state = State::current();
        state.access(self.target().addr(), Access::Load);
        Tagged::from_raw(match state.forward(self.target()) {
            Some(own) => own.cast(),
            None => self.0.load(Relaxed),
        })
    }

    #[inline]
    fn store(&self, value: Tagged<T>, order: Ordering) {
        let state = State::current();
        state.access(self.target().addr(), Access::Store);
        let raw = value.into_raw();
        if order == Ordering::SeqCst {
            state.drain_own();
        } else if state.hold_back(self.target(), raw.cast()) {
            return;
        }
        self.0.store(raw, Relaxed);
    }

    #[inline]
    fn swap(&self, value: Tagged<T>, _order: Ordering) -> Tagged<T> {
        Tagged::from_raw(self.modify().swap(value.into_raw(), Relaxed))
    }

    #[inline]
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>> {
        let (current, new) = (current.into_raw(), new.into_raw());
        match self.modify().compare_exchange(current, new, Relaxed, Relaxed) {
            Ok(found) => Ok(Tagged::from_raw(found)),
            Err(found) => Err(Tagged::from_raw(found)),
        }
    }
}
