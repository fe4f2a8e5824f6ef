//! A growing buffer of whole, aligned blocks: what is written past the page cache.

/// The unit of writing, in bytes: no less than a sector or a page of the systems we know.
pub const BLOCK_BYTES: usize = 4096;

/// One block, aligned to its size.
#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES]);

const ZERO: Block = Block([0; BLOCK_BYTES]);

/// Bytes in memory aligned to [`BLOCK_BYTES`]. Clearing keeps the memory.
#[derive(Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    /// Bytes in use; those after them are left from before.
    used: usize,
}

impl core::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Blocks").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Blocks {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer of `bytes` zeros.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Self {
        Self { blocks: vec![ZERO; bytes.div_ceil(BLOCK_BYTES)], used: bytes }
    }

    /// Bytes in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether no byte is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Forgets the bytes.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Forgets the bytes, and the memory above `bytes`.
    pub fn clear_to(&mut self, bytes: usize) {
        self.used = 0;
        self.blocks.truncate(bytes.div_ceil(BLOCK_BYTES));
        self.blocks.shrink_to(bytes.div_ceil(BLOCK_BYTES));
    }

    /// Appends bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let start = self.used;
        self.extend_to(start + bytes.len());
        self.bytes_mut()[start..].copy_from_slice(bytes);
    }

    /// Forgets the bytes before `bytes`, and moves the others to the front.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn drop_front(&mut self, bytes: usize) {
        let used = self.used;
        self.bytes_mut().copy_within(bytes.., 0);
        self.used = used - bytes;
    }

    /// Forgets the bytes from `bytes` on.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn truncate(&mut self, bytes: usize) {
        assert!(bytes <= self.used, "{bytes} of {}", self.used);
        self.used = bytes;
    }

    /// Appends zeros up to the next block's start.
    pub fn pad(&mut self) {
        self.extend_with_zeros(self.used.next_multiple_of(BLOCK_BYTES));
    }

    /// Appends zeros up to a length of `bytes`, no less than it is.
    pub fn extend_with_zeros(&mut self, bytes: usize) {
        let start = self.used;
        self.extend_to(bytes);
        self.bytes_mut()[start..].fill(0);
    }

    /// Makes the length `bytes`. What lies after the old one is whatever was there before.
    #[inline]
    pub fn extend_to(&mut self, bytes: usize) {
        let count = bytes.div_ceil(BLOCK_BYTES);
        if count > self.blocks.len() {
            self.blocks.resize(count, ZERO);
        }
        self.used = bytes;
    }

    /// The bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: blocks are arrays of initialised bytes without padding, contiguous, and
        // `used` never exceeds them (`extend_to`).
        unsafe { core::slice::from_raw_parts(self.blocks.as_ptr().cast(), self.used) }
    }

    /// The bytes, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: contiguous initialised bytes without padding, of which `used` never exceeds the count; `&mut
        // self` makes this the only reference.
        unsafe { core::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast(), self.used) }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Blocks};

    #[test]
    fn what_was_there_before_does_not_come_back_as_padding() {
        let mut blocks = Blocks::new();
        blocks.push(&[7; 5000]);
        blocks.clear();
        blocks.push(b"ab");
        blocks.pad();
        assert_eq!(blocks.len(), BLOCK_BYTES);
        assert_eq!(&blocks.bytes()[..3], b"ab\0");
        assert!(blocks.bytes()[2..].iter().all(|&byte| byte == 0));
        assert!(blocks.bytes().as_ptr().addr().is_multiple_of(BLOCK_BYTES));
    }
}
