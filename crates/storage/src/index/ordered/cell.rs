//! Key cells: the rest of a key that goes on beyond its slice and shares the slice with no other
//! longer key.
//!
//! ```text
//!   +0   link    the record
//!   +8   word    the rest's length in bytes
//!   +16  words   the rest, as slices
//! ```
//!
//! A cell never changes once a leaf leads to it; it is replaced by a layer when a second longer key
//! comes to share the slice. (Masstree keeps a bag of suffixes per leaf, which it rewrites as it
//! grows; a cell per key costs one more line to look at and nothing to maintain.)

use super::node::Target;
use super::slice::{SLICE_BYTES, slice_at};
use crate::record::Record;
use crate::{Kind, LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Cost, Link, Machine, Ordering, Tagged, Word, words_for};
use core::ptr::NonNull;

/// Cells are reached through nothing but the index, and readers never look at a freed one.
const KIND: Kind = Kind::Version;

#[repr(C)]
struct Head<M: Machine> {
    record: M::Link<Record<M>>,
    length: M::Word,
}

/// The bytes of a cell with a rest of this length.
pub(super) fn cell_bytes<M: Machine>(length: usize) -> usize {
    size_of::<Head<M>>() + words_for(length) * size_of::<M::Word>()
}

/// A key cell, alive as long as the caller's pin.
pub(super) struct Cell<M: Machine>(NonNull<Head<M>>);

impl<M: Machine> Clone for Cell<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Cell<M> {}

impl<M: Machine> Cell<M> {
    /// A cell for `rest`, not yet shared.
    pub(super) fn new(
        heap: &mut LocalHeap<M>,
        record: RecordRef<M>,
        rest: &[u8],
    ) -> Result<Self, OutOfMemory> {
        let slices = (0..rest.len()).step_by(SLICE_BYTES).map(|offset| slice_at(rest, offset));
        Self::from_slices(heap, record, rest.len(), slices)
    }

    /// A cell for what is left of this one's key after `skipped` slices, not yet shared.
    pub(super) fn tail(self, heap: &mut LocalHeap<M>, skipped: usize) -> Result<Self, OutOfMemory> {
        let length = self.length() - skipped * SLICE_BYTES;
        let slices = (skipped..words_for(self.length())).map(|index| self.slice(index));
        Self::from_slices(heap, self.record(), length, slices)
    }

    fn from_slices(
        heap: &mut LocalHeap<M>,
        record: RecordRef<M>,
        length: usize,
        slices: impl Iterator<Item = u64>,
    ) -> Result<Self, OutOfMemory> {
        debug_assert!(length > 0, "a key that ends with its slice needs no cell");
        let place = heap.alloc(KIND, cell_bytes::<M>(length))?.cast::<Head<M>>();
        // SAFETY: the slot is ours alone and long enough for the head and the words after it.
        unsafe {
            place.write(Head {
                record: M::Link::new(Tagged::new(record.as_ptr(), 0)),
                length: M::Word::new(length as u64),
            });
            let words = place.add(1).cast::<M::Word>();
            for (index, slice) in slices.enumerate() {
                words.add(index).write(M::Word::new(slice));
            }
        }
        Ok(Self(place))
    }

    /// # Safety
    /// `target` was read from a leaf slot of the cell kind in a state that was validated, and the
    /// caller has been pinned since.
    #[inline]
    pub(super) unsafe fn from_target(target: Tagged<Target>) -> Self {
        // SAFETY: validated slots of the kind are never null.
        Self(unsafe { NonNull::new_unchecked(target.pointer().cast()) })
    }

    /// The value of a leaf's link to this cell.
    pub(super) fn target(self) -> Tagged<Target> {
        Tagged::new(self.0.as_ptr().cast(), 0)
    }

    #[inline]
    fn head<'a>(self) -> &'a Head<M> {
        // SAFETY: alive as long as the pin, and all its words are atomic.
        unsafe { self.0.as_ref() }
    }

    /// The record.
    #[inline]
    pub(super) fn record(self) -> RecordRef<M> {
        let record = self.head().record.load(Ordering::Relaxed).pointer();
        // SAFETY: cells are made with a record and never changed.
        unsafe { RecordRef::from_raw(NonNull::new_unchecked(record)) }
    }

    /// The length of the rest in bytes.
    #[inline]
    pub(super) fn length(self) -> usize {
        self.head().length.load(Ordering::Relaxed) as usize
    }

    /// The rest's slice number `index`.
    #[inline]
    pub(super) fn slice(self, index: usize) -> u64 {
        // SAFETY: within the words after the head.
        unsafe { self.0.add(1).cast::<M::Word>().add(index).as_ref() }.load(Ordering::Relaxed)
    }

    /// How this cell's rest compares with `rest`.
    pub(super) fn compare(self, rest: &[u8]) -> core::cmp::Ordering {
        let length = self.length();
        let shared = words_for(length.min(rest.len()));
        M::work(Cost::Compare, shared as u32);
        for index in 0..shared {
            let order = self.slice(index).cmp(&slice_at(rest, index * SLICE_BYTES));
            if order.is_ne() {
                return order;
            }
        }
        // Padding makes equal slices of different lengths; the shorter key comes first.
        length.cmp(&rest.len())
    }

    /// Whether this cell's rest is `rest`.
    #[inline]
    pub(super) fn is(self, rest: &[u8]) -> bool {
        self.length() == rest.len() && self.compare(rest).is_eq()
    }

    /// Appends the rest to `target`.
    pub(super) fn append_to(self, target: &mut Vec<u8>) {
        let end = target.len() + self.length();
        for index in 0..words_for(self.length()) {
            target.extend_from_slice(&self.slice(index).to_be_bytes());
        }
        target.truncate(end);
    }

    /// Frees a cell that nobody else has seen, or whose tree is being taken apart.
    pub(super) fn free(self, heap: &mut LocalHeap<M>) {
        let bytes = cell_bytes::<M>(self.length());
        // SAFETY: made by `from_slices` with this size; the caller says that nobody else will look.
        unsafe { heap.free(KIND, bytes, self.0.cast()) };
    }

    /// Frees a cell that the caller has just unlinked, once no reader can be looking at it.
    pub(super) fn retire(self, heap: &mut LocalHeap<M>) {
        let bytes = cell_bytes::<M>(self.length());
        // SAFETY: made by `from_slices` with this size; the caller took it out under its leaf's
        // latch during this pin.
        unsafe { heap.retire(KIND, bytes, self.0.cast()) };
    }
}
