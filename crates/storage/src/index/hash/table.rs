//! The array of buckets: pieces of memory with a directory, so that it grows without moving.
//!
//! Piece 0 holds a power of two, most of the buckets that the table began with. Each doubling after
//! that comes in equal pieces, so that a large table does not reserve as much again at once. Pieces
//! are freed when the index is taken apart, or with the table.

use super::bucket::Bucket;
use super::protocol;
use crate::{Heap, OutOfMemory};
use chiliad_machine::{Class, Latch, Link, Machine, Ordering, Shared, Tagged, Word};
use core::alloc::Layout;
use core::ptr::NonNull;
use std::sync::Arc;

/// The binary logarithm of the pieces in a doubling. Simulated tables start smaller.
#[inline]
fn piece_bits<M: Machine>() -> u32 {
    if M::explores() { 2 } else { 3 }
}

const LEVELS_MAX: usize = 40;
const PIECES: usize = 1 + (LEVELS_MAX << 3);

/// Entries per bucket, on average, beyond which a table of a power of two of buckets begins to grow. Six fit in a bucket:
/// with four, one key in twenty is found a chained node further on, and a group of look-ups, which waits for its slowest,
/// feels each. Fewer would waste memory.
const LOAD_MAX: u64 = 4;

/// Keys that come for each division, until the buckets are twice as many. The buckets that are not divided yet have twice
/// the entries of the others: a division for every [`LOAD_MAX`] keys, which holds the average there, would leave them with
/// up to eight, and one key in eleven in a chained node. So the average is from three to four instead.
const KEYS_PER_DIVISION: u64 = 2;

/// One insertion in so many touches the shared count: the ones whose hash says so, which makes the
/// count exact for those keys and unbiased for all.
const SAMPLE: u64 = 8;

/// The shared words of a table.
#[repr(C)]
pub(super) struct Root<M: Machine> {
    /// The number of buckets: see [`protocol`].
    pub buckets: M::Word,
    pieces: [M::Link<Bucket<M>>; PIECES],
    /// Set when the pieces are freed ahead of the table.
    gone: M::Word,
    count: CountLine<M>,
}

/// Written often; on a line of its own.
#[repr(C, align(64))]
struct CountLine<M: Machine> {
    /// Keys whose hash is a multiple of the sampling period.
    sampled: M::Word,
    /// Held by the worker that divides buckets.
    growing: Latch<M, ()>,
}

/// The array of buckets.
pub(super) struct Table<M: Machine> {
    pub root: Shared<M, Root<M>>,
    heap: Arc<Shared<M, Heap<M>>>,
    /// The binary logarithm of the buckets in piece 0.
    first_bits: u32,
}

#[inline]
fn sample<M: Machine>() -> u64 {
    // Simulated tables are tiny; theirs is exact.
    if M::explores() { 1 } else { SAMPLE }
}

fn layout<M: Machine>(buckets: u64) -> Option<Layout> {
    let bytes = usize::try_from(buckets).ok()?.checked_mul(size_of::<Bucket<M>>())?;
    let huge = M::CHUNK_BYTES.min(2 << 20);
    Layout::from_size_align(bytes, if bytes >= huge { huge } else { 128 }).ok()
}

/// The buckets that a table of so many keys should have.
fn buckets_for(keys: u64) -> u64 {
    let even = 1 << (keys / LOAD_MAX).max(1).ilog2();
    let divided = keys.saturating_sub(even * LOAD_MAX).div_ceil(KEYS_PER_DIVISION);
    even + divided.min(even)
}

impl<M: Machine> Table<M> {
    /// A table with room for `keys` before it has to grow.
    pub(super) fn new(heap: &Arc<Shared<M, Heap<M>>>, keys: usize) -> Result<Self, OutOfMemory> {
        let buckets = buckets_for(keys as u64).max(1 << piece_bits::<M>());
        let root = Shared::new(Root {
            buckets: M::Word::new(0),
            pieces: core::array::from_fn(|_| M::Link::new(Tagged::null())),
            gone: M::Word::new(0),
            count: CountLine { sampled: M::Word::new(0), growing: Latch::new(()) },
        });
        let table = Self { root, heap: Arc::clone(heap), first_bits: buckets.ilog2() };
        // All pieces first: whether there is memory shows before any of it is touched.
        let last = table.locate(buckets - 1).0;
        for piece in 0..=last {
            table.alloc_piece(piece)?;
        }
        for index in 0..buckets {
            table.construct(index, 0)?;
        }
        table.publish(buckets);
        Ok(table)
    }

