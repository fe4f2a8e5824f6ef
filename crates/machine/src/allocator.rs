//! Allocators that are called block by block, to be compared with pools (Yu, 2015, 4.1.1).
//!
//! Not part of [`Machine`](crate::Machine): a value that may be given to a database when it is opened, and
//! that only native runs take. Bytes that one worker has for itself are a [`Buffer`].

use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// An allocator with its name.
pub struct Allocator {
    name: &'static str,
    source: &'static (dyn GlobalAlloc + Sync),
}

/// Each has a name of its own.
impl PartialEq for Allocator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Allocator {}

impl Hash for Allocator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Allocator {
    /// The allocator `source`, under a name for reports.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static (dyn GlobalAlloc + Sync)) -> Self {
        Self { name, source }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A block, whose content is undefined; `None` when there is no more memory.
    ///
    /// # Panics
    /// For a layout of no bytes.
    #[must_use]
    pub fn alloc(&self, layout: Layout) -> Option<NonNull<u8>> {
        assert!(layout.size() > 0, "a block of no bytes");
        // SAFETY: the layout is not empty.
        NonNull::new(unsafe { self.source.alloc(layout) })
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from [`Allocator::alloc`] of the same allocator with this layout, and nobody reaches
    /// it any more.
    pub unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.source.dealloc(block.as_ptr(), layout) };
    }
}

/// Bytes of one owner, zero at first, from an allocator or from the host's own.
pub struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    from: Option<&'static Allocator>,
}

// SAFETY: it owns its bytes.
unsafe impl Send for Buffer {}

impl Buffer {
    /// So many bytes.
    ///
    /// # Panics
    /// For no bytes, and where there is no memory for them.
    #[must_use]
    pub fn zeroed(bytes: usize, from: Option<&'static Allocator>) -> Self {
        let start = match from {
            None => {
                let own = Box::leak(vec![0; bytes].into_boxed_slice());
                NonNull::from(own).cast()
            }
            Some(allocator) => {
                let start = allocator.alloc(Self::layout(bytes)).expect("memory for a transaction");
                // SAFETY: the block is ours and this long.
                unsafe { start.write_bytes(0, bytes) };
                start
            }
        };
        Self { start, bytes, from }
    }

    /// A copy with room for more, which is zero.
    #[must_use]
    pub fn grown(&self, bytes: usize) -> Self {
        let mut larger = Self::zeroed(bytes, self.from);
        larger[..self.bytes].copy_from_slice(self);
        larger
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 16).expect("far below the address space")
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: ours, initialised and this long.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: ours, initialised and this long; `&mut self` makes this the only reference.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.from {
            None => {
                let whole = core::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.bytes);
                // SAFETY: leaked by `zeroed`, and nobody has it any more.
                drop(unsafe { Box::from_raw(whole) });
            }
            // SAFETY: from `zeroed`, by this allocator and with this layout.
            Some(allocator) => unsafe { allocator.free(self.start, Self::layout(self.bytes)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    static SYSTEM: Allocator = Allocator::new("system", &System);

    #[test]
    fn buffers_begin_with_zeros_and_keep_what_they_have() {
        for from in [None, Some(&SYSTEM)] {
            let mut buffer = Buffer::zeroed(100, from);
            assert!(buffer.iter().all(|&byte| byte == 0));
            buffer[99] = 7;
            let larger = buffer.grown(4096);
            drop(buffer);
            assert_eq!((larger.len(), larger[99], larger[100]), (4096, 7, 0));
        }
    }
}
