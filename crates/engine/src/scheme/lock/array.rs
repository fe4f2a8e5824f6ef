//! A block of equal things in the machine's memory, for words that workers share.

use chiliad_machine::{Class, Machine};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// So many `T`s, which need no drop.
pub(super) struct Array<M: Machine, T> {
    first: NonNull<T>,
    count: usize,
    machine: PhantomData<M>,
}

// SAFETY: it owns its elements.
unsafe impl<M: Machine, T: Send> Send for Array<M, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, T: Sync> Sync for Array<M, T> {}

impl<M: Machine, T> Array<M, T> {
    /// `count` elements made by `make`.
    ///
    /// # Panics
    /// When the machine has no memory left: these are small.
    pub fn new(count: usize, mut make: impl FnMut(usize) -> T) -> Self {
        const { assert!(!core::mem::needs_drop::<T>()) };
        let block = M::alloc(Self::layout(count), Class::Control).expect("memory for locks");
        let first = block.cast::<T>();
        for index in 0..count {
            // SAFETY: the block has room for `count` elements.
            unsafe { first.add(index).write(make(index)) };
        }
        Self { first, count, machine: PhantomData }
    }

    fn layout(count: usize) -> Layout {
        Layout::array::<T>(count).expect("few elements")
    }

    /// The first element, for links.
    pub fn first(&self) -> *mut T {
        self.first.as_ptr()
    }
}

impl<M: Machine, T> Drop for Array<M, T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; the elements need no drop.
        unsafe { M::free(self.first.cast(), Self::layout(self.count), Class::Control) };
    }
}
