//! The progress of a server, for any reader.

use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, Ordering, Word};

/// Counts that the roller writes and others look at now and then.
pub struct Progress<M: Machine> {
    next: M::Word,
    log_bytes: M::Word,
    waiting: M::Word,
}

impl<M: Machine> Progress<M> {
    /// Nothing was read; the log goes on at `next`.
    pub fn new(next: Position) -> Self {
        let zero = || M::Word::new(0);
        Self { next: M::Word::new(next), log_bytes: zero(), waiting: zero() }
    }

    /// So many bytes were read, up to `next`, and the state after them is published.
    pub fn has_read(&self, next: Position, bytes: u64) {
        self.log_bytes.fetch_add(bytes, Ordering::Relaxed);
        // Release pairs with the acquire in `next`: a reader that sees the position sees the state.
        self.next.store(next, Ordering::Release);
    }

    /// So many blocks wait for readers.
    pub fn waits(&self, blocks: u64) {
        self.waiting.store(blocks, Ordering::Relaxed);
    }

    /// Where the log goes on, after what is part of the published state.
    pub fn next(&self) -> Position {
        // Acquire pairs with the release in `has_read`.
        self.next.load(Ordering::Acquire)
    }

    /// Bytes of records read.
    pub fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// Blocks that wait for readers.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }
}