    /// The piece and the place in it of a bucket.
    #[inline]
    fn locate(&self, index: u64) -> (usize, usize) {
        // Without a branch, for which of the two it is cannot be predicted.
        let level = (index | 1).ilog2();
        let bits = level.wrapping_sub(piece_bits::<M>()) & 63;
        let part = (index >> bits) & ((1 << piece_bits::<M>()) - 1);
        let levels = u64::from(level.wrapping_sub(self.first_bits));
        let piece = 1 + (levels << piece_bits::<M>()).wrapping_add(part);
        let first = index >> self.first_bits == 0;
        let (piece, mask) =
            if first { (0, u64::MAX) } else { (piece, (1_u64 << bits).wrapping_sub(1)) };
        debug_assert!((index & mask) < self.piece_buckets(piece as usize), "it lies in its piece");
        (piece as usize, (index & mask) as usize)
    }

    /// Buckets in `piece`.
    fn piece_buckets(&self, piece: usize) -> u64 {
        if piece == 0 {
            return 1 << self.first_bits;
        }
        let level = u64::from(self.first_bits) + ((piece as u64 - 1) >> piece_bits::<M>());
        1 << (level - u64::from(piece_bits::<M>()))
    }

    fn alloc_piece(&self, piece: usize) -> Result<NonNull<Bucket<M>>, OutOfMemory> {
        debug_assert!(self.piece_buckets(piece) > 0, "a piece has buckets");
        let link = self.root.pieces.get(piece).ok_or(OutOfMemory)?;
        let layout = layout::<M>(self.piece_buckets(piece)).ok_or(OutOfMemory)?;
        self.heap.reserve(layout.size())?;
        let Some(place) = M::alloc(layout, Class::Buckets) else {
            self.heap.unreserve(layout.size());
            return Err(OutOfMemory);
        };
        let place = place.cast::<Bucket<M>>();
        // Release pairs with the acquire in `bucket`; what it leads to is published by the number
        // of buckets.
        link.store(Tagged::new(place.as_ptr(), 0), Ordering::Release);
        Ok(place)
    }

    /// The bucket at `index`, below a number of buckets that was published.
    #[inline]
    pub(super) fn bucket(&self, index: u64) -> &Bucket<M> {
        let (piece, at) = self.locate(index);
        // Acquire pairs with the release in `alloc_piece`.
        let place = self.root.pieces[piece].load(Ordering::Acquire);
        // SAFETY: bucket `index` was published, so its piece is linked and it is constructed;
        // neither goes before the table does.
        unsafe { &*place.pointer().add(at) }
    }

    /// The bytes of the pieces.
    pub(super) fn bytes(&self) -> u64 {
        let pieces = self.root.pieces.iter().enumerate();
        let there = pieces.filter(|(_, link)| !link.load(Ordering::Relaxed).is_null());
        there
            .filter_map(|(piece, _)| layout::<M>(self.piece_buckets(piece)))
            .map(|layout| layout.size() as u64)
            .sum()
    }

    /// The number of buckets.
    #[inline]
    pub(super) fn buckets(&self) -> u64 {
        // Acquire pairs with the release in `publish`: the buckets are constructed.
        self.root.buckets.load(Ordering::Acquire)
    }

    /// Constructs the bucket after the last one, latched. The caller holds the right to grow, and begins
    /// the latch's section when it publishes the bucket: until then nobody can wait for it.
    pub(super) fn prepare(&self, index: u64) -> Result<&Bucket<M>, OutOfMemory> {
        self.construct(index, protocol::LATCHED)
    }

    /// Constructs a bucket that is not published.
    fn construct(&self, index: u64, version: u64) -> Result<&Bucket<M>, OutOfMemory> {
        let (piece, at) = self.locate(index);
        let link = self.root.pieces.get(piece).ok_or(OutOfMemory)?;
        // Acquire pairs with the release in `alloc_piece`.
        let place = match NonNull::new(link.load(Ordering::Acquire).pointer()) {
            Some(place) => place,
            None => self.alloc_piece(piece)?,
        };
        // SAFETY: the bucket lies in its piece, and nobody looks at it before it is published.
        unsafe {
            let bucket = place.add(at);
            bucket.write(Bucket::new(version));
            Ok(bucket.as_ref())
        }
    }

