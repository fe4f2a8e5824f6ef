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

use crate::classes::{CLASSES, HEAD_BYTES, class_bytes, class_for};
use crate::record::{Record, RecordRef};
use chiliad_machine::{Link, Machine, Ordering, Tagged};
use core::ptr::NonNull;

/// The bytes of the pointer.
pub(crate) const LINK_BYTES: usize = 8;

/// The classes that records with a mate may have: those of slots of up to 2 KiB.
const MATED_CLASSES: usize = 44;

/// The first number that is no form.
pub(crate) const FORMS_END: usize = CLASSES + MATED_CLASSES;

/// The longest value, with the scheme's words, that a record with a mate has in place.
const PLAIN_BYTES_MAX: usize = class_bytes(MATED_CLASSES as u8 - 1) - HEAD_BYTES - LINK_BYTES;

/// The size class of a form.
#[inline]
pub(crate) const fn class_of(form: u8) -> u8 {
    if has_mate(form) { form - CLASSES as u8 } else { form }
}

/// Whether a record of this form has a place for the pointer to a mate.
#[inline]
pub(crate) const fn has_mate(form: u8) -> bool {
    form as usize >= CLASSES
}

/// The form of a record with a place for a mate, and for so many bytes or, where those are too many, for some.
pub(crate) fn form_for(bytes: usize) -> u8 {
    let slot = HEAD_BYTES + bytes.min(PLAIN_BYTES_MAX) + LINK_BYTES;
    let class = class_for(slot).map_or(MATED_CLASSES - 1, usize::from);
    debug_assert!(class < MATED_CLASSES, "the longest has the last class");
    (CLASSES + class) as u8
}

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

    /// This record and its mates.
    pub fn row(self) -> impl Iterator<Item = Self> {
        core::iter::successors(Some(self), |record| record.mate())
    }

    /// Puts the pointer in place, at the beginning of a life.
    ///
    /// # Safety
    /// Nobody else knows the record, whose slot is whole and of a form with a mate.
    pub(crate) unsafe fn begin_with_mate(self, mate: Option<Self>) {
        let pointer: *mut Record<M> = mate.map_or(core::ptr::null_mut(), Self::as_ptr);
        debug_assert!(mate != Some(self), "a row does not lead back");
        // SAFETY: the slot ends with room for it and is the caller's alone; words need no drop.
        unsafe { self.mate_place().write(Link::new(Tagged::from_raw(pointer))) };
    }
}
