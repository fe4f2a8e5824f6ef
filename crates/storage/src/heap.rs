//! Memory in slots of size classes, reclaimed by epochs.
//!
//! [`Heap`] is shared: it carves chunks (`chunks.rs`) into batches of slots and keeps the batches that
//! workers give back. [`LocalHeap`] belongs to one worker: a pool of free slots per class (`pool.rs`), which
//! grows and shrinks with the load, and the *limbo* of slots that readers may still be looking at.
//! Steady state touches only the local one, and nobody waits for the shared one while there is memory.
//!
//! For a comparison the slots can come from an [`Allocator`] one by one instead of being carved from
//! chunks. They are not given back to it before the heap goes: a freed slot stays what it is, see
//! below, and waits in its pool for its next life.
//!
//! Reclamation (Tu, 2013, 4.6, with epochs of its own): a worker is *pinned* while it follows pointers
//! into shared structures. What it unlinks goes to limbo tagged with its pin epoch plus one; the
//! reclaim epoch advances only when every pinned worker is pinned in the current one. While a
//! worker is pinned in `p` the epoch is thus `p` or `p + 1`; a reader that could have seen what it
//! unlinked is pinned in `p + 1` at the latest and has left once the epoch is `p + 3`.
//!
//! Records of which only a part exists (`sparse.rs`) have pools of their own.
//!
//! Type stability: the first [`Kind::stable_bytes`] of a freed slot stay readable for ever. A slot keeps its size, and
//! its kind, but that a block of a version may become a record where memory is short.

mod convert;

use crate::budget::{Budget, OutOfMemory};
use crate::chunks::Chunks;
use crate::classes::{CLASSES, HEAD_BYTES, SCHEME_WORDS_MAX, class_bytes, class_for, pool_bytes};
use crate::guard::GUARD_BYTES;
use crate::limbo::{self, Limbo, Retired};
use crate::pool::{Pool, batch_slots};
use crate::record::{Record, RecordRef};
use crate::slots::{Slot, Slots};
use crate::sparse::{self, Kept};
use crate::supply::Supply;
use chiliad_machine::{
    Allocator, Cost, Fault, Latch, Machine, Ordering, Rig, Shared, SparseShape, Word,
};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use std::sync::Arc;

/// The use of a slot. A slot never changes its kind, but for `LocalHeap::convert`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A record.
    Record,
    /// A block that only a record's `link` leads to: an old version or an overflowing value.
    Version,
    /// An index leaf or hash bucket: begins with a [`crate::Guard`].
    Leaf,
    /// An inner index node.
    Inner,
}

/// In the order of their numbers, which choose a pool; then those that have sparse slots.
const KINDS: [Kind; 6] =
    [Kind::Record, Kind::Version, Kind::Leaf, Kind::Inner, Kind::Record, Kind::Version];
/// The first of the pools of sparse slots.
const SPARSE: usize = 4 * CLASSES;

const fn pools<M: Machine>() -> usize {
    if M::SPARSE { KINDS.len() * CLASSES } else { SPARSE }
}

/// A pin that is still in a store buffer is not seen, and what it protects is freed.
static ADVANCE_WITHOUT_FENCE: Fault = Fault {
    name: "advance-without-fence",
    step: "who advances the reclaim epoch runs the heavy fence before looking at the pins",
    // Simulated runs catch it too, but not every thousand of them: a pin is hardly ever the only
    // thing left in a store buffer while everything that it protects goes by. The model in
    // `tests/loom.rs` tells at once.
    rig: Rig::Loom,
    schemes: &[],
    workload: "scan",
    expected: &["freed too early"],
    seeds: 0,
};

/// Slots in limbo are free for others while readers may still be looking at them.
static LIMBO_GIVEN_BACK_AS_FREE: Fault = Fault {
    name: "limbo-given-back-as-free",
    step: "a worker that gives back what it has leaves its limbo to others as limbo",
    // Drivers have no idle workers. The model in `tests/loom.rs` tells.
    rig: Rig::Loom,
    schemes: &[],
    workload: "scan",
    expected: &["freed too early"],
    seeds: 0,
};

