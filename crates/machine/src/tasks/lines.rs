//! A pool of lines: blocks of whole cache lines out of chunks, each kept for the next taker of as many lines.

use super::LINE_WORDS;
use crate::{Class, LINE_BYTES, Machine, Word};
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

/// Blocks up to this many lines are kept by their number of lines, larger ones by the power of two above it.
const EXACT: usize = 64;

/// The kinds of blocks: one for each number of lines, then one for each power of two.
const KINDS: usize = EXACT + usize::BITS as usize;

/// Blocks of lines, whose memory goes back to the machine when the pool is dropped. One thread's: what a runtime takes
/// lines from.
pub struct LinePool<M: Machine> {
    /// Blocks that were given back, by kind.
    free: [RefCell<Vec<NonNull<M::Word>>>; KINDS],
    chunks: RefCell<Vec<(NonNull<u8>, Layout)>>,
    /// The rest of the last chunk, and how many lines it has.
    rest: Cell<(NonNull<M::Word>, usize)>,
    taken: Cell<usize>,
}

/// The kind of a block, and the lines that such a block has.
fn kind(lines: usize) -> (usize, usize) {
    if lines <= EXACT {
        (lines - 1, lines)
    } else {
        let power = lines.next_power_of_two();
        (EXACT + power.trailing_zeros() as usize, power)
    }
}

impl<M: Machine> Default for LinePool<M> {
    fn default() -> Self {
        const { assert!(size_of::<M::Word>() == 8, "a line has eight words") };
        Self {
            free: core::array::from_fn(|_| RefCell::default()),
            chunks: RefCell::default(),
            rest: Cell::new((NonNull::dangling(), 0)),
            taken: Cell::new(0),
        }
    }
}

impl<M: Machine> LinePool<M> {
    /// Takes `lines` lines, at least one, whose words are zero; `None` when the machine has no more memory.
    ///
    /// # Panics
    /// When asked for none.
    #[must_use]
    pub fn take(&self, lines: usize) -> Option<NonNull<M::Word>> {
        assert!(lines > 0, "a block has lines");
        let (kind, lines) = kind(lines);
        let returned = self.free[kind].borrow_mut().pop();
        let block = match returned {
            Some(block) => block,
            None => self.carve(lines)?,
        };
        for word in 0..lines * LINE_WORDS {
            // SAFETY: the block has these words, and nobody else has the block. Constructed in place, as words are.
            unsafe { block.add(word).write(M::Word::new(0)) };
        }
        self.taken.set(self.taken.get() + lines);
        Some(block)
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from [`LinePool::take`] of this pool with as many `lines`, and nobody uses it any more.
    pub unsafe fn give(&self, block: NonNull<M::Word>, lines: usize) {
        let (kind, lines) = kind(lines);
        self.taken.set(self.taken.get() - lines);
        self.free[kind].borrow_mut().push(block);
    }

    /// Lines that were taken and not given back.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.get()
    }

    /// The next lines of the last chunk, or of a new one.
    fn carve(&self, lines: usize) -> Option<NonNull<M::Word>> {
        let (mut start, mut left) = self.rest.get();
        if left < lines {
            let bytes = (lines * LINE_BYTES).max(M::chunk_bytes());
            let layout = Layout::from_size_align(bytes, LINE_BYTES).ok()?;
            let chunk = M::alloc(layout, Class::Chunk)?;
            self.chunks.borrow_mut().push((chunk, layout));
            (start, left) = (chunk.cast(), bytes / LINE_BYTES);
        }
        // SAFETY: the chunk has at least `lines` more lines from `start` on.
        let next = unsafe { start.add(lines * LINE_WORDS) };
        self.rest.set((next, left - lines));
        Some(start)
    }
}

impl<M: Machine> Drop for LinePool<M> {
    fn drop(&mut self) {
        for (chunk, layout) in self.chunks.get_mut().drain(..) {
            // SAFETY: it came from `alloc` with this layout; the pool's owner has outlived all users of its lines.
            unsafe { M::free(chunk, layout, Class::Chunk) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ordering, Plain};

    #[test]
    fn a_block_that_comes_back_is_taken_again_and_zero() {
        let pool = LinePool::<Plain>::default();
        let first = pool.take(3).expect("memory");
        assert_eq!(first.addr().get() % LINE_BYTES, 0);
        // SAFETY: a word of the block, which we hold.
        unsafe { first.add(23).as_ref() }.store(7, Ordering::Relaxed);
        // SAFETY: taken above with three lines, and used no more.
        unsafe { pool.give(first, 3) };
        assert_eq!(pool.taken(), 0);
        let again = pool.take(3).expect("memory");
        assert_eq!(again, first);
        // SAFETY: a word of the block, which we hold.
        assert_eq!(unsafe { again.add(23).as_ref() }.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn blocks_do_not_overlap_whatever_their_sizes() {
        let pool = LinePool::<Plain>::default();
        let mut spans = Vec::new();
        for lines in (1..80).chain([100, 300, 1000]) {
            let block = pool.take(lines).expect("memory");
            spans.push((block.addr().get(), block.addr().get() + lines * LINE_BYTES));
        }
        spans.sort_unstable();
        assert!(spans.is_sorted_by(|one, next| one.1 <= next.0));
    }
}
