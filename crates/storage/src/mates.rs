//! Rows in several records: one that an index leads to, and its mates, each of which holds another part of the row.
//!
//! ```text
//!   index -> record of the first part -> mate -> mate -> nothing
//! ```
//!
//! Each record has words, a value and versions of its own, so that a scheme reads, locks and writes the parts apart; the
//! way to them is one. The pointers are set before an index has the first record, and stay as they are until that one is
//! freed, which takes its mates along. What leads to a mate lies at the very end of the slot; the record's note has a
//! *form* for it: the number of its size class, counted from the end of the classes.
//!
//! Records with a mate are never sparse (`sparse.rs`), and have at most [`PLAIN_BYTES_MAX`] bytes in place: values beyond that
//! overflow.

use crate::budget::OutOfMemory;
use crate::classes::{self, LINK_BYTES};
use crate::heap::{Kind, LocalHeap};
use crate::record::{Record, RecordRef};
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};
use core::ptr::NonNull;

impl<M: Machine> RecordRef<M> {
    /// The record with the next part of the row; `None` after the last one, and where rows have one record.
    ///
    /// The caller is pinned, and has come here by an index in this pin, or nobody else knows the record.
    #[must_use]
    #[inline]
    pub fn mate(self) -> Option<Self> {
        if !self.has_place_for_mate() {
            return None;
        }
        // SAFETY: the heap has put a link there when the record's life began, and the life goes on while the caller is
        // pinned.
        let link = unsafe { &*self.mate_place() };
        // Relaxed: it was set before the record entered its index, whose release and acquire lead here.
        let mate = NonNull::new(link.load(Ordering::Relaxed).into_raw());
        // SAFETY: links of records lead to records of the same heap.
        mate.map(|mate| unsafe { Self::from_raw(mate) })
    }

    /// The record of the part `part` of the row, the first being 0.
    #[must_use]
    #[inline]
    pub fn part(self, part: u8) -> Option<Self> {
        (0..part).try_fold(self, |record, _| record.mate())
    }

    /// The payload bytes up to the end of the pointer to the mate; 0 where there is no place for one.
    #[must_use]
    #[inline]
    pub fn bytes_to_mate(self) -> usize {
        if self.has_place_for_mate() { self.capacity() + LINK_BYTES } else { 0 }
    }

    /// This record and its mates. The caller may free each record as it comes.
    pub fn row(self) -> impl Iterator<Item = Self> {
        let mut next = Some(self);
        core::iter::from_fn(move || {
            let record = next?;
            // Read before the caller has the record, and may free it.
            next = record.mate();
            Some(record)
        })
    }

    /// Puts the pointer in place.
    ///
    /// # Safety
    /// Nobody else follows it, and the record's slot is whole and of a form with a mate.
    pub(crate) unsafe fn begin_with_mate(self, mate: Option<Self>) {
        let pointer: *mut Record<M> = mate.map_or(core::ptr::null_mut(), Self::as_ptr);
        debug_assert!(mate != Some(self), "a row does not lead back");
        // SAFETY: the slot ends with room for it and is the caller's alone; words need no drop.
        unsafe { self.mate_place().write(Link::new(Tagged::from_raw(pointer))) };
    }
}

impl<M: Machine> LocalHeap<M> {
    /// The records of a row whose parts have so many bytes, in their order; the first one is returned. One of more than 2 KiB
    /// has room for a part of its value, which overflows then.
    ///
    /// # Errors
    /// When the memory limit is reached; none is left allocated.
    ///
    /// # Panics
    /// Where there are no parts.
    pub fn alloc_row(
        &mut self,
        bytes: impl DoubleEndedIterator<Item = usize>,
    ) -> Result<RecordRef<M>, OutOfMemory> {
        let mut first = None;
        for bytes in bytes.rev() {
            match self.alloc_with_mate(first, bytes) {
                Ok(record) => first = Some(record),
                Err(error) => {
                    // SAFETY: they were allocated here, and nobody has seen them.
                    first.into_iter().for_each(|first| unsafe { self.free_row(first) });
                    return Err(error);
                }
            }
        }
        Ok(first.expect("a row has a part"))
    }

    /// As [`LocalHeap::alloc_record`], a record that leads to `mate`, or to nothing where that is `None`.
    fn alloc_with_mate(
        &mut self,
        mate: Option<RecordRef<M>>,
        bytes: usize,
    ) -> Result<RecordRef<M>, OutOfMemory> {
        let form = classes::form_for(bytes + 8 * self.scheme_words);
        let place = self.alloc_class(Kind::Record, classes::class_of(form))?.cast::<Record<M>>();
        // SAFETY: a slot of sufficient size, constructed as words; the head is two of them.
        let record = unsafe { RecordRef::from_raw(place) };
        record.begin_life(form, self.scheme_words);
        // SAFETY: it was allocated above, whole, in a form with a mate.
        unsafe { record.begin_with_mate(mate) };
        Ok(record)
    }

    /// Puts a record with room for `bytes` in the place of that of the part `part`, which is not the first. It has the word of
    /// the one before, which is freed, and no value.
    ///
    /// # Errors
    /// When the memory limit is reached; the row is as it was.
    ///
    /// # Panics
    /// Where there is no such part.
    ///
    /// # Safety
    /// Nobody else looks at the other parts of the row at `first` meanwhile, and nothing but that leads to the record.
    pub unsafe fn exchange_part(
        &mut self,
        first: RecordRef<M>,
        part: u8,
        bytes: usize,
    ) -> Result<RecordRef<M>, OutOfMemory> {
        let before =
            part.checked_sub(1).and_then(|at| first.part(at)).expect("it is not the first");
        let old = before.mate().expect("the row has it");
        let new = self.alloc_with_mate(old.mate(), bytes)?;
        new.word().store(old.word().load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: nobody else looks at the row, as the caller promises.
        unsafe { before.begin_with_mate(Some(new)) };
        // SAFETY: nothing leads to it any more.
        unsafe { self.free_record(Kind::Record, old) };
        Ok(new)
    }

    /// Frees the records of a row, which may have one part.
    ///
    /// # Safety
    /// As for [`LocalHeap::free_record`], of each of them.
    pub unsafe fn free_row(&mut self, first: RecordRef<M>) {
        for record in first.row() {
            // SAFETY: the caller's promise.
            unsafe { self.free_record(Kind::Record, record) };
        }
    }
}