/// The planted bugs of the heap.
pub static FAULTS: &[&Fault] = &[&ADVANCE_WITHOUT_FENCE, &LIMBO_GIVEN_BACK_AS_FREE];

impl Kind {
    /// Bytes at the start of a slot that stay readable after it was freed.
    const fn stable_bytes(self) -> usize {
        match self {
            Self::Record => HEAD_BYTES,
            Self::Leaf => GUARD_BYTES,
            Self::Version | Self::Inner => 0,
        }
    }
}

/// Memory in use, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Obtained from the machine.
    pub reserved_bytes: u64,
    /// Of these, set aside for all and not carved up yet.
    pub spare_bytes: u64,
    /// The limit; `u64::MAX` where there is none.
    pub limit_bytes: u64,
}

/// Of the slots that are asked for one by one, one in so many is looked for among the shared ones first.
const LOOK_EVERY: u32 = 64;
/// A worker's own chunks are this part of the shared ones.
const OWN_PART: usize = 16;
/// Bytes that a worker reserves at a time where it asks for slots one by one.
const CREDIT_BYTES: usize = 256 << 10;

/// The class of a slot of `kind` with at least `bytes`: never less than what stays readable.
fn class_of(kind: Kind, bytes: usize) -> Option<u8> {
    let class = class_for(bytes.max(kind.stable_bytes()));
    debug_assert!(class.is_none_or(|class| class_bytes(class) >= bytes), "the class has room");
    class
}

#[inline]
fn pool_index(kind: Kind, class: u8) -> usize {
    debug_assert!((class as usize) < CLASSES, "a class that there is");
    kind as usize * CLASSES + class as usize
}

/// Bytes of memory that there are of a pool's slot.
fn slot_bytes(pool: usize, shape: Option<SparseShape>) -> usize {
    debug_assert!(pool < KINDS.len() * CLASSES, "a pool that there is");
    shape.map_or_else(|| pool_bytes(pool), SparseShape::held_bytes)
}

/// The pool that a record belongs to.
fn pool_of<M: Machine>(kind: Kind, record: RecordRef<M>) -> usize {
    let sparse = M::sparse_shape(record.as_ptr().cast()).map_or(0, |_| SPARSE);
    sparse + pool_index(kind, record.class())
}

/// The pool that a slot returns to.
#[derive(Clone, Copy)]
pub struct Home(u16);

/// The shared part. Lives in the machine's memory, because its words do.
pub struct Heap<M: Machine> {
    limit_bytes: u64,
    /// Words that each record has for the scheme besides those of its head.
    scheme_words: usize,
    supply: Supply,
    /// How much of each value exists; `None`: all.
    pub(crate) kept: Option<Kept>,
    reserved_bytes: M::Word,
    epoch: M::Word,
    /// Held by the worker that is advancing the epoch.
    advancing: Latch<M, ()>,
    central: Latch<M, Central>,
    /// The workers whose pins reclamation waits for.
    pub slots: Slots<M>,
}

/// Chunks and free batches, under the heap's latch.
struct Central {
    chunks: Chunks,
    /// Slots that workers which have gone had obtained one by one.
    singles: Vec<(NonNull<u8>, Layout)>,
    free: Vec<Vec<NonNull<u8>>>,
    /// Limbo of workers that have gone.
    orphans: Vec<Retired>,
}

// SAFETY: the pointers are to memory that the heap owns; the holder of the latch may use them.
unsafe impl Send for Central {}

