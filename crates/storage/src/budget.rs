//! How much memory a heap may obtain, and how much it has.

use chiliad_machine::{Machine, Ordering, Word};

/// The memory limit is reached, or the machine has no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

/// The limit of a heap and what counts towards it. The words are the heap's.
pub(crate) struct Budget<'a, M: Machine> {
    pub limit_bytes: u64,
    pub reserved_bytes: &'a M::Word,
}

impl<M: Machine> Clone for Budget<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Budget<'_, M> {}

impl<M: Machine> Budget<'_, M> {
    /// Accounts for `bytes` of memory that somebody is about to obtain from the machine.
    ///
    /// # Errors
    /// When that would exceed the limit.
    pub fn reserve(self, bytes: usize) -> Result<(), OutOfMemory> {
        let before = self.reserved_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before.saturating_add(bytes as u64) > self.limit_bytes {
            self.unreserve(bytes);
            return Err(OutOfMemory);
        }
        Ok(())
    }

    /// Takes a [`Budget::reserve`] back.
    pub fn unreserve(self, bytes: usize) {
        let before =
            self.reserved_bytes.fetch_add((bytes as u64).wrapping_neg(), Ordering::Relaxed);
        debug_assert!(before >= bytes as u64, "more given back than was reserved");
    }
}
