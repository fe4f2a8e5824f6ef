//! Records: a word that a scheme owns, a link that it shares with the layout, and payload words.
//!
//! ```text
//!   +0   word     the scheme's: lock and flags, TID or timestamps
//!   +8   link     bits 63..57: size class | 56: overflow | 55..48: slack | 47..0: pointer, the
//!                 scheme's: older versions, queues
//!   +16  payload  whole words, as many as the size class holds
//! ```
//!
//! The length is the size class' capacity less the slack; where that is too much for eight bits, it
//! stands near the end of the payload, which is then free. A scheme that asks the heap for further
//! words ([`crate::Heap::for_scheme`]) finds them at the very end, where no value reaches. Invariants:
//!
//! - Slots are type-stable: a freed slot keeps these two words. A scheme whose transactions look at a
//!   record again that they kept a [`RecordRef`] of beyond their pin sees to it that `word` only grows,
//!   and learns there whether the record is still what it was.
//! - A record may lead to a *mate*, a record with another part of its row (`mates.rs`): its class says so, and the
//!   pointer stands behind all else.
//! - The size class never changes. A value that outgrows it lives in a block of its own at the head
//!   of the link, and `overflow` says so; a record therefore never moves and no index entry is ever
//!   rewritten for growth. (Tu, 2013, 5, installs a new record instead.)
//! - A slot may have a hole (`sparse.rs`); what touches the payload asks for that first.
//! - Addresses have 48 bits, as those of user space have wherever nobody asks for more.

use crate::classes::{self, CLASSES, HEAD_BYTES, SCHEME_WORDS_MAX, class_bytes};
use crate::sparse::{SparseSlot, copy_words};
use chiliad_machine::{
    Cost, LINE_BYTES, Link, Machine, Ordering, Tagged, Word, copy_in, copy_out, words_for,
};
use core::ptr::NonNull;

/// The longest value in bytes.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

const POINTER_MASK: usize = (1 << 48) - 1;
const SLACK_SHIFT: u32 = 48;
const SLACK_MASK: usize = 0xff << SLACK_SHIFT;
/// The length is in the last word before the scheme's further ones.
const SLACK_FAR: usize = 0xff;
const OVERFLOW: usize = 1 << 56;
const CLASS_SHIFT: u32 = 57;
const CLASS_MASK: usize = !0 << CLASS_SHIFT;
/// As many as the note's bits can name.
const FORMS: usize = 1 << (usize::BITS - CLASS_SHIFT);
const _: () = assert!(classes::FORMS_END <= FORMS, "each form has a number");