impl<M: Machine> Heap<M> {
    /// An empty heap that will reserve at most `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Arc<Shared<M, Self>> {
        Self::for_scheme(limit_bytes, 0, Supply::Pools, None)
    }

    /// The same for a scheme that wants so many further words in each record, at most
    /// [`SCHEME_WORDS_MAX`]: see [`RecordRef::further`]. Of each value only so much exists as `kept` says,
    /// on machines that can leave out the rest; its addresses are there and count as memory in use.
    ///
    /// # Panics
    /// When `scheme_words` is too many, or `kept` no multiples of eight or more at the end than at the
    /// start.
    #[must_use]
    pub fn for_scheme(
        limit_bytes: u64,
        scheme_words: usize,
        supply: Supply,
        kept: Option<Kept>,
    ) -> Arc<Shared<M, Self>> {
        assert!(scheme_words <= SCHEME_WORDS_MAX, "{scheme_words} words");
        assert!(
            kept.is_none_or(|kept| (kept.first_bytes | kept.last_bytes) % 8 == 0
                && kept.last_bytes <= kept.first_bytes),
            "{kept:?}"
        );
        Arc::new(Shared::new(Self {
            limit_bytes,
            scheme_words,
            supply,
            kept,
            reserved_bytes: M::Word::new(0),
            epoch: M::Word::new(1),
            advancing: Latch::new(()),
            central: Latch::new(Central {
                chunks: Chunks::new(M::chunk_bytes(), M::first_chunk_bytes()),
                singles: Vec::new(),
                free: vec![Vec::new(); pools::<M>()],
                orphans: Vec::new(),
            }),
            slots: Slots::new(),
        }))
    }

    /// Memory in use.
    pub fn usage(&self) -> Usage {
        let central = self.central.lock();
        Usage {
            reserved_bytes: self.reserved_bytes.load(Ordering::Relaxed),
            spare_bytes: central.chunks.spare_bytes() as u64,
            limit_bytes: self.limit_bytes,
        }
    }

    /// Obtains memory ahead of its use and touches it, until `bytes` lie ready, so that no transaction meets the system's page
    /// faults.
    ///
    /// # Errors
    /// When that would exceed the limit; what was obtained stays.
    pub fn prepare(&self, bytes: u64) -> Result<(), OutOfMemory> {
        while bytes > 0 && (self.central.lock().chunks.spare_bytes() as u64) < bytes {
            let chunk = self.central.lock().chunks.obtain(self.budget())?;
            // SAFETY: the chunk is ours alone and this long.
            unsafe { chunk.write_bytes(0, M::chunk_bytes()) };
            self.central.lock().chunks.keep(chunk);
        }
        Ok(())
    }

    /// The reclaim epoch and the oldest epoch in which a worker is pinned, for statistics.
    pub fn reclaim_lag(&self) -> u64 {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let pins = self.slots.iter().map(|(_, slot)| slot.pin.load(Ordering::Relaxed));
        pins.filter(|pin| pin & 1 == 1).map(|pin| epoch.saturating_sub(pin >> 1)).max().unwrap_or(0)
    }

    /// Accounts for `bytes` of memory that somebody is about to obtain from the machine.
    ///
    /// # Errors
    /// When that would exceed the limit.
    pub fn reserve(&self, bytes: usize) -> Result<(), OutOfMemory> {
        self.budget().reserve(bytes)
    }

    /// Takes a [`Heap::reserve`] back.
    pub fn unreserve(&self, bytes: usize) {
        self.budget().unreserve(bytes);
    }

    fn budget(&self) -> Budget<'_, M> {
        Budget { limit_bytes: self.limit_bytes, reserved_bytes: &self.reserved_bytes }
    }

    /// Slots in limbo before their owner tries to advance the epoch.
    fn patience(&self) -> usize {
        limbo::patience::<M>(|| self.reserved_bytes.load(Ordering::Relaxed))
    }

    /// The reclaim epoch, for whoever frees what it lets be freed.
    fn reached_epoch(&self) -> u64 {
        // Acquire pairs with the release in `try_advance`: the readers are done.
        self.epoch.load(Ordering::Acquire)
    }

    /// Advances the reclaim epoch if no pinned worker stands in its way.
    fn try_advance(&self) -> bool {
        let Some(_advancing) = self.advancing.try_lock() else {
            return false;
        };
        let epoch = self.epoch.load(Ordering::Relaxed);
        // Pairs with the light fence in `LocalHeap::pin`: either we see a worker's pin below, or
        // the worker sees every unlink that happened before this fence.
        if !M::fault(&ADVANCE_WITHOUT_FENCE) {
            M::heavy_fence();
        }
        let lagging = self.slots.iter().any(|(_, slot)| {
            // Acquire pairs with the release in `unpin`: what the worker read, it has read.
            let pin = slot.pin.load(Ordering::Acquire);
            debug_assert!(pin & 1 == 0 || pin >> 1 <= epoch, "no pin is ahead of the epoch");
            pin & 1 == 1 && pin >> 1 != epoch
        });
        if lagging {
            return false;
        }
        // Release pairs with the acquires in `pin` and `reached_epoch`: a worker that sees the new epoch also sees that
        // the pins were passed.
        self.epoch.store(epoch + 1, Ordering::Release);
        true
    }

    /// Moves up to `count` free slots to `target`; whether there were any.
    fn take_free(central: &mut Central, pool: usize, count: usize, target: &mut Pool) -> bool {
        let free = &mut central.free[pool];
        let keep = free.len().saturating_sub(count);
        target.slots.extend(free.drain(keep..));
        !target.slots.is_empty()
    }

    /// Moves a batch of free slots to `target`, which is empty, making new ones if none is left over: from
    /// `own` memory where others are at what all share.
    #[cold]
    fn refill(
        &self,
        pool: usize,
        shape: Option<SparseShape>,
        own: &mut Chunks,
        target: &mut Pool,
    ) -> Result<(), OutOfMemory> {
        debug_assert!(target.slots.is_empty(), "a pool is filled when it is empty");
        let bytes = slot_bytes(pool, shape);
        // In models a chunk is small, since every word in it costs.
        let wanted = target.batch(bytes).min((M::chunk_bytes() / bytes).max(1));
        if matches!(self.supply, Supply::Pools) {
            target.grow(bytes, M::chunk_bytes());
        }
        let carve = |chunks: &mut Chunks, target: &mut Pool| match shape {
            None => chunks.carve_slots(self.budget(), bytes, wanted, target),
            Some(shape) => chunks.carve_sparse(self.budget(), shape, wanted, target),
        };
        let mut central = self.central.try_lock();
        // Near the limit only what others have given back may be left.
        if central.is_none() && carve(own, target).is_err() {
            central = Some(self.central.lock());
        }
        if let Some(central) = &mut central {
            if Self::take_free(central, pool, wanted, target) {
                return Ok(());
            }
            carve(&mut central.chunks, target)?;
        }
        drop(central);
        debug_assert!(!target.slots.is_empty(), "what was carved is there");
        // Not under the latch: it is the longer part.
        match (shape, target.slots.last()) {
            // They lie side by side, the last one first.
            (None, Some(&first)) => construct::<M>(first, bytes * target.slots.len()),
            _ => target.slots.iter().for_each(|&place| construct::<M>(place, bytes)),
        }
        Ok(())
    }
}

