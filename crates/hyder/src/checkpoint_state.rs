//! A server's knowledge of its checkpoints.

use crate::checkpoints::Checkpoints;
use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, Ordering, Word};

/// A server's knowledge of its checkpoints.
pub struct Checkpointing<M: Machine> {
    pub place: Option<Checkpoints>,
    /// One, while one is being made.
    pub making: M::Word,
    /// One, once nobody wants any more.
    canceled: M::Word,
    /// The label of the newest that it knows.
    pub newest: M::Word,
    /// Bytes of the last one made here.
    pub bytes: M::Word,
    /// Bytes of the log that had been read before the last one.
    pub log_bytes: M::Word,
    /// Where the log goes on after the last one made here, or after the one that the server has begun with.
    position: M::Word,
}

impl<M: Machine> Checkpointing<M> {
    /// The server has begun with the state of this label, after which the log goes on at `position`.
    pub fn new(place: Option<Checkpoints>, label: u64, position: Position) -> Self {
        let zero = || M::Word::new(0);
        let (newest, position) = (M::Word::new(label), M::Word::new(position));
        let (making, canceled, bytes, log_bytes) = (zero(), zero(), zero(), zero());
        Self { place, making, canceled, newest, bytes, log_bytes, position }
    }

    /// Ends the checkpoint that is being made.
    pub fn cancel(&self) {
        // Relaxed: seen sooner or later.
        self.canceled.store(1, Ordering::Relaxed);
    }

    /// Whether nobody wants it any more.
    pub fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed) > 0
    }

    /// This server has made one after which the log goes on at `position`; returns that of the one before.
    pub fn goes_on_at(&self, position: Position) -> Position {
        // Relaxed: one is made at a time.
        self.position.swap(position, Ordering::Relaxed)
    }

    /// The checkpoint of this label is there, made when so much of the log had been read.
    pub fn has_made(&self, label: u64, log_bytes: u64) {
        self.newest.store(label, Ordering::Relaxed);
        self.log_bytes.store(log_bytes, Ordering::Relaxed);
    }
}
