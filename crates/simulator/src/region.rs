//! A run's memory: one reserved region, and for each of its words whether it may be accessed.
//!
//! - An address is an offset in the region: the same in every run of one seed.
//! - A block is filled with [`GARBAGE`] when it is handed out, so that what a program reads before
//!   it wrote is the same in every run too. Hence nothing is cleared between runs.
//! - A freed block is handed out again only if the seed says so or the region is exhausted: the
//!   longer it rests, the more uses of freed memory show. The seed says so in a quarter of the
//!   runs, since a stale pointer that is compared and never followed shows in no other way.
//! - The shadow word of an accessible word is zero; otherwise it is the serial number, counted from
//!   one, of the free or poisoning that closed it.

use crate::random::{Generator, Stream};
use chiliad_machine::WorkerId;
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;

/// What fresh memory holds.
const GARBAGE: u8 = 0xa5;

/// The region's own alignment, and so the largest that a block can have.
const ALIGN_MAX: usize = 2 << 20;

/// Where the first block lies: zero shall be nobody's address.
const START: usize = 4096;

/// Pages touched beyond this are given back to the host after a run.
const KEEP_BYTES: usize = 64 << 20;

/// Mappings of this host thread that no run uses at the moment.
const SPARE_MAX: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Mapping>> = const { RefCell::new(Vec::new()) };
}

/// Reserved address space: the region, and behind it its shadow.
struct Mapping {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    base: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn obtain(bytes: usize) -> Self {
        let spare = SPARE.with_borrow_mut(|spare| {
            let found = spare.iter().position(|mapping| mapping.bytes == bytes)?;
            Some(spare.swap_remove(found))
        });
        spare.unwrap_or_else(|| Self::map(bytes))
    }

    fn map(bytes: usize) -> Self {
        let mapped_bytes = bytes + bytes / 2 + ALIGN_MAX;
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(mapped != libc::MAP_FAILED, "the host has no address space for a simulated region");
        let mapped = NonNull::new(mapped.cast::<u8>()).expect("a mapping is never at zero");
        let skip = mapped.as_ptr().align_offset(ALIGN_MAX);
        // SAFETY: the mapping is larger than the region and its shadow by the alignment.
        let base = unsafe { mapped.add(skip) };
        Self { mapped, mapped_bytes, base, bytes }
    }

    fn shadow(&self) -> NonNull<u32> {
        // SAFETY: the shadow follows the region within the mapping.
        unsafe { self.base.add(self.bytes).cast() }
    }

    /// Keeps the mapping for a later run, without the pages that few runs need.
    fn give_back(self, top: usize) {
        if top > KEEP_BYTES {
            // SAFETY: the ranges are page-aligned parts of our mapping, which no run uses any more.
            unsafe {
                libc::madvise(
                    self.base.add(KEEP_BYTES).as_ptr().cast(),
                    self.bytes - KEEP_BYTES,
                    libc::MADV_DONTNEED,
                );
                libc::madvise(
                    self.shadow().cast::<u8>().add(KEEP_BYTES / 2).as_ptr().cast(),
                    (self.bytes - KEEP_BYTES) / 2,
                    libc::MADV_DONTNEED,
                );
            }
        }
        // A thread that is ending has no pool any more; the mapping then goes at once.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MAX {
                spare.push(self);
            }
        });
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever used it gave it back.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// Who closed words, and when.
#[derive(Clone, Copy)]
pub(crate) struct Closing {
    pub(crate) worker: WorkerId,
    pub(crate) event: u64,
    /// Poisoned rather than freed: it may be opened again.
    pub(crate) poisoned: bool,
}

/// Why a word may not be accessed.
#[derive(Clone, Copy)]
pub(crate) enum Closed {
    /// Nobody has obtained it yet.
    NeverAllocated,
    /// By the free or poisoning with this serial number, counted from zero.
    By(u64),
}

/// A run's memory.
pub(crate) struct Region {
    mapping: Option<Mapping>,
    /// The host address of offset zero: only ever subtracted.
    base: usize,
    shadow: NonNull<u32>,
    /// The end of what has been handed out, as an offset.
    top: Cell<usize>,
    books: RefCell<Books>,
}

