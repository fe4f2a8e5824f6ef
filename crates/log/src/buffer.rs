//! The commits of one worker that no writer has taken yet.
//!
//! The worker appends inside its commit window, under the buffer's latch; the writer takes
//! everything at once, by exchanging the memory for an empty piece. So a writer that has seen an
//! epoch become stable (all windows of it closed) and takes the buffers afterwards has all of it.

use crate::entry::{self, Write};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use std::sync::Arc;

/// Memory that a buffer keeps between two takings, in bytes.
const KEPT_BYTES: usize = 8 << 20;

/// A buffer, shared by its worker and the writer that takes from it.
pub type BufferRef<M> = Arc<Shared<M, Buffer<M>>>;

/// One worker's buffer. Lives in the machine's memory.
pub struct Buffer<M: Machine> {
    content: Latch<M, Content>,
    /// Bytes that wait to be taken.
    pending: M::Word,
}

#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    /// The newest epoch in it.
    epoch: u64,
    /// The worker has gone.
    closed: bool,
}

/// The result of a taking.
pub(crate) struct Taken {
    /// The newest epoch in it.
    pub epoch: u64,
    /// Nothing more will come.
    pub closed: bool,
}

impl<M: Machine> Buffer<M> {
    pub(crate) fn new() -> Self {
        Self { content: Latch::new(Content::default()), pending: M::Word::new(0) }
    }

    /// Appends a transaction.
    #[inline]
    pub(crate) fn append<'a>(
        &self,
        epoch: u64,
        order: u64,
        writes: impl Iterator<Item = Write<'a>>,
    ) {
        let mut content = self.content.lock();
        debug_assert!(!content.closed, "a worker that has gone commits nothing");
        debug_assert!(epoch > 0, "zero stands for nothing appended");
        let start = entry::begin(&mut content.bytes, epoch, order);
        for write in writes {
            write.encode(&mut content.bytes);
        }
        entry::end(&mut content.bytes, start);
        content.epoch = content.epoch.max(epoch);
        // Relaxed: only ever a hint; the content is handed over by the latch.
        self.pending.store(content.bytes.len() as u64, Ordering::Relaxed);
    }

    /// Bytes that no writer has taken yet.
    #[inline]
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// The worker has gone: once taken, the buffer is forgotten.
    pub fn close(&self) {
        let mut content = self.content.lock();
        debug_assert!(!content.closed, "a worker goes once");
        content.closed = true;
    }

    /// Takes what there is into `room`, which is empty.
    pub(crate) fn take(&self, room: &mut Vec<u8>) -> Taken {
        debug_assert!(room.is_empty());
        if room.capacity() > KEPT_BYTES {
            *room = Vec::new();
        }
        let mut content = self.content.lock();
        core::mem::swap(&mut content.bytes, room);
        debug_assert!(content.bytes.is_empty(), "the worker goes on in an empty piece");
        self.pending.store(0, Ordering::Relaxed);
        let epoch = core::mem::take(&mut content.epoch);
        Taken { epoch, closed: content.closed }
    }
}
