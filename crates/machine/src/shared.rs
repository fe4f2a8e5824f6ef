//! An owning pointer into the machine's memory, for control structures that hold shared words.

use crate::{Class, Machine};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A `Box` whose memory comes from [`Machine::alloc`], because words may live nowhere else.
pub struct Shared<M: Machine, T> {
    place: NonNull<T>,
    machine: PhantomData<M>,
}

// SAFETY: it owns its value as a `Box` does.
unsafe impl<M: Machine, T: Send> Send for Shared<M, T> {}
// SAFETY: a shared owner gives shared references to its value only.
unsafe impl<M: Machine, T: Sync> Sync for Shared<M, T> {}

impl<M: Machine, T> Shared<M, T> {
    /// Moves `value` into the machine's memory.
    ///
    /// # Panics
    /// When the machine has no memory for a control structure.
    pub fn new(value: T) -> Self {
        let layout = Layout::new::<T>();
        assert!(layout.size() > 0, "nothing to share");
        let place: NonNull<T> =
            M::alloc(layout, Class::Control).expect("memory for a control structure").cast();
        // SAFETY: freshly allocated with the layout of `T`.
        unsafe { place.write(value) };
        Self { place, machine: PhantomData }
    }

    /// The value's place, for links to it; [`Shared::from_raw`] frees it.
    #[must_use]
    pub fn into_raw(self) -> NonNull<T> {
        core::mem::ManuallyDrop::new(self).place
    }

    /// Owns again what [`Shared::into_raw`] gave away.
    ///
    /// # Safety
    /// `place` came from there, and nobody else owns it.
    #[must_use]
    pub unsafe fn from_raw(place: NonNull<T>) -> Self {
        Self { place, machine: PhantomData }
    }
}

impl<M: Machine, T> Deref for Shared<M, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: written in `new`, alive until `drop`.
        unsafe { self.place.as_ref() }
    }
}

impl<M: Machine, T> Drop for Shared<M, T> {
    fn drop(&mut self) {
        // SAFETY: we own the value and the memory, which came from `alloc` with this layout.
        unsafe {
            self.place.drop_in_place();
            M::free(self.place.cast(), Layout::new::<T>(), Class::Control);
        }
    }
}