/// What is known of blocks.
struct Books {
    random: Generator,
    reuses: bool,
    /// Blocks in use: offset and layout.
    live: BTreeMap<usize, Layout>,
    /// Freed blocks by size and alignment, the longest freed first.
    resting: BTreeMap<(usize, usize), VecDeque<usize>>,
    closings: Vec<Closing>,
}

impl Region {
    pub(crate) fn new(bytes: usize, seed: u64) -> Self {
        let bytes = bytes.clamp(ALIGN_MAX, 1 << 40).next_multiple_of(ALIGN_MAX);
        let mapping = Mapping::obtain(bytes);
        let mut random = Generator::new(seed, Stream::Memory);
        let reuses = random.below(4) == 0;
        Self {
            base: mapping.base.addr().get(),
            shadow: mapping.shadow(),
            mapping: Some(mapping),
            top: Cell::new(START),
            books: RefCell::new(Books {
                random,
                reuses,
                live: BTreeMap::new(),
                resting: BTreeMap::new(),
                closings: Vec::new(),
            }),
        }
    }

    /// Whether freed blocks are handed out again from here on is up to this seed.
    pub(crate) fn reseed(&self, seed: u64) {
        let books = &mut *self.books.borrow_mut();
        books.random = Generator::new(seed, Stream::Memory);
        books.reuses = books.random.below(4) == 0;
    }

    fn bytes(&self) -> usize {
        self.mapping.as_ref().map_or(0, |mapping| mapping.bytes)
    }

    /// Bytes handed out, freed ones included.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.top.get() as u64
    }

    /// The offset of a host address; meaningless unless [`Region::contains`] it.
    #[inline]
    pub(crate) fn offset(&self, host: usize) -> usize {
        host.wrapping_sub(self.base)
    }

    /// The simulated address of what lies at an offset.
    #[inline]
    #[expect(clippy::unused_self, reason = "not all memory exists")]
    pub(crate) fn simulated(&self, offset: usize) -> u64 {
        offset as u64
    }

    pub(crate) fn contains(&self, offset: usize) -> bool {
        offset < self.bytes()
    }

    /// Whether the word at `offset` may be accessed.
    #[inline]
    pub(crate) fn is_open(&self, offset: usize) -> bool {
        // SAFETY: the offset is below the top, so its shadow lies within the mapping.
        offset < self.top.get() && unsafe { self.shadow.add(offset / 8).read() } == 0
    }

    /// Why the word at `offset`, which is within the region, may not be accessed.
    pub(crate) fn closed(&self, offset: usize) -> Option<Closed> {
        if offset >= self.top.get() {
            return Some(Closed::NeverAllocated);
        }
        // SAFETY: as in `is_open`.
        match unsafe { self.shadow.add(offset / 8).read() } {
            0 => None,
            serial => Some(Closed::By(u64::from(serial) - 1)),
        }
    }

    pub(crate) fn closing(&self, serial: u64) -> Option<Closing> {
        self.books.borrow().closings.get(usize::try_from(serial).ok()?).copied()
    }

    fn set_shadow(&self, from: usize, to: usize, value: u32) {
        debug_assert!(from <= to && to <= self.bytes());
        for word in from / 8..to / 8 {
            // SAFETY: the range lies within the region, hence its shadow within the mapping.
            unsafe { self.shadow.add(word).write(value) };
        }
    }

    /// A block, or nothing if the region is exhausted.
    pub(crate) fn alloc(&self, layout: Layout) -> Option<NonNull<u8>> {
        let layout = padded(layout);
        assert!(layout.align() <= ALIGN_MAX, "no simulated block is aligned beyond 2 MiB");
        let books = &mut *self.books.borrow_mut();
        let class = (layout.size(), layout.align());
        let fresh = self.top.get().next_multiple_of(layout.align());
        let room = fresh.checked_add(layout.size()).is_some_and(|end| end <= self.bytes());
        let rested = if !room || (books.reuses && books.random.below(2) == 0) {
            books.resting.get_mut(&class).and_then(VecDeque::pop_front)
        } else {
            None
        };
        let offset = match rested {
            Some(offset) => {
                self.set_shadow(offset, offset + layout.size(), 0);
                offset
            }
            None if room => {
                let end = fresh + layout.size();
                // Gaps between blocks count as accessible: nobody has a pointer to them.
                self.set_shadow(self.top.get(), end, 0);
                self.top.set(end);
                fresh
            }
            None => return None,
        };
        books.live.insert(offset, layout);
        let mapping = self.mapping.as_ref()?;
        // SAFETY: the block lies within the region and is nobody's else.
        unsafe {
            let block = mapping.base.add(offset);
            block.write_bytes(GARBAGE, layout.size());
            Some(block)
        }
    }

    /// Closes a block for good. `false` if it is no block in use.
    pub(crate) fn free(&self, offset: usize, layout: Layout, closing: Closing) -> bool {
        let layout = padded(layout);
        let books = &mut *self.books.borrow_mut();
        if books.live.get(&offset) != Some(&layout) {
            return false;
        }
        books.live.remove(&offset);
        books.resting.entry((layout.size(), layout.align())).or_default().push_back(offset);
        let serial = books.record(closing);
        self.set_shadow(offset, offset + layout.size(), serial);
        true
    }

    /// Closes the whole words between two offsets until [`Region::unpoison`].
    pub(crate) fn poison(&self, from: usize, to: usize, closing: Closing) {
        let serial = self.books.borrow_mut().record(closing);
        self.set_shadow(from.next_multiple_of(8), to, serial);
    }

    pub(crate) fn unpoison(&self, from: usize, to: usize) {
        self.set_shadow(from.next_multiple_of(8), to, 0);
    }

    /// The serial number that the next free or poisoning gets.
    pub(crate) fn next_serial(&self) -> u64 {
        self.books.borrow().closings.len() as u64
    }
}

