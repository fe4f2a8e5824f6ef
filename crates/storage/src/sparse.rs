//! Records of which only a part exists, for simulations of more data than the host has memory for.
//!
//! The heap is told how much of each value to keep ([`Kept`]), and gives records whose slots would be
//! much larger *sparse* slots ([`SparseShape`]):
//!
//! ```text
//!   the slot   | head | first bytes of the value |   hole   | last bytes of the value | far | further |
//!   exist      | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx |          | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx |
//! ```
//!
//! - Length, capacity, class and overflow are those of a whole record.
//! - What is written into the hole is gone, and reading it gives zeroes. Both are charged for, unless
//!   the heap was told that only what exists is accessed.
//! - The last bytes of the value have a fixed place, wherever the value ends.
//! - On other machines than the simulated one no slot is sparse, and none of this is compiled in.

use crate::classes::{HEAD_BYTES, SCHEME_WORDS_MAX, class_bytes};
use chiliad_machine::{Cost, Machine, SparseShape, Word, copy_in, copy_out, words_for};
use core::ptr::NonNull;

/// How much of each value exists on a machine that can leave out the rest. Where that would save
/// nothing a value exists whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Bytes at its start, a multiple of eight.
    pub first_bytes: usize,
    /// Bytes at its end, a multiple of eight and at most as many as the first.
    pub last_bytes: usize,
    /// Reads and writes of a value access what exists of it and nothing else; only a copy from record to record
    /// accesses all.
    pub spared: bool,
}

/// The words after all values: the length, where it stands there, and the scheme's.
const BACK_WORDS: usize = 1 + SCHEME_WORDS_MAX;

/// The shape of a record's slot of `class`, if it is to be sparse.
#[inline]
pub(crate) fn shape<M: Machine>(kept: Option<Kept>, class: u8) -> Option<SparseShape> {
    if !M::SPARSE {
        return None;
    }
    let Kept { first_bytes, last_bytes, spared } = kept?;
    let sparse = SparseShape {
        whole_bytes: class_bytes(class) as u32,
        front_bytes: (HEAD_BYTES + first_bytes) as u32,
        back_bytes: (last_bytes + BACK_WORDS * 8) as u32,
        spared,
    };
    (sparse.saves() && sparse.held_bytes() <= M::CHUNK_BYTES).then_some(sparse)
}

/// A record's slot that is sparse.
pub(crate) struct SparseSlot<M: Machine> {
    start: NonNull<M::Word>,
    shape: SparseShape,
}

impl<M: Machine> SparseSlot<M> {
    /// The record's slot at `start`, if it is sparse.
    #[inline]
    pub(crate) fn new(start: NonNull<M::Word>) -> Option<Self> {
        let shape = M::sparse_shape(start.as_ptr().cast())?;
        Some(Self { start, shape })
    }

    /// Words from byte `from` of the slot's memory on.
    fn words<'a>(&self, from: usize, count: usize) -> &'a [M::Word] {
        debug_assert!(from + count * 8 <= self.shape.held_bytes());
        // SAFETY: the slot's memory is this long, and constructed as words.
        unsafe {
            let first = self.start.as_ptr().byte_add(from);
            core::slice::from_raw_parts(first, count)
        }
    }

    /// The bytes of a value that exist at its start, and at its end.
    fn kept(&self) -> (usize, usize) {
        let first = self.shape.front_bytes as usize - HEAD_BYTES;
        (first, self.shape.back_bytes as usize - BACK_WORDS * 8)
    }

    fn first<'a>(&self) -> &'a [M::Word] {
        self.words(HEAD_BYTES, self.kept().0 / 8)
    }

    fn last<'a>(&self) -> &'a [M::Word] {
        let from = self.shape.held_bytes() - self.shape.back_bytes as usize;
        self.words(from, self.kept().1 / 8)
    }

    /// The word at so many words before the end of the slot, zero being the last.
    pub(crate) fn back<'a>(&self, index: usize) -> &'a M::Word {
        debug_assert!(index < BACK_WORDS);
        &self.words(self.shape.held_bytes() - 8 * (index + 1), 1)[0]
    }

    /// Charges for what an access to a value of `bytes` meets in the hole.
    fn touch(&self, bytes: usize, write: bool) {
        let (first, last) = self.kept();
        let hole = bytes.saturating_sub(first + last);
        M::touch(self.start.as_ptr().cast(), HEAD_BYTES + first, hole, write);
    }

    /// Charges for copying a value of `bytes`, and for the hole unless accesses are in place.
    fn touch_unless_spared(&self, bytes: usize, write: bool) {
        let (first, last) = self.kept();
        if self.shape.spared {
            M::work(Cost::Copy, words_for(first + last) as u32);
        } else {
            M::work(Cost::Copy, words_for(bytes) as u32);
            self.touch(bytes, write);
        }
    }

    /// As [`crate::RecordRef::read`].
    pub(crate) fn read(&self, target: &mut [u8]) {
        let (first, last) = self.kept();
        let bytes = target.len();
        copy_out(self.first(), &mut target[..bytes.min(first)]);
        if bytes > first {
            self.touch_unless_spared(bytes, false);
            target[first..].fill(0);
            copy_out(self.last(), &mut target[bytes - last..]);
        }
    }

    /// Writes the bytes of a value.
    pub(crate) fn write(&self, source: &[u8]) {
        let (first, last) = self.kept();
        let bytes = source.len();
        copy_in(self.first(), &source[..bytes.min(first)]);
        if bytes > first {
            self.touch_unless_spared(bytes, true);
            copy_in(self.last(), &source[bytes - last..]);
        }
    }

    /// Copies a value of `bytes` from `source`, but not its length; `false`, and nothing is copied, if
    /// different parts of it exist there.
    pub(crate) fn copy_from(&self, source: &Self, bytes: usize) -> bool {
        if self.kept() != source.kept() {
            return false;
        }
        let (first, _) = source.kept();
        copy_words(self.first(), &source.first()[..bytes.min(first).div_ceil(8)]);
        if bytes > first {
            source.touch(bytes, false);
            self.touch(bytes, true);
            copy_words(self.last(), source.last());
        }
        true
    }
}

/// Copies as many words as both have.
#[inline]
pub(crate) fn copy_words<W: Word>(target: &[W], source: &[W]) {
    let words = target.len().min(source.len());
    W::copy_words(&target[..words], &source[..words]);
}
