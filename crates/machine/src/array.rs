//! Arrays in the machine's memory, for words that workers share: what each partition has for its scheme,
//! the seats of workers, the buckets of a lock table.

use crate::{Class, Machine};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// So many `T`s, which stay where they are.
pub struct Array<M: Machine, T> {
    first: NonNull<T>,
    count: usize,
    machine: PhantomData<M>,
}

/// Something on a line of its own.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

// SAFETY: it owns its elements, as a box does.
unsafe impl<M: Machine, T: Send> Send for Array<M, T> {}
// SAFETY: a shared array gives shared references to its elements only.
unsafe impl<M: Machine, T: Sync> Sync for Array<M, T> {}

impl<M: Machine, T> Array<M, T> {
    fn layout(count: usize) -> Layout {
        Layout::array::<T>(count).expect("few elements")
    }

    /// `count` elements, at least one.
    ///
    /// # Panics
    /// When the machine has no memory left: these are small.
    #[must_use]
    pub fn new(count: usize, make: impl Fn() -> T) -> Self {
        let block = M::alloc(Self::layout(count), Class::Control).expect("memory for an array");
        let first = block.cast::<T>();
        for index in 0..count {
            // SAFETY: the block has room for `count` of them.
            unsafe { first.add(index).write(make()) };
        }
        Self { first, count, machine: PhantomData }
    }

    /// The first element, for links.
    #[must_use]
    pub fn first(&self) -> *mut T {
        self.first.as_ptr()
    }

    /// How many there are.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All of them.
    #[must_use]
    #[inline]
    pub fn all(&self) -> &[T] {
        // SAFETY: written in `new`, and alive as long as `self`.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }

    /// An element that exists.
    ///
    /// # Panics
    /// When it does not.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> &T {
        assert!(index < self.count, "element {index} of {}", self.count);
        // SAFETY: within the array, which lives as long as `self`.
        unsafe { self.first.add(index).as_ref() }
    }
}

impl<M: Machine, T> Drop for Array<M, T> {
    fn drop(&mut self) {
        for index in 0..self.count {
            // SAFETY: written in `new`, and nobody reaches it any more.
            unsafe { self.first.add(index).drop_in_place() };
        }
        // SAFETY: allocated with this layout.
        unsafe { M::free(self.first.cast(), Self::layout(self.count), Class::Control) };
    }
}