impl Books {
    fn record(&mut self, closing: Closing) -> u32 {
        self.closings.push(closing);
        u32::try_from(self.closings.len()).expect("fewer frees in a run than u32 counts")
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            mapping.give_back(self.top.get());
        }
    }
}

/// Blocks consist of whole words, and there is no empty one.
fn padded(layout: Layout) -> Layout {
    let size = layout.size().max(1).next_multiple_of(8);
    Layout::from_size_align(size, layout.align().max(8)).unwrap_or(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSING: Closing = Closing { worker: WorkerId(0), event: 0, poisoned: false };

    #[test]
    fn blocks_are_aligned_and_disjoint_and_repeat() {
        let offsets = || {
            let region = Region::new(4 << 20, 3);
            let mut offsets = Vec::new();
            for i in 0..100 {
                let layout = Layout::from_size_align(1 + i * 7, 8 << (i % 5)).expect("a layout");
                let block = region.alloc(layout).expect("room");
                let offset = region.offset(block.addr().get());
                assert_eq!(offset % layout.align(), 0);
                offsets.push((offset, layout.size()));
            }
            offsets
        };
        let first = offsets();
        for pair in first.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0);
        }
        assert_eq!(first, offsets());
    }

    #[test]
    fn freed_words_are_closed_and_double_frees_seen() {
        let region = Region::new(4 << 20, 3);
        let layout = Layout::from_size_align(24, 8).expect("a layout");
        let block = region.alloc(layout).expect("room");
        let offset = region.offset(block.addr().get());
        assert!(region.is_open(offset + 16));
        assert!(region.free(offset, layout, CLOSING));
        assert!(!region.is_open(offset + 16));
        assert!(matches!(region.closed(offset), Some(Closed::By(0))));
        assert!(!region.free(offset, layout, CLOSING));
        assert!(matches!(region.closed(1 << 20), Some(Closed::NeverAllocated)));
    }

    #[test]
    fn an_exhausted_region_hands_freed_blocks_out_again() {
        let region = Region::new(2 << 20, 3);
        let layout = Layout::from_size_align(1 << 20, 8).expect("a layout");
        let block = region.alloc(layout).expect("room");
        assert!(region.alloc(layout).is_none());
        assert!(region.free(region.offset(block.addr().get()), layout, CLOSING));
        assert_eq!(region.alloc(layout), Some(block));
    }
}