/// Makes carved slots, or one, an array of words, once and for all.
fn construct<M: Machine>(place: NonNull<u8>, bytes: usize) {
    debug_assert!(bytes.is_multiple_of(8), "slots are whole words");
    let words = place.cast::<M::Word>();
    for index in 0..bytes / 8 {
        // SAFETY: the slots are ours alone and `bytes` long.
        unsafe { words.add(index).write(M::Word::new(0)) };
    }
}

impl<M: Machine> Drop for Heap<M> {
    fn drop(&mut self) {
        let mut central = self.central.lock();
        // SAFETY: the heap's owner outlives all references.
        unsafe { central.chunks.free_all::<M>() };
        if let Some(source) = self.supply.allocator() {
            for (start, layout) in central.singles.drain(..) {
                // SAFETY: `source` gave it with this layout, and the heap's owner outlives all references.
                unsafe { source.free(start, layout) };
            }
        }
    }
}

/// A worker's part of the heap.
pub struct LocalHeap<M: Machine> {
    shared: Arc<Shared<M, Heap<M>>>,
    slot: u32,
    pub(crate) scheme_words: usize,
    words: NonNull<Slot<M>>,
    /// A copy of the slot's pin for its owner: nobody else writes it.
    pinned: Cell<u64>,
    free: Vec<Pool>,
    /// Chunks to carve slots from while others are at the shared part.
    chunks: Chunks,
    /// Slots obtained one by one.
    singles: Vec<(NonNull<u8>, Layout)>,
    /// Bytes reserved for more of them.
    credit_bytes: usize,
    limbo: Limbo,
}

