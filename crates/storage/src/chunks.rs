//! Memory from the machine, carved into slots.
//!
//! The heap has some for all, behind its latch; each worker has its own, smaller ones, for when that is
//! taken: a latch for which a thousand cores wait costs each hand-over a message to every one of them, and
//! all of them wait at once when all began at once (Yu, 2015, 4.1.1).
//!
//! The blocks of a heap double from a small one to ordinary ones, so that a database of a few rows takes little.

use crate::budget::{Budget, OutOfMemory};
use crate::pool::{Pool, batch_slots};
use chiliad_machine::{Class, Machine, SparseShape};
use core::alloc::Layout;
use core::ptr::NonNull;

/// Blocks of the machine, of which the last is being carved up.
pub struct Chunks {
    /// Bytes of an ordinary block.
    bytes: usize,
    /// Bytes of the next block that is asked for, which is smaller at first.
    next_bytes: usize,
    blocks: Vec<(NonNull<u8>, Layout)>,
    /// Whole ordinary blocks that were touched ahead of their use.
    spare: Vec<NonNull<u8>>,
    cursor: NonNull<u8>,
    left_bytes: usize,
}

// SAFETY: the pointers are to memory that its owner has for itself.
unsafe impl Send for Chunks {}

impl Chunks {
    /// None yet; ordinary ones have so many bytes, and the first has `first_bytes`.
    pub fn new(bytes: usize, first_bytes: usize) -> Self {
        debug_assert!(first_bytes > 0 && first_bytes <= bytes, "blocks grow");
        let (blocks, spare, cursor) = (Vec::new(), Vec::new(), NonNull::dangling());
        Self { bytes, next_bytes: first_bytes, blocks, spare, cursor, left_bytes: 0 }
    }

    /// Bytes that were set aside and not carved up yet.
    pub fn spare_bytes(&self) -> usize {
        self.spare.len() * self.bytes + self.left_bytes
    }

    /// Sets an ordinary block of these aside.
    pub fn keep(&mut self, block: NonNull<u8>) {
        debug_assert!(!self.spare.contains(&block), "a block is kept once");
        self.spare.push(block);
    }

    /// Takes over what another has; what is left of its last block is lost to use.
    pub fn absorb(&mut self, other: &mut Self) {
        debug_assert!(other.spare.is_empty(), "workers keep no whole blocks");
        self.blocks.append(&mut other.blocks);
    }

    /// Gives everything back to the machine.
    ///
    /// # Safety
    /// Nobody reaches any of it any more.
    pub unsafe fn free_all<M: Machine>(&mut self) {
        for (start, layout) in self.blocks.drain(..) {
            // SAFETY: allocated with this layout; the caller vouches for the rest.
            unsafe { M::free(start, layout, Class::Chunk) };
        }
    }

    /// An ordinary block from the machine.
    ///
    /// # Errors
    /// When that would exceed the limit, or the machine has no more; so do all others here.
    pub fn obtain<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        self.block(budget, self.bytes, self.bytes.min(2 << 20))
    }

    /// The next block that is carved up, of which a batch of so many bytes takes no more than half, and its bytes.
    fn grow<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
        batch: usize,
    ) -> Result<(NonNull<u8>, usize), OutOfMemory> {
        if let Some(block) = self.spare.pop() {
            return Ok((block, self.bytes));
        }
        while self.next_bytes < 2 * batch {
            self.next_bytes = self.after(self.next_bytes);
        }
        let bytes = self.next_bytes;
        let block = self.block(budget, bytes, bytes.min(2 << 20))?;
        self.next_bytes = self.after(bytes);
        Ok((block, bytes))
    }

    /// The bytes of the block that follows one of so many.
    fn after(&self, bytes: usize) -> usize {
        bytes.saturating_mul(2).min(self.bytes)
    }

    fn block<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
        bytes: usize,
        align: usize,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        let layout = Layout::from_size_align(bytes, align).map_err(|_| OutOfMemory)?;
        budget.reserve(bytes)?;
        let Some(start) = M::alloc(layout, Class::Chunk) else {
            budget.unreserve(bytes);
            return Err(OutOfMemory);
        };
        debug_assert!(start.addr().get().is_multiple_of(align), "as aligned as was asked for");
        self.blocks.push((start, layout));
        Ok(start)
    }

    /// Carves `count` slots of `bytes`, or fewer near the limit.
    pub fn carve_slots<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
        bytes: usize,
        count: usize,
        target: &mut Pool,
    ) -> Result<(), OutOfMemory> {
        debug_assert!(bytes > 0 && count > 0, "slots are asked for");
        let mut count = count;
        let mut start = self.carve(budget, (bytes * count).next_multiple_of(64));
        if start.is_err() {
            // Near the limit a little may be had where much may not.
            count = batch_slots(bytes);
            start = self.carve(budget, (bytes * count).next_multiple_of(64));
        }
        let start = start?;
        // SAFETY: what was carved has room for `count` slots.
        target.slots.extend((0..count).rev().map(|index| unsafe { start.add(index * bytes) }));
        Ok(())
    }

    /// Carves `count` sparse slots or more, as the machine has them; fewer near the limit of memory.
    pub fn carve_sparse<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
        shape: SparseShape,
        count: usize,
        target: &mut Pool,
    ) -> Result<(), OutOfMemory> {
        while target.slots.len() < count {
            let Some((start, made)) = M::alloc_sparse(shape) else { break };
            let Some(layout) = shape.layout(made) else { break };
            self.blocks.push((start, layout));
            let mut within = made;
            while within > 0 && budget.reserve(within * shape.whole_bytes as usize).is_err() {
                within /= 2;
            }
            let held = shape.held_bytes();
            // SAFETY: the machine gave `made` slots at these distances.
            target.slots.extend((0..within).rev().map(|index| unsafe { start.add(index * held) }));
            if within < made {
                break;
            }
        }
        if target.slots.is_empty() { Err(OutOfMemory) } else { Ok(()) }
    }

    /// `batch` bytes that were never used before, at a line's boundary.
    fn carve<M: Machine>(
        &mut self,
        budget: Budget<'_, M>,
        batch: usize,
    ) -> Result<NonNull<u8>, OutOfMemory> {
        debug_assert!(batch.is_multiple_of(64), "a batch is whole lines");
        // What would waste much of a block gets one of its own, and the last one stays in use.
        if 2 * batch > self.bytes {
            return self.block(budget, batch, 64);
        }
        if self.left_bytes < batch {
            (self.cursor, self.left_bytes) = self.grow(budget, batch)?;
        }
        debug_assert!(batch <= self.left_bytes, "the block has room");
        let start = self.cursor;
        // SAFETY: the block has `batch` bytes left after the cursor; one past its end is allowed.
        self.cursor = unsafe { start.add(batch) };
        self.left_bytes -= batch;
        Ok(start)
    }
}
