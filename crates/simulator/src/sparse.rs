//! Memory of which only a part exists, and the simulated addresses of all of it.
//!
//! - It is taken in *chunks* from the upper end of the region downwards, so that one compare tells it
//!   from ordinary memory, and handed out in *granules* of one shape, upwards in a chunk of that shape. A
//!   granule is not handed out again.
//! - The simulated addresses of its slots lie above all that a region can have, side by side as if
//!   every slot were whole: so no two bytes share one, and they depend on the order of the calls only.
//! - What there is to know is known by chunk: each access asks, and a table by granule would push what is
//!   simulated out of the host's caches.

use chiliad_machine::SparseShape;
use std::cell::{Cell, RefCell};

/// Bytes of memory in a granule.
pub(crate) const GRANULE_BYTES: usize = 16 << 10;

/// Granules of a chunk.
const GRANULES: usize = 64;
/// Bytes of memory in a chunk.
pub(crate) const CHUNK_BYTES: usize = GRANULES * GRANULE_BYTES;

/// Where the simulated addresses begin: no region is larger.
pub(crate) const START: u64 = 1 << 40;

/// The chunks of a region.
pub(crate) struct SparseChunks {
    /// The end of the region, as an offset.
    end: usize,
    /// Where the lowest chunk begins.
    from: Cell<usize>,
    /// The first simulated address that is free.
    next: Cell<u64>,
    /// By place, the uppermost first.
    chunks: RefCell<Vec<Chunk>>,
}

#[derive(Clone, Copy)]
struct Chunk {
    shape: SparseShape,
    /// 2^32 divided by the bytes held of a slot, rounded up: offsets in a granule are so small that
    /// multiplying by it divides exactly.
    reciprocal: u32,
    /// Granules handed out.
    taken: u32,
    /// The simulated address of the first slot.
    start: u64,
    /// Simulated bytes of a granule.
    granule_bytes: u64,
}

impl SparseChunks {
    /// None yet, in a region that ends at `end`, a multiple of [`CHUNK_BYTES`].
    pub(crate) fn new(end: usize) -> Self {
        debug_assert!(end.is_multiple_of(CHUNK_BYTES));
        Self { end, from: Cell::new(end), next: Cell::new(START), chunks: RefCell::default() }
    }

    /// Where ordinary memory must end.
    #[inline]
    pub(crate) fn from(&self) -> usize {
        self.from.get()
    }

    /// Whether the offset is in a granule that was handed out.
    #[inline]
    pub(crate) fn contains(&self, offset: usize) -> bool {
        offset >= self.from.get() && self.chunk(offset).is_some_and(|chunk| chunk.holds(offset))
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.get() == self.end
    }

    /// The bytes that were handed out, had they all existed.
    pub(crate) fn simulated_bytes(&self) -> u64 {
        let chunks = self.chunks.borrow();
        chunks.iter().map(|chunk| u64::from(chunk.taken) * chunk.granule_bytes).sum()
    }

    /// A granule of slots: its offset, and how many there are. `None` if it would reach below `floor`
    /// or could not hold a single one.
    pub(crate) fn take(&self, shape: SparseShape, floor: usize) -> Option<(usize, usize)> {
        let count = GRANULE_BYTES / shape.held_bytes();
        if count == 0 {
            return None;
        }
        let place = self.chunk_with_room(shape, count, floor)?;
        let chunk = &mut self.chunks.borrow_mut()[place];
        let offset = self.end - (place + 1) * CHUNK_BYTES + chunk.taken as usize * GRANULE_BYTES;
        chunk.taken += 1;
        Some((offset, count))
    }

    /// The place of a chunk of a shape that has a granule left, of which each has `count` slots.
    fn chunk_with_room(&self, shape: SparseShape, count: usize, floor: usize) -> Option<usize> {
        let mut chunks = self.chunks.borrow_mut();
        // The last one of a shape is the only one that may have room.
        let latest = chunks.iter().rposition(|chunk| chunk.shape == shape);
        if let Some(place) = latest.filter(|&place| (chunks[place].taken as usize) < GRANULES) {
            return Some(place);
        }
        let from = self.from.get().checked_sub(CHUNK_BYTES).filter(|&from| from >= floor)?;
        let reciprocal = u32::try_from((1_u64 << 32).div_ceil(shape.held_bytes() as u64)).ok()?;
        let granule_bytes = (count as u64 * u64::from(shape.whole_bytes)).next_multiple_of(64);
        let start = self.next.get();
        chunks.push(Chunk { shape, reciprocal, taken: 0, start, granule_bytes });
        self.next.set(start + GRANULES as u64 * granule_bytes);
        self.from.set(from);
        Some(chunks.len() - 1)
    }

