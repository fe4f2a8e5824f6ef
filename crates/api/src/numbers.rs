//! The numbers of accesses: no two of a process are equal, so that a handle tells its transaction.
//!
//! A transaction's accesses are numbered from its first one on. A [`crate::Row`] is such a number;
//! whether it is one of the transaction in hand, and where its access is, takes a subtraction and the
//! comparison that an index into an array needs anyway.

use chiliad_machine::serial;
use core::num::NonZeroU64;

/// Numbers that a worker takes at once.
const BLOCK: u64 = 1 << 33;
/// A transaction begins within the first of them, and has fewer accesses than there are others: they
/// all lie in its arena, which holds 4 GiB.
const USED_MAX: u64 = BLOCK / 2;

/// The numbers of a worker's accesses.
pub struct Numbers {
    /// That of the first access of the transaction in hand.
    first: NonZeroU64,
    /// From here on the next transaction takes another block.
    end: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self::new()
    }
}

impl Numbers {
    /// Numbers that no other transaction of the process has.
    #[must_use]
    pub fn new() -> Self {
        // Of all databases of the process: a handle may be carried from one to another.
        let start = serial() * BLOCK;
        Self { first: NonZeroU64::MIN.saturating_add(start), end: start + USED_MAX }
    }

    /// Goes on to the next transaction, after one of so many accesses.
    #[inline]
    pub fn pass(&mut self, accesses: usize) {
        // One more, for scans that met nothing: they are numbered like the access that would follow.
        self.first = self.first.saturating_add(accesses as u64 + 1);
        if self.first.get() > self.end {
            self.renew();
        }
    }

    #[cold]
    fn renew(&mut self) {
        *self = Self::new();
    }

    /// The number of the first access of the transaction in hand.
    #[must_use]
    #[inline]
    pub fn first(&self) -> u64 {
        self.first.get()
    }

    /// The number of an access.
    #[must_use]
    #[inline]
    pub fn number(&self, place: usize) -> NonZeroU64 {
        self.first.saturating_add(place as u64)
    }

    /// The place of the access of this number: beyond all of them, if it is another transaction's.
    #[must_use]
    #[inline]
    pub fn place(&self, number: u64) -> usize {
        number.wrapping_sub(self.first.get()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_of_two_transactions() {
        let (mut one, other) = (Numbers::new(), Numbers::new());
        let first = one.number(0);
        assert_eq!(one.place(one.number(3).get()), 3);
        assert!(other.place(first.get()) as u64 >= USED_MAX);
        one.pass(0);
        assert_ne!(one.number(0), first, "an empty transaction has a number too");
        assert_eq!(one.place(first.get()), usize::MAX);
    }

    #[test]
    fn a_block_that_is_used_up_is_followed_by_another() {
        let mut numbers = Numbers::new();
        let before = numbers.first();
        numbers.pass(USED_MAX as usize);
        assert!(numbers.first() > before + BLOCK / 2);
        assert!(numbers.first() + USED_MAX <= numbers.end + BLOCK);
        assert!(numbers.first() <= numbers.end);
    }
}
