//! Key cells: where keys longer than a word are kept.
//!
//! ```text
//!   +0   record   the record's address, never changed
//!   +8   length   bytes of the key
//!   +16  key      whole words, the last one padded with zeroes
//! ```
//!
//! A cell is written before an entry leads to it and never changed afterwards; its slot is retired
//! when the entry is taken out.

use crate::{Kind, LocalHeap, OutOfMemory, Record, RecordRef};
use chiliad_machine::{Cost, Link, Machine, Ordering, Tagged, Word, copy_in, copy_out, words_for};
use core::ptr::NonNull;

const HEAD_BYTES: usize = 16;

/// The first words of a key cell.
#[repr(C)]
pub(super) struct Cell<M: Machine> {
    record: M::Link<Record<M>>,
    length: M::Word,
}

/// A key cell, valid while the caller is pinned.
pub(super) struct CellRef<M: Machine>(NonNull<Cell<M>>);

impl<M: Machine> Clone for CellRef<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for CellRef<M> {}

/// The bytes of a cell with a key of this length.
pub(super) fn bytes_of(key_bytes: usize) -> usize {
    HEAD_BYTES + 8 * words_for(key_bytes)
}

impl<M: Machine> CellRef<M> {
    /// A cell for `key` that leads to `record`.
    pub(super) fn alloc(
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
    ) -> Result<Self, OutOfMemory> {
        debug_assert!(key.len() > 8, "a shorter key stands in its entry");
        let place = heap.alloc(Kind::Inner, bytes_of(key.len()))?.cast::<Cell<M>>();
        let cell = Self(place);
        let link = M::Link::new(Tagged::new(record.as_ptr(), 0));
        // SAFETY: a slot of sufficient size that nobody else knows.
        unsafe { place.write(Cell { record: link, length: M::Word::new(key.len() as u64) }) };
        copy_in(cell.words(key.len()), key);
        Ok(cell)
    }

    /// The cell that an entry's link leads to.
    ///
    /// # Safety
    /// The link was tagged as leading to a cell, and the caller is pinned since it was read.
    #[inline]
    pub(super) unsafe fn from_link(link: Tagged<Record<M>>) -> Self {
        debug_assert!(link.tag() == super::digest::CELL && !link.is_null());
        // SAFETY: entries that are not empty lead somewhere.
        Self(unsafe { NonNull::new_unchecked(link.pointer().cast()) })
    }

    /// The link of an entry that leads here.
    pub(super) fn to_link(self) -> Tagged<Record<M>> {
        Tagged::new(self.0.as_ptr().cast(), super::digest::CELL)
    }

    pub(super) fn as_ptr(self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    #[inline]
    fn head(&self) -> &Cell<M> {
        // SAFETY: the pin keeps the slot a cell.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn words(&self, key_bytes: usize) -> &[M::Word] {
        // SAFETY: the slot holds the head and as many words as the key needs.
        unsafe {
            let first = self.0.as_ptr().byte_add(HEAD_BYTES).cast::<M::Word>();
            core::slice::from_raw_parts(first, words_for(key_bytes))
        }
    }

    /// The length of the key in bytes.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.head().length.load(Ordering::Relaxed) as usize
    }

    /// Whether the cell's key is `key`.
    #[inline]
    pub(super) fn is_for(&self, key: &[u8]) -> bool {
        M::work(Cost::Compare, words_for(key.len()) as u32);
        if self.length() != key.len() {
            return false;
        }
        let chunks = key.chunks(8);
        self.words(key.len()).iter().zip(chunks).all(|(word, chunk)| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.load(Ordering::Relaxed) == u64::from_le_bytes(bytes)
        })
    }

    /// The record that the key leads to.
    #[inline]
    pub(super) fn record(&self) -> RecordRef<M> {
        let record = self.head().record.load(Ordering::Relaxed).pointer();
        // SAFETY: a cell is made for a record of the same heap.
        unsafe { RecordRef::from_raw(NonNull::new_unchecked(record)) }
    }

    /// Appends the key to `target`.
    pub(super) fn append_key(&self, target: &mut Vec<u8>) {
        let (start, length) = (target.len(), self.length());
        target.resize(start + length, 0);
        copy_out(self.words(length), &mut target[start..]);
    }

    /// Frees a cell that no entry ever led to, or whose index is being taken apart.
    pub(super) fn free(self, heap: &mut LocalHeap<M>) {
        // SAFETY: it was allocated with these bytes; the caller says that nobody else will look at it.
        unsafe { heap.free(Kind::Inner, bytes_of(self.length()), self.0.cast()) };
    }

    /// Frees the cell once its readers have left. The caller has just taken out its entry.
    pub(super) fn retire(self, heap: &mut LocalHeap<M>) {
        // SAFETY: the only entry that led here is gone, and the operation that took it out retires the cell.
        unsafe { heap.retire(Kind::Inner, bytes_of(self.length()), self.0.cast()) };
    }
}
