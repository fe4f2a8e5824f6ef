//! Records: a header that a scheme owns, a length, and payload words.
//!
//! ```text
//!   +0   word     the scheme's: lock and flags, TID or timestamps
//!   +8   link     the scheme's: older versions, queues
//!   +16  meta     bit 63: overflow | 62..40: life | 39..32: size class | 31..0: length in bytes
//!   +24  payload  whole words, as many as the size class holds
//! ```
//!
//! A record of 100 bytes is thus two cache lines. Invariants:
//!
//! - Slots are type-stable: a freed slot keeps these three words, `life` counts its reuses, and the
//!   scheme sees to it that `word` only grows. Whoever kept a [`RecordRef`] beyond its pin may look
//!   at the header, and learns there that the record is no longer what it was.
//! - The size class never changes. A value that outgrows it lives in a block of its own at the head
//!   of `link`, and `overflow` says so; a record therefore never moves and no index entry is ever
//!   rewritten for growth. (The thesis, chapter 5, installs a new record instead.)

use chiliad_machine::{Link, Machine, Ordering, Word, copy_in, copy_out, words_for};
use core::ptr::NonNull;

/// The longest value in bytes.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

const CLASS_SHIFT: u32 = 32;
const LIFE_SHIFT: u32 = 40;
const LIFE_ONE: u64 = 1 << LIFE_SHIFT;
const LIFE_MASK: u64 = ((1 << 23) - 1) << LIFE_SHIFT;
const OVERFLOW: u64 = 1 << 63;
const LENGTH_MASK: u64 = u32::MAX as u64;

/// The two words that a scheme owns in each record and each [`crate::Guard`].
#[repr(C)]
pub struct Header<M: Machine> {
    /// Lock and flags, TID or timestamps: the scheme says.
    pub word: M::Word,
    /// Older versions, waiting requests: the scheme says.
    pub link: M::Link<Record<M>>,
}

/// A record in place. Only its first three words are described by the type; the payload follows.
#[repr(C)]
pub struct Record<M: Machine> {
    header: Header<M>,
    meta: M::Word,
}

/// The bytes before the payload.
pub(crate) const HEAD_BYTES: usize = 24;

/// A record, by address. Valid as long as its heap lives, whatever happens to the record.
pub struct RecordRef<M: Machine>(NonNull<Record<M>>);

impl<M: Machine> Clone for RecordRef<M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for RecordRef<M> {}

impl<M: Machine> PartialEq for RecordRef<M> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<M: Machine> Eq for RecordRef<M> {}

impl<M: Machine> core::fmt::Debug for RecordRef<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "record#{:x}", self.address())
    }
}

// SAFETY: a record is words; it may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for RecordRef<M> where M::Word: Sync {}
// SAFETY: as above.
unsafe impl<M: Machine> Sync for RecordRef<M> where M::Word: Sync {}

impl<M: Machine> RecordRef<M> {
    /// # Safety
    /// `place` is a record slot of a living heap.
    #[inline]
    pub unsafe fn from_raw(place: NonNull<Record<M>>) -> Self {
        Self(place)
    }

    /// The pointer, for links.
    #[must_use]
    #[inline]
    pub fn as_ptr(self) -> *mut Record<M> {
        self.0.as_ptr()
    }

    /// A number that orders records the same way in every run of one seed.
    #[must_use]
    #[inline]
    pub fn address(self) -> u64 {
        M::address(self.0.as_ptr().cast())
    }

    #[inline]
    fn head<'a>(self) -> &'a Record<M> {
        // SAFETY: slots are type-stable for the life of the heap, and the three words are atomic.
        unsafe { self.0.as_ref() }
    }

    /// The scheme's words.
    #[must_use]
    #[inline]
    pub fn header<'a>(self) -> &'a Header<M> {
        &self.head().header
    }

    /// The payload's words, all that the size class holds.
    #[inline]
    fn payload<'a>(self, bytes: usize) -> &'a [M::Word] {
        debug_assert!(bytes <= self.capacity());
        // SAFETY: the slot holds `capacity` payload bytes behind its head, constructed as words.
        unsafe {
            let first = self.0.as_ptr().byte_add(HEAD_BYTES).cast::<M::Word>();
            core::slice::from_raw_parts(first, words_for(bytes))
        }
    }

    #[inline]
    fn meta(self) -> u64 {
        self.head().meta.load(Ordering::Relaxed)
    }

    /// Payload bytes that fit in place.
    #[must_use]
    #[inline]
    pub fn capacity(self) -> usize {
        crate::heap::class_bytes(((self.meta() >> CLASS_SHIFT) & 0xff) as u8) - HEAD_BYTES
    }

    /// The size class, for the heap.
    pub(crate) fn class(self) -> u8 {
        ((self.meta() >> CLASS_SHIFT) & 0xff) as u8
    }

    /// The length of the value in bytes. May be torn from the payload: validate.
    #[must_use]
    #[inline]
    pub fn length(self) -> usize {
        (self.meta() & LENGTH_MASK) as usize
    }

    /// Whether the value lives in the block at the head of `link`.
    #[must_use]
    #[inline]
    pub fn overflows(self) -> bool {
        self.meta() & OVERFLOW != 0
    }

    /// How often the slot has been reused: differs when the record is no longer the one that was
    /// found. Wraps after eight million lives, which no transaction outlives.
    #[must_use]
    #[inline]
    pub fn life(self) -> u32 {
        ((self.meta() & LIFE_MASK) >> LIFE_SHIFT) as u32
    }

    /// Sets the length, and whether the value overflows. The caller excludes other writers.
    #[inline]
    pub fn set_length(self, bytes: usize, overflows: bool) {
        debug_assert!(overflows || bytes <= self.capacity());
        let kept = self.meta() & !(LENGTH_MASK | OVERFLOW);
        let flag = if overflows { OVERFLOW } else { 0 };
        self.head().meta.store(kept | flag | bytes as u64, Ordering::Relaxed);
    }

    /// Makes a slot a record of `class` with an empty value, in its next life. `word` stays.
    pub(crate) fn begin_life(self, class: u8) {
        let life = self.meta().wrapping_add(LIFE_ONE) & LIFE_MASK;
        self.head().meta.store(life | u64::from(class) << CLASS_SHIFT, Ordering::Relaxed);
        self.header().link.store(chiliad_machine::Tagged::null(), Ordering::Relaxed);
    }

    /// Copies the in-place payload out: `target.len()` bytes, at most [`RecordRef::capacity`]. What
    /// arrives may be torn: validate the header afterwards.
    #[inline]
    pub fn read(self, target: &mut [u8]) {
        copy_out(self.payload(target.len()), target);
    }

    /// Writes the in-place payload and the length. The caller excludes other writers and has made
    /// readers retry.
    #[inline]
    pub fn write(self, source: &[u8]) {
        copy_in(self.payload(source.len()), source);
        self.set_length(source.len(), false);
    }

    /// Copies the in-place payload and the length of `source`, which must fit and whose writers the
    /// caller excludes.
    pub fn copy_from(self, source: Self) {
        let bytes = source.length();
        for (target, word) in self.payload(bytes).iter().zip(source.payload(bytes)) {
            target.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.set_length(bytes, false);
    }

    /// Starts loading the record's lines: the head and up to `bytes` of payload.
    #[inline]
    pub fn prefetch(self, bytes: usize) {
        M::prefetch(self.0.as_ptr().cast(), (HEAD_BYTES + bytes).div_ceil(64) as u32);
    }
}
