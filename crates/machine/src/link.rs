//! Shared pointers with tag bits, which keep the pointer's provenance.

use crate::Ordering;
use core::fmt;

/// The bits of a [`Tagged`] pointer that carry its tag: targets are aligned to eight bytes.
const TAG_MASK: usize = 0b111;

/// A possibly null pointer and a tag of three bits.
pub struct Tagged<T> {
    raw: *mut T,
}

impl<T> Clone for Tagged<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tagged<T> {}

impl<T> PartialEq for Tagged<T> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.raw, other.raw)
    }
}

impl<T> Eq for Tagged<T> {}

impl<T> fmt::Debug for Tagged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}+{}", self.pointer(), self.tag())
    }
}

impl<T> Tagged<T> {
    /// The null pointer with tag zero.
    #[must_use]
    pub const fn null() -> Self {
        Self { raw: core::ptr::null_mut() }
    }

    /// `pointer`, aligned to eight bytes, with `tag` below eight.
    #[must_use]
    #[inline]
    pub fn new(pointer: *mut T, tag: usize) -> Self {
        debug_assert!(pointer.addr() & TAG_MASK == 0 && tag <= TAG_MASK);
        Self { raw: pointer.map_addr(|address| address | tag) }
    }

    /// The value as it is stored.
    #[must_use]
    #[inline]
    pub fn from_raw(raw: *mut T) -> Self {
        Self { raw }
    }

    /// The value to store.
    #[must_use]
    #[inline]
    pub fn into_raw(self) -> *mut T {
        self.raw
    }

    /// The pointer without its tag.
    #[must_use]
    #[inline]
    pub fn pointer(self) -> *mut T {
        self.raw.map_addr(|address| address & !TAG_MASK)
    }

    /// The tag.
    #[must_use]
    #[inline]
    pub fn tag(self) -> usize {
        self.raw.addr() & TAG_MASK
    }

    /// Whether the pointer is null, whatever its tag.
    #[must_use]
    #[inline]
    pub fn is_null(self) -> bool {
        self.pointer().is_null()
    }
}

/// A shared, tagged pointer with atomic operations.
pub trait Link<T>: Sized {
    /// A link holding `value`, constructed in place.
    fn new(value: Tagged<T>) -> Self;
    /// Reads the link.
    fn load(&self, order: Ordering) -> Tagged<T>;
    /// Writes the link.
    fn store(&self, value: Tagged<T>, order: Ordering);
    /// As [`Link::store`], where others may exchange the link at that moment. It differs for loom alone, whose model
    /// lets a store come between an exchange's read and its write, and which therefore exchanges here, too.
    #[inline]
    fn store_beside(&self, value: Tagged<T>, order: Ordering) {
        self.store(value, order);
    }
    /// Writes the link and returns what it held.
    fn swap(&self, value: Tagged<T>, order: Ordering) -> Tagged<T>;
    /// Writes `new` if the link holds `current`.
    ///
    /// # Errors
    /// The value found, when it was not `current`.
    fn compare_exchange(
        &self,
        current: Tagged<T>,
        new: Tagged<T>,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Tagged<T>, Tagged<T>>;
}
