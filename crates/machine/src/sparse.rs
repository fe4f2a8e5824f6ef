//! Slots with a hole in the middle: they have all their addresses, but what nobody reads has no memory.
//!
//! ```text
//!   the slot, as it is addressed and charged   | front |          hole          | back |
//!   the memory that there is of it             | front | back |
//! ```
//!
//! For simulations of databases larger than the host's memory: what a record's value consists of does
//! not matter to most of what is simulated, while its size does.

use crate::LINE_BYTES;
use core::alloc::Layout;

/// The parts of a slot that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SparseShape {
    /// The bytes of the slot, the hole among them.
    pub whole_bytes: u32,
    /// The bytes at its start that exist.
    pub front_bytes: u32,
    /// The bytes at its end that exist.
    pub back_bytes: u32,
    /// Accesses in place touch nothing of the hole; copies do.
    pub spared: bool,
}

impl SparseShape {
    /// The bytes of memory that there are of the slot: whole lines, the back at their end.
    #[must_use]
    #[inline]
    pub const fn held_bytes(self) -> usize {
        ((self.front_bytes + self.back_bytes) as usize).next_multiple_of(LINE_BYTES)
    }

    /// Whether less is held than the slot has.
    #[must_use]
    pub const fn saves(self) -> bool {
        self.held_bytes() < self.whole_bytes as usize
    }

    /// Which byte of the slot the byte `held` of its memory is.
    #[must_use]
    #[inline]
    pub const fn byte_of(self, held: usize) -> usize {
        if held < self.front_bytes as usize {
            held
        } else {
            held + self.whole_bytes as usize - self.held_bytes()
        }
    }

    /// The memory of `count` slots, which lie side by side; `None` when that is too much.
    #[must_use]
    pub fn layout(self, count: usize) -> Option<Layout> {
        Layout::from_size_align(count.checked_mul(self.held_bytes())?, LINE_BYTES).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_and_back_keep_their_places() {
        let shape =
            SparseShape { whole_bytes: 1024, front_bytes: 32, back_bytes: 24, spared: false };
        assert_eq!(shape.held_bytes(), 64);
        assert!(shape.saves());
        assert_eq!([0, 31, 40, 63].map(|held| shape.byte_of(held)), [0, 31, 1000, 1023]);
        let shape = SparseShape { front_bytes: 48, ..shape };
        assert_eq!(shape.held_bytes(), 128);
        assert_eq!(shape.byte_of(127), 1023);
        assert!(!SparseShape { whole_bytes: 128, ..shape }.saves());
        assert_eq!(shape.layout(3).map(|layout| layout.size()), Some(384));
    }
}
