//! A run's memory: one reserved region, and for each of its words whether it may be accessed.
//!
//! - An address is an offset in the region: the same in every run of one seed.
//! - A block is filled with [`GARBAGE`] when it is handed out, so that what a program reads before
//!   it wrote is the same in every run too. Hence nothing is cleared between runs.
//! - A freed block is handed out again only if the seed says so or the region is exhausted: the
//!   longer it rests, the more uses of freed memory show. The seed says so in a quarter of the
//!   runs, since a stale pointer that is compared and never followed shows in no other way.
//! - What exists only in part lies at the upper end (`sparse`), with simulated addresses of its own.
//! - Memory that is not *checked* has no shadow and no garbage: all that was handed out may be
//!   accessed, and fresh memory is a mapping of its own that the host fills with zeroes when touched.
//! - The shadow word of an accessible word is the mark of the host whose core it was handed out to (zero
//!   for host 0): only that host's cores may access it. Otherwise it is the serial number, counted from
//!   one, of the free or poisoning that closed it.

use crate::host::Host;
use crate::random::{Generator, Stream};
use crate::sparse::{self, GRANULE_BYTES, SparseChunks};
use chiliad_machine::{SparseShape, WorkerId};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ptr::NonNull;

/// The bytes of fresh memory.
const GARBAGE: u8 = 0xa5;

/// The region's own alignment, and so the largest that a block can have.
const ALIGN_MAX: usize = 2 << 20;

/// The most that a region can have: at the next address those begin of what exists only in part.
const BYTES_MAX: usize = sparse::START as usize;

/// Where the first block lies: zero shall be nobody's address.
const START: usize = 4096;

/// Pages touched beyond this are given back to the host after a run.
const KEEP_BYTES: usize = 64 << 20;

/// Mappings of this host thread that no run uses at the moment.
const SPARE_MAX: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Mapping>> = const { RefCell::new(Vec::new()) };
}

/// The host refuses address space for a simulated memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory {
    /// How much was asked for, most of which nobody would have touched.
    pub bytes: usize,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, unit) = match self.bytes >> 30 {
            0 => (self.bytes >> 20, "MiB"),
            gibibytes => (gibibytes, "GiB"),
        };
        write!(
            f,
            "the host refuses the {size} {unit} of address space of a simulated memory: it is limited by \
             ulimit -v and vm.overcommit_memory"
        )
    }
}

impl std::error::Error for NoMemory {}

/// Reserved address space: the region, followed by its shadow, if it is checked.
struct Mapping {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    base: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn obtain(bytes: usize) -> Result<Self, NoMemory> {
        let spare = SPARE.with_borrow_mut(|spare| {
            let found = spare.iter().position(|mapping| mapping.bytes == bytes)?;
            Some(spare.swap_remove(found))
        });
        spare.map_or_else(|| Self::map(bytes, bytes / 2), Ok)
    }