// SAFETY: it owns its slots; the pointers are to memory of the shared heap, which it keeps alive.
unsafe impl<M: Machine> Send for LocalHeap<M> where Arc<Shared<M, Heap<M>>>: Send {}

impl<M: Machine> LocalHeap<M> {
    /// Registers a worker; `None` when all slots are taken.
    #[must_use]
    pub fn new(shared: &Arc<Shared<M, Heap<M>>>) -> Option<Self> {
        let slot = shared.slots.acquire()?;
        let words = NonNull::from(shared.slots.get(slot));
        Some(Self {
            shared: Arc::clone(shared),
            slot,
            scheme_words: shared.scheme_words,
            words,
            pinned: Cell::new(0),
            free: (0..pools::<M>()).map(|_| Pool::default()).collect(),
            chunks: Chunks::new(M::chunk_bytes() / OWN_PART, M::chunk_bytes() / OWN_PART),
            singles: Vec::new(),
            credit_bytes: 0,
            limbo: Limbo::new(limbo::patience::<M>(|| 0)),
        })
    }

    /// The shared part.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared<M, Heap<M>>> {
        &self.shared
    }

    /// The worker's slot number.
    #[must_use]
    pub fn slot_number(&self) -> u32 {
        self.slot
    }

    /// The worker's words.
    #[must_use]
    #[inline]
    pub fn slot<'a>(&self) -> &'a Slot<M> {
        // SAFETY: slots live as long as the shared heap; callers keep `self` or the heap alive.
        unsafe { self.words.as_ref() }
    }

    /// Begins following pointers into shared structures. Not nested.
    #[inline]
    pub fn pin(&self) {
        let slot = self.slot();
        debug_assert!(!self.is_pinned(), "pinned twice");
        let mut epoch = self.shared.epoch.load(Ordering::Relaxed);
        loop {
            slot.pin.store(epoch << 1 | 1, Ordering::Relaxed);
            // Pairs with the heavy fence in `try_advance`.
            M::light_fence();
            // Acquire pairs with the release in `try_advance`: what was unlinked before the epoch
            // began stays unseen. Looking again keeps the pin from naming an epoch that passed
            // while it was being written; what we retire would then be tagged too old.
            let now = self.shared.epoch.load(Ordering::Acquire);
            if now == epoch {
                self.pinned.set(epoch << 1 | 1);
                return;
            }
            epoch = now;
        }
    }

    /// Stops following pointers.
    #[inline]
    pub fn unpin(&self) {
        self.pinned.set(0);
        // Release pairs with the acquire in `try_advance`.
        self.slot().pin.store(0, Ordering::Release);
    }

    /// The reclaim epoch that the pin names. Nothing that was found under an earlier pin of the same
    /// epoch changes hands while this one lasts.
    #[inline]
    #[must_use]
    pub fn pin_epoch(&self) -> u64 {
        self.pinned.get() >> 1
    }

    /// The reclaim epoch.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.epoch.load(Ordering::Relaxed)
    }

    /// Whether the worker is pinned.
    #[inline]
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.pinned.get() != 0
    }

    /// A slot of `kind` with at least `bytes`. Its stable bytes are as its last life left them.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn alloc(&mut self, kind: Kind, bytes: usize) -> Result<NonNull<u8>, OutOfMemory> {
        let class = class_of(kind, bytes).ok_or(OutOfMemory)?;
        self.alloc_class(kind, class)
    }

    /// A sparse slot, for a record or version block.
    fn alloc_sparse(
        &mut self,
        kind: Kind,
        class: u8,
        shape: SparseShape,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        let at = SPARSE + pool_index(kind, class);
        if self.free[at].slots.is_empty() {
            self.shared.refill(at, Some(shape), &mut self.chunks, &mut self.free[at])?;
        }
        Ok(self.take(at, shape.held_bytes()))
    }

    /// Takes a slot of so many bytes out of a pool that has some.
    #[inline]
    fn take(&mut self, pool: usize, bytes: usize) -> NonNull<u8> {
        let place = self.free[pool].take::<M>(bytes);
        let stable = KINDS[pool / CLASSES].stable_bytes();
        debug_assert!(stable <= bytes, "what stays readable lies within");
        M::unpoison(place.as_ptr().wrapping_add(stable), bytes - stable);
        place
    }

    #[inline]
    pub(crate) fn alloc_class(
        &mut self,
        kind: Kind,
        class: u8,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        M::work(Cost::Allocate, 1);
        let at = pool_index(kind, class);
        if self.free[at].slots.is_empty() {
            self.fill(kind, class)?;
        }
        Ok(self.take(at, class_bytes(class)))
    }

    /// Gets slots for a pool that has run empty.
    #[cold]
    fn fill(&mut self, kind: Kind, class: u8) -> Result<(), OutOfMemory> {
        let at = pool_index(kind, class);
        match self.shared.supply.allocator() {
            None => {
                let filled = self.shared.refill(at, None, &mut self.chunks, &mut self.free[at]);
                filled.or_else(|short| self.convert(kind, class).ok_or(short))
            }
            Some(source) => self.obtain(at, class_bytes(class), source),
        }
    }

    /// Puts a slot from `source` into a pool that has run empty, or now and then those that others have
    /// given away.
    #[cold]
    fn obtain(
        &mut self,
        pool: usize,
        bytes: usize,
        source: &'static Allocator,
    ) -> Result<(), OutOfMemory> {
        let shared = Arc::clone(&self.shared);
        if (self.singles.len() as u32).is_multiple_of(LOOK_EVERY) {
            let wanted = batch_slots(bytes);
            let target = &mut self.free[pool];
            if Heap::<M>::take_free(&mut shared.central.lock(), pool, wanted, target) {
                return Ok(());
            }
        }
        if self.credit_bytes < bytes {
            let wanted = CREDIT_BYTES.max(bytes);
            let got = shared.reserve(wanted).map(|()| wanted);
            self.credit_bytes += got.or_else(|_| shared.reserve(bytes).map(|()| bytes))?;
        }
        // As aligned as in a batch: whole lines at lines, words at words.
        let align = 1 << bytes.trailing_zeros().min(6);
        let layout = Layout::from_size_align(bytes, align).map_err(|_| OutOfMemory)?;
        let place = source.alloc(layout).ok_or(OutOfMemory)?;
        debug_assert!(place.addr().get().is_multiple_of(align), "as aligned as was asked for");
        construct::<M>(place, bytes);
        debug_assert!(self.credit_bytes >= bytes, "reserved before");
        self.credit_bytes -= bytes;
        self.singles.push((place, layout));
        self.free[pool].slots.push(place);
        Ok(())
    }

    /// A record (or version block) with an empty value and room for `bytes`; see
    /// [`RecordRef`] for what survives from the slot's last life.
    ///
    /// # Errors
    /// When the memory limit is reached.
    #[inline]
    pub fn alloc_record(&mut self, kind: Kind, bytes: usize) -> Result<RecordRef<M>, OutOfMemory> {
        debug_assert!(matches!(kind, Kind::Record | Kind::Version));
        let class = class_for(HEAD_BYTES + bytes + 8 * self.scheme_words).ok_or(OutOfMemory)?;
        debug_assert!(class_bytes(class) >= HEAD_BYTES + bytes + 8 * self.scheme_words, "it fits");
        let place = match sparse::shape::<M>(self.shared.kept, class) {
            None => self.alloc_class(kind, class)?,
            Some(shape) => self.alloc_sparse(kind, class, shape)?,
        };
        let place = place.cast::<Record<M>>();
        // SAFETY: a slot of sufficient size, constructed as words; the head is two of them.
        let record = unsafe { RecordRef::from_raw(place) };
        record.begin_life(class, self.scheme_words);
        Ok(record)
    }

    /// Bytes of a value that fit into a record in place.
    #[must_use]
    #[inline]
    pub fn room(&self, record: RecordRef<M>) -> usize {
        record.capacity() - 8 * self.scheme_words
    }

    /// Frees a slot that nobody else has seen, or that nobody can be looking at any more.
    ///
    /// # Safety
    /// It came from [`LocalHeap::alloc`] of this heap with this kind and size, nobody else frees it,
    /// and nobody will follow what leads or led to it: no shared structure ever did, or all of its
    /// users have gone.
    pub unsafe fn free(&mut self, kind: Kind, bytes: usize, place: NonNull<u8>) {
        let class = class_of(kind, bytes).expect("was allocated");
        self.free_class(pool_index(kind, class), place);
    }

    /// Frees a record that nobody else has seen, or that nobody can be looking at any more.
    ///
    /// # Safety
    /// As for [`LocalHeap::free`].
    pub unsafe fn free_record(&mut self, kind: Kind, record: RecordRef<M>) {
        let place = NonNull::new(record.as_ptr().cast()).expect("not null");
        self.free_class(pool_of(kind, record), place);
    }

    fn free_class(&mut self, pool: usize, place: NonNull<u8>) {
        M::work(Cost::Free, 1);
        let stable = KINDS[pool / CLASSES].stable_bytes();
        let bytes = slot_bytes(pool, M::sparse_shape(place.as_ptr()));
        debug_assert!(stable <= bytes, "what stays readable lies within");
        M::poison(place.as_ptr().wrapping_add(stable), bytes - stable);
        let own = &mut self.free[pool];
        debug_assert!(own.slots.last() != Some(&place), "freed twice");
        own.slots.push(place);
        // The coldest half goes back, so that one worker's garbage serves another's inserts; where others are
        // at the shared part, the next time.
        if own.has_surplus(bytes)
            && let Some(mut central) = self.shared.central.try_lock()
        {
            let surplus = own.shrink(bytes);
            debug_assert!(surplus < own.slots.len(), "some stay");
            central.free[pool].extend(own.slots.drain(..surplus));
        }
    }

    /// Frees a slot once no pinned worker can be looking at it.
    ///
    /// # Safety
    /// As for [`LocalHeap::free`], but the slot was shared: the caller is pinned, has unlinked it
    /// during this pin, and nobody else retires it.
    pub unsafe fn retire(&mut self, kind: Kind, bytes: usize, place: NonNull<u8>) {
        let class = class_of(kind, bytes).expect("was allocated");
        self.retire_class(pool_index(kind, class), place);
    }

    /// Retires a record or version block.
    ///
    /// # Safety
    /// As for [`LocalHeap::retire`].
    pub unsafe fn retire_record(&mut self, kind: Kind, record: RecordRef<M>) {
        let place = NonNull::new(record.as_ptr().cast()).expect("not null");
        self.retire_class(pool_of(kind, record), place);
    }

    /// Where a record or version block goes when it is retired: [`LocalHeap::retire_to`] need not look at it again.
    #[inline]
    pub fn home_of(&self, kind: Kind, record: RecordRef<M>) -> Home {
        Home(pool_of(kind, record) as u16)
    }

    /// Retires a record or version block without touching it.
    ///
    /// # Safety
    /// As for [`LocalHeap::retire`], and `home` is what [`LocalHeap::home_of`] said of it.
    pub unsafe fn retire_to(&mut self, home: Home, record: RecordRef<M>) {
        let place = NonNull::new(record.as_ptr().cast()).expect("not null");
        self.retire_class(usize::from(home.0), place);
    }

    fn retire_class(&mut self, pool: usize, place: NonNull<u8>) {
        M::work(Cost::Free, 1);
        assert!(self.is_pinned(), "retired without a pin");
        debug_assert!(pool <= usize::from(u16::MAX), "pools have 16 bits");
        let epoch = self.pin_epoch() + 1;
        self.limbo.add(Retired { epoch, pool: pool as u16, place });
    }

    /// Frees retired slots whose grace period is over; call it now and then, not pinned.
    #[inline]
    pub fn reclaim(&mut self) {
        if self.limbo.is_full() {
            self.reclaim_due();
        }
    }

    /// As [`LocalHeap::reclaim_now`], but leaves the epoch as it is where others have advanced it far enough.
    #[cold]
    fn reclaim_due(&mut self) {
        match !M::explores() && self.limbo.has_free(self.shared.reached_epoch()) {
            true => self.reclaim_after(0),
            false => self.reclaim_now(),
        }
    }

    /// Frees retired slots whose grace period is over, however few.
    #[cold]
    pub fn reclaim_now(&mut self) {
        // Simulated runs are as eager as is sound: what is freed too early shows at once.
        self.reclaim_after(if M::explores() { 3 } else { 1 });
    }

    /// As [`LocalHeap::reclaim_now`], after so many attempts to advance the epoch.
    fn reclaim_after(&mut self, attempts: u32) {
        debug_assert!(!self.is_pinned());
        for _ in 0..attempts {
            self.shared.try_advance();
        }
        let orphans = self.shared.central.try_lock().map(|mut it| core::mem::take(&mut it.orphans));
        self.limbo.adopt(orphans.unwrap_or_default());
        let epoch = self.shared.reached_epoch();
        while let Some(retired) = self.limbo.take_free(epoch) {
            self.free_class(retired.pool as usize, retired.place);
        }
        // What is left waits for a reader: ask again only after as much again has gathered.
        self.limbo.bear(self.shared.patience());
    }

    /// Gives everything that is free to whoever asks next, and leaves what is in limbo to others as
    /// limbo: for a worker that has nothing to do, and may have nothing to do for long. Returns how many bytes
    /// others have gained. Not pinned.
    pub fn give_back(&mut self) -> u64 {
        // A slot is free two epochs after its tag, and nobody is pinned for long.
        for _ in 0..3 {
            self.reclaim_now();
        }
        let shared = Arc::clone(&self.shared);
        let mut central = shared.central.lock();
        let mut given_bytes = self.limbo_bytes();
        for (pool, own) in self.free.iter_mut().enumerate() {
            given_bytes += own.slots.len() * pool_bytes(pool);
            central.free[pool].append(&mut core::mem::take(own).slots);
        }
        if M::fault(&LIMBO_GIVEN_BACK_AS_FREE) {
            for retired in self.limbo.drain() {
                central.free[retired.pool as usize].push(retired.place);
            }
        }
        central.orphans.extend(self.limbo.drain());
        self.limbo.bear(shared.patience());
        given_bytes as u64
    }

    /// Bytes waiting for readers to leave.
    #[must_use]
    pub fn limbo_bytes(&self) -> usize {
        self.limbo.bytes()
    }
}

impl<M: Machine> Drop for LocalHeap<M> {
    fn drop(&mut self) {
        let mut central = self.shared.central.lock();
        for (pool, own) in self.free.iter_mut().enumerate() {
            central.free[pool].append(&mut own.slots);
        }
        central.chunks.absorb(&mut self.chunks);
        central.singles.append(&mut self.singles);
        central.orphans.extend(self.limbo.drain());
        drop(central);
        self.shared.unreserve(self.credit_bytes);
        self.unpin();
        self.shared.slots.release(self.slot);
    }
}