    /// Publishes buckets. The caller of a division holds the new one and the one it was divided from.
    pub(super) fn publish(&self, buckets: u64) {
        debug_assert!(buckets > 0, "a key has a bucket");
        // Release pairs with the acquire in `buckets`. Readers that note the version of either
        // half afterwards see the number through that version.
        self.root.buckets.store(buckets, Ordering::Release);
    }

    /// Counts a key that came; whether the table may have to grow.
    #[inline]
    pub(super) fn count_in(&self, hash: u64) -> bool {
        let sampled = (hash >> 40).is_multiple_of(sample::<M>());
        if sampled {
            self.root.count.sampled.fetch_add(1, Ordering::Relaxed);
        }
        sampled && self.is_crowded()
    }

    /// Counts a key that went.
    #[inline]
    pub(super) fn count_out(&self, hash: u64) {
        if (hash >> 40).is_multiple_of(sample::<M>()) {
            self.root.count.sampled.fetch_add(1_u64.wrapping_neg(), Ordering::Relaxed);
        }
    }

    /// The number of keys, estimated.
    pub(super) fn keys(&self) -> u64 {
        // A key may be counted out a moment before it is counted in.
        let sampled = self.root.count.sampled.load(Ordering::Relaxed).cast_signed();
        sampled.max(0).cast_unsigned() * sample::<M>()
    }

    /// Whether the table should grow.
    pub(super) fn is_crowded(&self) -> bool {
        self.root.buckets.load(Ordering::Relaxed) < buckets_for(self.keys())
    }

    /// How many divisions one insertion makes at most.
    pub(super) fn divisions_max() -> u64 {
        // Those that keep up with the insertions between two samples, and as many again several
        // times, for when somebody lost the core while it held the right to grow.
        4 * sample::<M>().div_ceil(KEYS_PER_DIVISION)
    }

    /// The right to divide buckets, if nobody else is at it.
    pub(super) fn try_grow(&self) -> Option<impl Drop + '_> {
        self.root.count.growing.try_lock()
    }
}

impl<M: Machine> Table<M> {
    /// Frees all buckets. A second call finds nothing to free.
    ///
    /// # Safety
    /// Nobody else is using the table, and nobody will look at a bucket again.
    pub(super) unsafe fn free_pieces(&self) {
        if self.root.gone.load(Ordering::Relaxed) != 0 {
            return;
        }
        // The links stay as they are: the simulator catches an access that follows one in spite of all.
        self.root.gone.store(1, Ordering::Relaxed);
        for (piece, link) in self.root.pieces.iter().enumerate() {
            let Some(place) = NonNull::new(link.load(Ordering::Relaxed).pointer()) else {
                continue;
            };
            if let Some(layout) = layout::<M>(self.piece_buckets(piece)) {
                // SAFETY: allocated with this layout, and the caller is alone with the table.
                unsafe { M::free(place.cast(), layout, Class::Buckets) };
                self.heap.unreserve(layout.size());
            }
        }
    }
}

impl<M: Machine> Drop for Table<M> {
    fn drop(&mut self) {
        // SAFETY: dropping the table takes exclusive access to it.
        unsafe { self.free_pieces() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_not_yet_divided_have_room_for_their_entries() {
        let mut before = buckets_for(0);
        for keys in 0..200_000 {
            let buckets = buckets_for(keys);
            assert!(buckets >= before && buckets > 0, "{keys} keys");
            before = buckets;
            if keys < 2 * LOAD_MAX {
                continue;
            }
            assert!(buckets * LOAD_MAX >= keys, "{keys} keys are too many for {buckets} buckets");
            assert!(buckets * 5 <= keys * 2, "{keys} keys are too few for {buckets} buckets");
            // A key is in such a bucket by so many low bits of its hash.
            let level = buckets.ilog2();
            let undivided = (1 << (level + 1)) - buckets;
            assert!(undivided == 0 || keys >> level < 6, "{keys} keys in {buckets} buckets");
        }
    }
}