    /// A mapping without a shadow that no run has used or will use again.
    fn unchecked(bytes: usize) -> Result<Self, NoMemory> {
        let mapping = Self::map(bytes, 0)?;
        // A run with much memory misses the host's caches and their translations; nothing but speed depends on
        // whether the host heeds this.
        // SAFETY: the range is a page-aligned part of our mapping.
        unsafe { libc::madvise(mapping.base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(mapping)
    }

    fn map(bytes: usize, shadow_bytes: usize) -> Result<Self, NoMemory> {
        let mapped_bytes = bytes + shadow_bytes + ALIGN_MAX;
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
        if mapped == libc::MAP_FAILED {
            return Err(NoMemory { bytes: mapped_bytes });
        }
        let mapped = NonNull::new(mapped.cast::<u8>()).expect("a mapping is never at zero");
        let skip = mapped.as_ptr().align_offset(ALIGN_MAX);
        // SAFETY: the mapping is larger than the region and its shadow by the alignment.
        let base = unsafe { mapped.add(skip) };
        Ok(Self { mapped, mapped_bytes, base, bytes })
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
        // SAFETY: the mapping is ours, and the run that used it gave it back.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// The least mark of a host but 0; serial numbers stay below.
const MARKS: u32 = u32::MAX - Host::COUNT_MAX;

/// Which worker closed words, and when.
#[derive(Clone, Copy)]
pub(crate) struct Closing {
    pub(crate) worker: WorkerId,
    pub(crate) event: u64,
    /// Poisoned rather than freed: it may be opened again.
    pub(crate) poisoned: bool,
    /// Whose words they were.
    pub(crate) owner: Host,
}

/// Why a word may not be accessed.
#[derive(Clone, Copy)]
pub(crate) enum Closed {
    /// It was never handed out.
    NeverAllocated,
    /// By the free or poisoning with this serial number, counted from zero.
    By(u64),
    /// It is another host's.
    Foreign(Host),
}

/// A run's memory.
pub(crate) struct Region {
    mapping: Option<Mapping>,
    /// The host address of offset zero: only ever subtracted.
    base: usize,
    shadow: NonNull<u32>,
    /// The end of what has been handed out, as an offset.
    top: Cell<usize>,
    sparse: SparseChunks,
    checked: bool,
    /// The mark of the host whose core runs.
    mark: Cell<u32>,
    books: RefCell<Books>,
}

/// The known blocks.
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
    pub(crate) fn new(bytes: usize, seed: u64, checked: bool) -> Result<Self, NoMemory> {
        let bytes = bytes.clamp(ALIGN_MAX, BYTES_MAX).next_multiple_of(ALIGN_MAX);
        let mapping = if checked { Mapping::obtain(bytes)? } else { Mapping::unchecked(bytes)? };
        let mut random = Generator::new(seed, Stream::Memory);
        let reuses = random.below(4) == 0;
        Ok(Self {
            base: mapping.base.addr().get(),
            shadow: mapping.shadow(),
            mapping: Some(mapping),
            top: Cell::new(START),
            sparse: SparseChunks::new(bytes),
            checked,
            mark: Cell::new(0),
            books: RefCell::new(Books {
                random,
                reuses,
                live: BTreeMap::new(),
                resting: BTreeMap::new(),
                closings: Vec::new(),
            }),
        })
    }

    /// Accesses and allocations from here on are by a core of this host, and for it. In memory that is
    /// not checked all words are everybody's.
    #[inline]
    pub(crate) fn enter_host(&self, host: Host) {
        self.mark.set(if self.checked { mark_of(host) } else { 0 });
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

    /// The beginning of the memory, for whoever knows what lies where.
    pub(crate) fn start(&self) -> Option<NonNull<u8>> {
        self.mapping.as_ref().map(|mapping| mapping.base)
    }

    /// Bytes handed out, freed ones and those that do not exist included.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.top.get() as u64 + self.sparse.simulated_bytes()
    }

    /// The offset of a host address; meaningless unless [`Region::contains`] it.
    #[inline]
    pub(crate) fn offset(&self, host: usize) -> usize {
        host.wrapping_sub(self.base)
    }

    pub(crate) fn contains(&self, offset: usize) -> bool {
        offset < self.bytes()
    }

    /// The simulated address of what is at `offset`: the offset itself but for slots that exist only
    /// in part, whose addresses are further apart than their memory. Neighbours in memory need not be
    /// neighbours there: ask for the address of the beginning and count on from it.
    #[inline]
    pub(crate) fn simulated(&self, offset: usize) -> u64 {
        if offset < self.sparse.from() { offset as u64 } else { self.sparse.simulated(offset) }
    }

    /// The shape of the slot at `offset`, if it exists only in part.
    #[inline]
    pub(crate) fn sparse_shape(&self, offset: usize) -> Option<SparseShape> {
        if offset < self.sparse.from() { None } else { self.sparse.shape(offset) }
    }

    /// Whether what is at `offset` was ever handed out.
    #[inline]
    fn is_handed_out(&self, offset: usize) -> bool {
        offset < self.top.get() || self.sparse.contains(offset)
    }

    /// The shadow of a word that was handed out.
    #[inline]
    fn shadow_of(&self, offset: usize) -> u32 {
        // SAFETY: the offset is within the region, so its shadow lies within the mapping, which has
        // one if it is checked.
        if self.checked { unsafe { self.shadow.add(offset / 8).read() } } else { 0 }
    }

    /// Whether the word at `offset` may be accessed by a core of the host that runs.
    #[inline]
    pub(crate) fn is_open(&self, offset: usize) -> bool {
        self.is_handed_out(offset) && self.shadow_of(offset) == self.mark.get()
    }

    /// Why the word at `offset`, which is within the region, may not be accessed.
    pub(crate) fn closed(&self, offset: usize) -> Option<Closed> {
        if !self.is_handed_out(offset) {
            return Some(Closed::NeverAllocated);
        }
        match self.shadow_of(offset) {
            mark if mark == self.mark.get() => None,
            shadow => Some(match host_of(shadow) {
                Some(host) => Closed::Foreign(host),
                None => Closed::By(u64::from(shadow) - 1),
            }),
        }
    }

    pub(crate) fn closing(&self, serial: u64) -> Option<Closing> {
        self.books.borrow().closings.get(usize::try_from(serial).ok()?).copied()
    }

    fn set_shadow(&self, from: usize, to: usize, value: u32) {
        debug_assert!(from <= to && to <= self.bytes());
        if !self.checked {
            return;
        }
        for word in from / 8..to / 8 {
            // SAFETY: the range lies within the region, hence its shadow within the mapping, which has
            // one.
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
        let room = fresh.checked_add(layout.size()).is_some_and(|end| end <= self.sparse.from());
        let rested = if !room || (books.reuses && books.random.below(2) == 0) {
            books.resting.get_mut(&class).and_then(VecDeque::pop_front)
        } else {
            None
        };
        let offset = match rested {
            Some(offset) => {
                self.set_shadow(offset, offset + layout.size(), self.mark.get());
                offset
            }
            None if room => {
                let end = fresh + layout.size();
                // Gaps between blocks count as accessible: nobody has a pointer to them.
                self.set_shadow(self.top.get(), end, self.mark.get());
                self.top.set(end);
                fresh
            }
            None => return None,
        };
        books.live.insert(offset, layout);
        self.fresh(offset, layout.size())
    }

    /// Slots of which only a part exists, side by side, and how many; nothing if the region is
    /// exhausted.
    pub(crate) fn alloc_sparse(&self, shape: SparseShape) -> Option<(NonNull<u8>, usize)> {
        let (offset, count) = self.sparse.take(shape, self.top.get())?;
        self.set_shadow(offset, offset + GRANULE_BYTES, self.mark.get());
        self.books.borrow_mut().live.insert(offset, padded(shape.layout(count)?));
        Some((self.fresh(offset, GRANULE_BYTES)?, count))
    }

    /// The memory at `offset`, as it is handed out.
    fn fresh(&self, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the block lies within the region and is nobody's else.
        unsafe {
            let block = self.mapping.as_ref()?.base.add(offset);
            if self.checked {
                block.write_bytes(GARBAGE, bytes);
            }
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
        if !self.sparse.contains(offset) {
            books.resting.entry((layout.size(), layout.align())).or_default().push_back(offset);
        }
        if self.checked {
            let closing = Closing { owner: books.owner(self.shadow_of(offset)), ..closing };
            let serial = books.record(closing);
            self.set_shadow(offset, offset + layout.size(), serial);
        }
        true
    }

    /// Closes the whole words between two offsets until [`Region::unpoison`].
    pub(crate) fn poison(&self, from: usize, to: usize, closing: Closing) {
        if self.checked {
            let from = from.next_multiple_of(8);
            let books = &mut *self.books.borrow_mut();
            let owner = if from < to { books.owner(self.shadow_of(from)) } else { Host::default() };
            let serial = books.record(Closing { owner, ..closing });
            self.set_shadow(from, to.max(from), serial);
        }
    }

    /// Opens words again to the host that they belong to.
    pub(crate) fn unpoison(&self, from: usize, to: usize) {
        let from = from.next_multiple_of(8);
        if from < to {
            let owner = self.books.borrow().owner(self.shadow_of(from));
            self.set_shadow(from, to, mark_of(owner));
        }
    }

    /// The serial number that the next free or poisoning gets.
    pub(crate) fn next_serial(&self) -> u64 {
        self.books.borrow().closings.len() as u64
    }
}

impl Books {
    /// Whose a word with this shadow is, or was before it was closed.
    fn owner(&self, shadow: u32) -> Host {
        let closed = || self.closings.get(shadow as usize - 1).map(|closing| closing.owner);
        host_of(shadow).or_else(closed).unwrap_or_default()
    }

    fn record(&mut self, closing: Closing) -> u32 {
        self.closings.push(closing);
        let serial = u32::try_from(self.closings.len()).ok().filter(|serial| *serial < MARKS);
        serial.expect("fewer frees in a run than u32 counts")
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // What later runs could use again has a shadow, and garbage only where its top was.
        let reusable = self.checked && self.sparse.is_empty();
        if let Some(mapping) = self.mapping.take().filter(|_| reusable) {
            mapping.give_back(self.top.get());
        }
    }
}

fn mark_of(host: Host) -> u32 {
    if host.0 == 0 { 0 } else { MARKS + host.0 }
}

/// Whose mark a shadow word is, if it is no serial number.
fn host_of(shadow: u32) -> Option<Host> {
    if shadow == 0 { Some(Host(0)) } else { shadow.checked_sub(MARKS).map(Host) }
}

/// Blocks consist of whole words, and there is no empty one.
fn padded(layout: Layout) -> Layout {
    let size = layout.size().max(1).next_multiple_of(8);
    Layout::from_size_align(size, layout.align().max(8)).unwrap_or(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::CHUNK_BYTES;

    const CLOSING: Closing =
        Closing { worker: WorkerId(0), event: 0, poisoned: false, owner: Host(0) };

    #[test]
    fn blocks_are_aligned_and_disjoint_and_repeat() {
        let offsets = || {
            let region = Region::new(4 << 20, 3, true).expect("room");
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
        let region = Region::new(4 << 20, 3, true).expect("room");
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
    fn words_are_open_to_their_own_host_whatever_happens_to_them() {
        let region = Region::new(4 << 20, 3, true).expect("room");
        let layout = Layout::from_size_align(24, 8).expect("a layout");
        let (last, first) = (Host(Host::COUNT_MAX - 1), Host(0));
        region.enter_host(last);
        let offset = region.offset(region.alloc(layout).expect("room").addr().get());
        assert!(region.is_open(offset));
        region.poison(offset, offset + 24, CLOSING);
        assert!(!region.is_open(offset) && matches!(region.closed(offset), Some(Closed::By(0))));
        region.enter_host(first);
        region.unpoison(offset, offset + 24);
        assert!(matches!(region.closed(offset + 16), Some(Closed::Foreign(host)) if host == last));
        region.enter_host(last);
        assert!(region.is_open(offset + 16));
        assert!(region.free(offset, layout, CLOSING));
        assert_eq!(region.closing(1).map(|closing| closing.owner), Some(last));
    }

    #[test]
    fn an_exhausted_region_hands_freed_blocks_out_again() {
        let region = Region::new(2 << 20, 3, true).expect("room");
        let layout = Layout::from_size_align(1 << 20, 8).expect("a layout");
        let block = region.alloc(layout).expect("room");
        assert!(region.alloc(layout).is_none());
        assert!(region.free(region.offset(block.addr().get()), layout, CLOSING));
        assert_eq!(region.alloc(layout), Some(block));
    }

    #[test]
    fn memory_that_is_not_checked_is_zero_and_stays_open() {
        let layout = Layout::from_size_align(1 << 20, 8).expect("a layout");
        for _ in 0..2 {
            let region = Region::new(2 << 20, 3, false).expect("room");
            let block = region.alloc(layout).expect("room");
            // SAFETY: the block is ours and this long.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), layout.size()) };
            assert!(bytes.iter().all(|&byte| byte == 0), "not that of the run before");
            bytes.fill(7);
            let offset = region.offset(block.addr().get());
            region.poison(offset, offset + 64, CLOSING);
            assert!(region.is_open(offset) && region.closed(offset).is_none());
            assert!(!region.is_open(offset + layout.size()), "never handed out");
            assert!(region.free(offset, layout, CLOSING));
            assert!(!region.free(offset, layout, CLOSING));
        }
    }

    #[test]
    fn sparse_slots_are_closed_like_others_and_not_handed_out_again() {
        let region = Region::new(2 << 20, 3, true).expect("room");
        let shape =
            SparseShape { whole_bytes: 1024, front_bytes: 32, back_bytes: 24, spared: false };
        let (slots, count) = region.alloc_sparse(shape).expect("room");
        let offset = region.offset(slots.addr().get());
        assert_eq!(offset, (2 << 20) - CHUNK_BYTES);
        assert_eq!(region.sparse_shape(offset), Some(shape));
        assert_eq!(region.sparse_shape(START), None);
        assert_eq!(region.simulated(START), START as u64);
        assert_eq!(region.simulated(offset + 64), region.simulated(offset) + 1024);
        assert_eq!(region.used_bytes(), (START + count * 1024) as u64);
        assert!(region.is_open(offset) && !region.is_open(offset - 8) && !region.is_open(2 << 20));
        assert!(!region.is_open(offset + GRANULE_BYTES), "the next granule");
        let layout = shape.layout(count).expect("a layout");
        assert!(region.free(offset, layout, CLOSING));
        assert!(matches!(region.closed(offset + 8), Some(Closed::By(0))));
        assert!(region.alloc(Layout::from_size_align(2 << 20, 8).expect("a layout")).is_none());
        let rest = Layout::from_size_align((2 << 20) - CHUNK_BYTES - START, 8);
        assert!(region.alloc(rest.expect("a layout")).is_some(), "all below is ordinary");
        assert!(region.alloc(layout).is_none());
    }
}
