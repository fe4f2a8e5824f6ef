//! A worker's free slots of one kind and class, and how many it takes and gives at a time.
//!
//! The number follows the load (Yu, 2015, 4.1.1): each time the pool has run empty it takes
//! twice as many, so that a worker that needs many slots goes to the shared ones ever more seldom;
//! each time there are too many it halves the number again.

use chiliad_machine::Machine;
use core::ptr::NonNull;

/// Bytes of the first batch, and the most slots in it.
const BATCH_BYTES: usize = 8 << 10;
const BATCH_SLOTS_MAX: usize = 64;
/// A batch grows up to this part of a chunk: what is made of new memory is still in the cache when it is used.
const CHUNK_PART: usize = 32;

/// Slots to be taken before the one whose first lines are asked for, and how many of these at most.
const SLOTS_AHEAD: usize = 4;
const LINES_AHEAD: usize = 4;

/// Free slots, the warmest last.
#[derive(Default)]
pub struct Pool {
    pub slots: Vec<NonNull<u8>>,
    /// Doublings of the batch.
    grown: u32,
}

/// The slots of `bytes` in the smallest batch.
pub fn batch_slots(bytes: usize) -> usize {
    debug_assert!(bytes > 0, "slots take room");
    (BATCH_BYTES / bytes).clamp(1, BATCH_SLOTS_MAX)
}

impl Pool {
    /// Slots of `bytes` to take at a time.
    pub fn batch(&self, bytes: usize) -> usize {
        debug_assert!(self.grown < usize::BITS / 2, "a batch is a part of a chunk");
        batch_slots(bytes) << self.grown
    }

    /// The pool has run empty and was filled: the next time it takes more, up to a part of a chunk.
    pub fn grow(&mut self, bytes: usize, chunk_bytes: usize) {
        if 2 * self.batch(bytes) * bytes <= chunk_bytes / CHUNK_PART {
            self.grown += 1;
            debug_assert!(self.batch(bytes) * bytes <= chunk_bytes / CHUNK_PART, "a small part");
        }
    }

    /// Takes the last slot, of so many bytes.
    ///
    /// # Panics
    /// Where there is none.
    #[inline]
    pub fn take<M: Machine>(&mut self, bytes: usize) -> NonNull<u8> {
        let place = self.slots.pop().expect("the pool was filled");
        // The heap reads and writes the head of a slot right after it takes the slot, which is seldom in the cache. So it
        // prefetches each slot a few allocations ahead.
        if !M::SIMULATED
            && let Some(later) = self.slots.len().checked_sub(SLOTS_AHEAD)
        {
            let lines = bytes.div_ceil(64).min(LINES_AHEAD) as u32;
            M::prefetch(self.slots[later].as_ptr(), lines);
        }
        place
    }

    /// Whether there are too many slots of `bytes`.
    #[inline]
    pub fn has_surplus(&self, bytes: usize) -> bool {
        self.slots.len() > 4 * self.batch(bytes)
    }

    /// Slots of `bytes` to be given away where there are too many, the coldest first. The next time the
    /// pool takes fewer.
    pub fn shrink(&mut self, bytes: usize) -> usize {
        debug_assert!(self.has_surplus(bytes), "only a surplus is given back");
        let batch = self.batch(bytes);
        self.grown = self.grown.saturating_sub(1);
        2 * batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_follows_the_load() {
        let mut pool = Pool::default();
        assert_eq!(pool.batch(128), 64);
        for _ in 0..40 {
            pool.grow(128, 2 << 20);
        }
        assert_eq!(pool.batch(128), 512, "a part of a chunk");
        pool.slots = vec![NonNull::dangling(); 4 * 512];
        assert!(!pool.has_surplus(128));
        pool.slots.push(NonNull::dangling());
        assert!(pool.has_surplus(128));
        assert_eq!(pool.shrink(128), 2 * 512);
        assert_eq!(pool.batch(128), 256);
        let mut large = Pool::default();
        large.grow(1 << 20, 2 << 20);
        assert_eq!(large.batch(1 << 20), 1, "too large for more than one");
    }
}