    #[inline]
    fn chunk(&self, offset: usize) -> Option<Chunk> {
        let place = self.end.checked_sub(offset + 1)? / CHUNK_BYTES;
        self.chunks.borrow().get(place).copied()
    }

    /// The shape of the slots around `offset`.
    #[inline]
    pub(crate) fn shape(&self, offset: usize) -> Option<SparseShape> {
        Some(self.chunk(offset)?.shape)
    }

    /// The simulated address of what is held at `offset`; an offset outside stands for itself.
    #[inline]
    pub(crate) fn simulated(&self, offset: usize) -> u64 {
        let Some(chunk) = self.chunk(offset) else { return offset as u64 };
        let Chunk { shape, reciprocal, start, granule_bytes, .. } = chunk;
        let granule = granule_of(offset);
        let within = offset % GRANULE_BYTES;
        let slot = (within as u64 * u64::from(reciprocal)) >> 32;
        let held = within - slot as usize * shape.held_bytes();
        let first = start + granule as u64 * granule_bytes;
        first + slot * u64::from(shape.whole_bytes) + shape.byte_of(held) as u64
    }
}

impl Chunk {
    /// Whether the granule at an offset of the region was handed out.
    #[inline]
    fn holds(&self, offset: usize) -> bool {
        granule_of(offset) < self.taken as usize
    }
}

/// Which one of its chunk the granule at an offset of the region is.
#[inline]
fn granule_of(offset: usize) -> usize {
    offset % CHUNK_BYTES / GRANULE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const END: usize = 16 << 20;

    fn shape(whole_bytes: u32, front_bytes: u32) -> SparseShape {
        SparseShape { whole_bytes, front_bytes, back_bytes: 24, spared: false }
    }

    #[test]
    fn no_two_bytes_share_an_address_and_slots_lie_side_by_side() {
        let sparse = SparseChunks::new(END);
        let shapes = [shape(1024, 32), shape(1280, 100), shape(65_536, 4112), shape(496, 96)];
        // Of each shape more than a chunk.
        let (mut ends, mut bytes) = (BTreeMap::new(), 0);
        for shape in shapes.into_iter().cycle().take(shapes.len() * (GRANULES + 2)) {
            let (offset, count) = sparse.take(shape, 0).expect("room");
            let held = shape.held_bytes();
            assert_eq!(count, GRANULE_BYTES / held);
            let first = sparse.simulated(offset);
            for slot in 0..count {
                let at = |byte: usize| sparse.simulated(offset + slot * held + byte);
                assert_eq!(sparse.shape(offset + slot * held), Some(shape));
                let whole = u64::from(shape.whole_bytes);
                assert_eq!(at(0), first + slot as u64 * whole);
                for byte in 0..held {
                    assert_eq!(at(byte), at(0) + shape.byte_of(byte) as u64);
                }
                assert_eq!(at(held - 1), at(0) + whole - 1);
            }
            let end = (first + count as u64 * u64::from(shape.whole_bytes)).next_multiple_of(64);
            bytes += end - first;
            assert_eq!(ends.insert(first, end), None);
        }
        assert!(ends.values().zip(ends.keys().skip(1)).all(|(end, next)| end <= next));
        assert_eq!(sparse.simulated_bytes(), bytes);
        assert_eq!(END - sparse.from(), 2 * shapes.len() * CHUNK_BYTES);
    }

    #[test]
    fn chunks_end_where_ordinary_memory_does() {
        let sparse = SparseChunks::new(END);
        assert!(sparse.is_empty() && !sparse.contains(END - 1));
        assert_eq!(sparse.simulated(END), END as u64);
        let floor = END - CHUNK_BYTES - 1;
        let (offset, _) = sparse.take(shape(1024, 32), floor).expect("room for one");
        assert!(sparse.contains(offset) && sparse.contains(offset + GRANULE_BYTES - 1));
        assert!(!sparse.contains(offset + GRANULE_BYTES), "it has not been handed out yet");
        assert!(!sparse.contains(END));
        let (second, _) = sparse.take(shape(1024, 32), floor).expect("room for more of its shape");
        assert!(second == offset + GRANULE_BYTES && sparse.contains(second));
        assert_eq!(sparse.take(shape(512, 32), floor), None, "no other chunk fits");
        assert_eq!(sparse.take(shape(65_536, 16_384), 0), None, "none fits into a granule");
        assert_eq!(sparse.from(), offset);
    }
}
