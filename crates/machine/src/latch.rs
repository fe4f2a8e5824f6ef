//! A spin latch around something small: held for instructions, never across a wait.

use crate::{Machine, Ordering, Spin, Word};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

/// Mutual exclusion for cold paths (refills, registration); the hot protocols own their words, and what
/// many workers want at once has a [`crate::Mutex`].
pub struct Latch<M: Machine, T> {
    held: M::Word,
    value: UnsafeCell<T>,
}

// SAFETY: the latch hands out one exclusive reference at a time.
unsafe impl<M: Machine, T: Send> Sync for Latch<M, T> where M::Word: Sync {}

/// The right to touch the value; gives the latch back when dropped.
pub struct Latched<'a, M: Machine, T> {
    latch: &'a Latch<M, T>,
}

impl<M: Machine, T> Latch<M, T> {
    /// A free latch.
    pub fn new(value: T) -> Self {
        Self { held: M::Word::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits for the latch, by reading: what is only read does not move from core to core.
    pub fn lock(&self) -> Latched<'_, M, T> {
        let mut spin = Spin::<M>::new();
        loop {
            if let Some(latched) = self.try_lock() {
                return latched;
            }
            // Relaxed: a hint; `try_lock` decides.
            while self.held.load(Ordering::Relaxed) != 0 {
                spin.wait();
            }
        }
    }

    /// Whether it is held: a hint, and old as soon as it is given.
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed) != 0
    }

    /// Takes the latch if it is free.
    pub fn try_lock(&self) -> Option<Latched<'_, M, T>> {
        // Acquire pairs with the release in `Latched::drop`: we see what the last holder wrote.
        self.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        M::enter_section();
        Some(Latched { latch: self })
    }
}

impl<M: Machine, T> Deref for Latched<'_, M, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: we hold the latch.
        unsafe { &*self.latch.value.get() }
    }
}

impl<M: Machine, T> DerefMut for Latched<'_, M, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the latch, and `&mut self` makes this the only reference.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<M: Machine, T> Drop for Latched<'_, M, T> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `try_lock`.
        self.latch.held.store(0, Ordering::Release);
        M::leave_section();
    }
}
