//! What each partition of a database has for its scheme: an array in the machine's memory.

use chiliad_machine::{Class, Machine};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// One `T` for each partition.
pub struct Partitions<M: Machine, T> {
    first: NonNull<T>,
    count: u32,
    machine: PhantomData<M>,
}

// SAFETY: it owns the array, as a box does.
unsafe impl<M: Machine, T: Send> Send for Partitions<M, T> {}
// SAFETY: as above; sharing it shares `&T` only.
unsafe impl<M: Machine, T: Sync> Sync for Partitions<M, T> {}

impl<M: Machine, T> Partitions<M, T> {
    fn layout(count: u32) -> Layout {
        Layout::array::<T>(count as usize).expect("options bound the number of partitions")
    }

    /// For `count` partitions.
    pub(super) fn new(count: u32, make: impl Fn() -> T) -> Self {
        let block = M::alloc(Self::layout(count), Class::Control).expect("memory for partitions");
        let first = block.cast::<T>();
        for index in 0..count as usize {
            // SAFETY: the block has room for `count` of them.
            unsafe { first.add(index).write(make()) };
        }
        Self { first, count, machine: PhantomData }
    }

    /// That of a partition, which exists: the worker has refused others.
    #[inline]
    pub(super) fn get(&self, partition: u32) -> &T {
        assert!(partition < self.count, "partition {partition} of {}", self.count);
        // SAFETY: within the array, which lives as long as `self`.
        unsafe { self.first.add(partition as usize).as_ref() }
    }
}

impl<M: Machine, T> Drop for Partitions<M, T> {
    fn drop(&mut self) {
        for index in 0..self.count as usize {
            // SAFETY: written in `new`, and nobody reaches it any more.
            unsafe { self.first.add(index).drop_in_place() };
        }
        // SAFETY: allocated with this layout.
        unsafe { M::free(self.first.cast(), Self::layout(self.count), Class::Control) };
    }
}