/// A record in place. Only its first two words are described by the type; the payload follows.
#[repr(C)]
pub struct Record<M: Machine> {
    word: M::Word,
    link: M::Link<Record<M>>,
}

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
// SAFETY: its methods go through words alone, which may be used from several threads at once.
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
        // SAFETY: slots are type-stable for the life of the heap, and the two words are atomic.
        unsafe { self.0.as_ref() }
    }

    /// The scheme's word.
    #[must_use]
    #[inline]
    pub fn word<'a>(self) -> &'a M::Word {
        &self.head().word
    }

    #[inline]
    fn link(self, order: Ordering) -> *mut Record<M> {
        self.head().link.load(order).into_raw()
    }

    #[inline]
    fn set_link(self, next: Option<Self>, note: usize, order: Ordering) {
        let pointer = next.map_or(core::ptr::null_mut(), Self::as_ptr);
        debug_assert!(pointer.addr() & !POINTER_MASK == 0 && note & POINTER_MASK == 0);
        let raw = pointer.map_addr(|address| address | note);
        self.head().link.store(Tagged::from_raw(raw), order);
    }

    /// The target of the link: the block of an overflowing value, from which older versions hang,
    /// or the newest of them. `order` is of the load.
    #[must_use]
    #[inline]
    pub fn next(self, order: Ordering) -> Option<Self> {
        block_of(self.link(order))
    }

    /// Makes the link lead to `next`, where the value is in place and stays as it is. The caller
    /// excludes other writers. `order` is of the store.
    #[inline]
    pub fn set_next(self, next: Option<Self>, order: Ordering) {
        debug_assert!(next != Some(self), "a chain does not lead back");
        let note = self.link(Ordering::Relaxed).addr() & !POINTER_MASK;
        self.set_link(next, note, order);
    }

    /// The payload's words, all that the size class holds.
    #[inline]
    fn payload<'a>(self, bytes: usize) -> &'a [M::Word] {
        // SAFETY: the slot holds `capacity` payload bytes after its head, constructed as words.
        unsafe {
            let first = self.0.as_ptr().byte_add(HEAD_BYTES).cast::<M::Word>();
            core::slice::from_raw_parts(first, words_for(bytes))
        }
    }

    /// What the record's note says of its slot: a size class, or that of one with a mate.
    #[inline]
    fn form(self) -> u8 {
        (self.link(Ordering::Relaxed).addr() >> CLASS_SHIFT) as u8
    }

    /// The size class, for the heap.
    #[inline]
    pub(crate) fn class(self) -> u8 {
        classes::class_of(self.form())
    }

    /// Whether the record may lead to a mate.
    #[inline]
    pub(crate) fn has_place_for_mate(self) -> bool {
        classes::has_mate(self.form())
    }

    /// Where the pointer to the mate stands: behind the bytes that the record has for its value and the scheme.
    #[inline]
    pub(crate) fn mate_place(self) -> *mut M::Link<Record<M>> {
        debug_assert!(self.has_place_for_mate(), "the slot is longer than its capacity");
        let behind = HEAD_BYTES + self.capacity();
        self.0.as_ptr().wrapping_byte_add(behind).cast()
    }

    /// Payload bytes that the slot has, the scheme's further words among them.
    #[must_use]
    #[inline]
    pub fn capacity(self) -> usize {
        capacity_of(self.link(Ordering::Relaxed).addr())
    }

    /// The bytes of the slot.
    #[must_use]
    pub fn slot_bytes(self) -> usize {
        class_bytes(self.class())
    }

    /// The length of the value in bytes, never above the capacity; nothing if it overflows. May not
    /// be that of the payload that is read next: validate.
    #[must_use]
    #[inline]
    pub fn length(self) -> usize {
        let note = self.link(Ordering::Relaxed).addr();
        let capacity = capacity_of(note);
        let slack = (note & SLACK_MASK) >> SLACK_SHIFT;
        if slack == SLACK_FAR { self.far_length(capacity) } else { capacity - slack }
    }

    #[cold]
    fn far_length(self, capacity: usize) -> usize {
        let length = self.far_word(capacity).load(Ordering::Relaxed);
        (length as usize).min(capacity)
    }

    /// Where a length stands that leaves so much free that this word is, too.
    fn far_word<'a>(self, capacity: usize) -> &'a M::Word {
        self.back(capacity, SCHEME_WORDS_MAX)
    }

    /// The word at so many words before the end of the slot, zero being the last.
    #[inline]
    fn back<'a>(self, capacity: usize, index: usize) -> &'a M::Word {
        debug_assert!(index <= SCHEME_WORDS_MAX, "a word at the end of the slot");
        if M::SPARSE
            && let Some(sparse) = self.sparse()
        {
            return sparse.back(index);
        }
        let words = self.payload(capacity);
        &words[words.len() - 1 - index]
    }

    /// A further word of the scheme's own, of which the heap was asked for more than `index`. Unlike
    /// the first it goes when the slot is freed, and is zero at the beginning of each life.
    #[must_use]
    #[inline]
    pub fn further<'a>(self, index: usize) -> &'a M::Word {
        self.back(self.capacity(), index)
    }

    /// The block in which the value lives, if it overflows.
    #[must_use]
    #[inline]
    pub fn overflow(self) -> Option<Self> {
        // Acquire pairs with the release in `set_overflow`: the block is filled.
        let link = self.link(Ordering::Acquire);
        if link.addr() & OVERFLOW == 0 { None } else { block_of(link) }
    }

    /// Where the value's bytes are.
    #[must_use]
    #[inline]
    pub fn value(self) -> Self {
        self.overflow().unwrap_or(self)
    }

    /// The value lives in `block` from now on, which is filled, and from which older versions hang.
    /// The caller excludes other writers.
    pub fn set_overflow(self, block: Self) {
        debug_assert!(block != self, "a block is another slot");
        let now = self.link(Ordering::Relaxed).addr();
        let note = self.note_of(now, 0) | OVERFLOW;
        // Release pairs with the acquire in `overflow`.
        self.set_link(Some(block), note, Ordering::Release);
    }

    /// The note, once the value is in place and has `bytes`, of a record whose note is `now`. May put
    /// the length into the last word.
    #[inline]
    fn note_of(self, now: usize, bytes: usize) -> usize {
        let capacity = capacity_of(now);
        debug_assert!(bytes <= capacity);
        let slack = capacity - bytes;
        if slack >= SLACK_FAR {
            return self.far_note(now, bytes);
        }
        now & CLASS_MASK | slack << SLACK_SHIFT
    }

    #[cold]
    fn far_note(self, now: usize, bytes: usize) -> usize {
        debug_assert!(capacity_of(now) - bytes >= SLACK_FAR, "a small slack stands in the link");
        self.far_word(capacity_of(now)).store(bytes as u64, Ordering::Relaxed);
        now & CLASS_MASK | SLACK_FAR << SLACK_SHIFT
    }

    /// Makes a slot a record of this form, a size class or that of one with a mate, with an empty value and nothing at its
    /// link. The word stays.
    #[inline]
    pub(crate) fn begin_life(self, form: u8, scheme_words: usize) {
        debug_assert!(usize::from(classes::class_of(form)) < CLASSES, "a class that there is");
        debug_assert!(scheme_words <= SCHEME_WORDS_MAX, "words at the end of the slot");
        self.set_link(None, usize::from(form) << CLASS_SHIFT, Ordering::Relaxed);
        self.set_length(0);
        for index in 0..scheme_words {
            self.further(index).store(0, Ordering::Relaxed);
        }
    }

    /// Makes a slot of this size class a record with the in-place value of `source`, which must fit and whose writers the
    /// caller excludes, and with the older versions at `next`. The word stays.
    #[inline]
    pub(crate) fn begin_copy(
        self,
        class: u8,
        source: Self,
        next: Option<Self>,
        scheme_words: usize,
    ) {
        debug_assert!(self != source && next != Some(self), "a copy is another slot");
        debug_assert!(!M::SPARSE || source.sparse().is_none(), "all of the value is there");
        let bytes = source.length();
        copy_words(self.payload(bytes), source.payload(bytes));
        let note = self.note_of(usize::from(class) << CLASS_SHIFT, bytes);
        self.set_link(next, note, Ordering::Relaxed);
        for index in 0..scheme_words {
            self.further(index).store(0, Ordering::Relaxed);
        }
    }

    /// The value is in place and this long.
    #[inline]
    fn set_length(self, bytes: usize) {
        let now = self.link(Ordering::Relaxed);
        let note = self.note_of(now.addr(), bytes);
        if now.addr() & !POINTER_MASK != note {
            self.set_link(block_of(now), note, Ordering::Relaxed);
        }
    }

    /// Copies the in-place payload out: `target.len()` bytes, at most [`RecordRef::capacity`]. What
    /// arrives may be torn: validate the header afterwards.
    #[inline]
    pub fn read(self, target: &mut [u8]) {
        if M::SPARSE
            && let Some(sparse) = self.sparse()
        {
            sparse.read(target);
            return;
        }
        M::work(Cost::Copy, words_for(target.len()) as u32);
        copy_out(self.payload(target.len()), target);
    }

    /// Writes the bytes of a value, but not its length.
    #[inline]
    pub(crate) fn fill(self, source: &[u8]) {
        if M::SPARSE
            && let Some(sparse) = self.sparse()
        {
            sparse.write(source);
            return;
        }
        M::work(Cost::Copy, words_for(source.len()) as u32);
        copy_in(self.payload(source.len()), source);
    }

    /// Writes the value in place. The caller excludes other writers and has made readers retry.
    #[inline]
    pub fn write(self, source: &[u8]) {
        self.fill(source);
        self.set_length(source.len());
    }

    /// Writes the value, with the older versions at `next`.
    #[inline]
    pub fn write_before(self, source: &[u8], next: Option<Self>) {
        debug_assert!(next != Some(self), "a chain does not lead back");
        self.fill(source);
        let now = self.link(Ordering::Relaxed).addr();
        // Release pairs with the acquire of a reader that follows the chain.
        self.set_link(next, self.note_of(now, source.len()), Ordering::Release);
    }

    /// Copies the in-place payload and the length of `source`, which must fit and whose writers the
    /// caller excludes.
    pub fn copy_from(self, source: Self) {
        debug_assert!(self != source, "a copy is another slot");
        let bytes = source.length();
        if M::SPARSE && (self.sparse().is_some() || source.sparse().is_some()) {
            self.copy_sparse(source, bytes);
        } else {
            copy_words(self.payload(bytes), source.payload(bytes));
        }
        self.set_length(bytes);
    }

    /// Copies the value of `source`, of `bytes`, but not its length, where one of the two is in a sparse
    /// slot.
    #[cold]
    fn copy_sparse(self, source: Self, bytes: usize) {
        let copied = match (self.sparse(), source.sparse()) {
            (Some(target), Some(source)) => target.copy_from(&source, bytes),
            _ => false,
        };
        if !copied {
            let mut value = vec![0; bytes];
            source.read(&mut value);
            self.fill(&value);
        }
    }

    /// The slot, if it has a hole.
    #[inline]
    fn sparse(self) -> Option<SparseSlot<M>> {
        SparseSlot::new(self.0.cast())
    }

    /// Starts loading the record's lines: the head and up to `bytes` of payload. Most slots do not begin with a line.
    #[inline]
    pub fn prefetch(self, bytes: usize) {
        let before = self.0.as_ptr().addr() % LINE_BYTES;
        let lines = (before + HEAD_BYTES + bytes).div_ceil(LINE_BYTES);
        M::prefetch(self.0.as_ptr().cast(), lines as u32);
    }

    /// Starts loading the first lines of the version that the one in place has replaced, if it leads to one. The version may
    /// have expired: its memory is asked for, and not looked at.
    #[inline]
    pub fn prefetch_older(self) {
        let older = self.link(Ordering::Relaxed).map_addr(|address| address & POINTER_MASK);
        if !older.is_null() {
            M::prefetch(older.cast(), 2);
        }
    }
}

/// The block that a link leads to, its note left aside.
#[inline]
fn block_of<M: Machine>(link: *mut Record<M>) -> Option<RecordRef<M>> {
    // SAFETY: links of records lead to blocks of the same heap.
    NonNull::new(link.map_addr(|address| address & POINTER_MASK))
        .map(|block| unsafe { RecordRef::from_raw(block) })
}

/// The payload bytes of a record with this note.
#[inline]
fn capacity_of(note: usize) -> usize {
    CAPACITY[note >> CLASS_SHIFT] as usize
}

/// By form; as many as the note's bits can name, which spares a check.
static CAPACITY: [u32; FORMS] = {
    let mut capacity = [0; FORMS];
    let mut form = 0;
    while form < FORMS {
        let class = classes::class_of(form as u8);
        let behind = if classes::has_mate(form as u8) { classes::LINK_BYTES } else { 0 };
        if (class as usize) < CLASSES {
            capacity[form] =
                (class_bytes(class) as u32).saturating_sub((HEAD_BYTES + behind) as u32);
        }
        form += 1;
    }
    capacity
};
