//! The node set: the leaves in which a transaction missed a key or through which it scanned, each
//! with its count of membership changes then (Tu, 2013, 4.5).
//!
//! At the end every count must be what it was: then no key has come or gone where the transaction
//! has looked. What the transaction inserts itself is taken note of as it happens.

use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Change, Seen};

/// Leaves and their counts.
pub struct NodeSet<M: Machine>(Vec<Seen<M>>);

impl<M: Machine> NodeSet<M> {
    pub fn new() -> Self {
        Self(Vec::with_capacity(32))
    }

    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub fn add(&mut self, seen: Seen<M>) {
        self.0.push(seen);
    }

    /// How many leaves there are, each as often as it was passed.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no leaf has changed.
    #[inline]
    pub fn holds(&self) -> bool {
        M::work(Cost::Validate, self.0.len() as u32);
        self.0.iter().all(Seen::holds)
    }

    /// The greatest of the leaves' minimum insert TIDs. Those of leaves that have not changed are as they were when they
    /// were looked at.
    #[inline]
    pub fn min_insert_tid(&self) -> u64 {
        // Relaxed: whoever saw a leaf without a row saw the word that was raised before, by way of the leaf's own version.
        let word = |seen: &Seen<M>| seen.guard().header.word.load(Ordering::Relaxed);
        self.0.iter().map(word).max().unwrap_or(0)
    }

    /// Takes note of leaf changes that the transaction made itself: what had been seen before counts
    /// as seen after. An entry that had not been seen as it was just before is left alone, unless
    /// `forgiving`, and fails at validation.
    pub fn fix_up(&mut self, changes: &[Change<M>], forgiving: bool) {
        for change in changes {
            match change {
                Change::Counted { after, before } => {
                    for node in &mut self.0 {
                        let current = node.members == *before || forgiving;
                        if node.guard_ptr() == after.guard_ptr() && current {
                            node.members = after.members;
                        }
                    }
                }
                Change::Handed { from, to } => {
                    if self.0.iter().any(|node| node.guard_ptr() == *from) {
                        self.0.push(*to);
                    }
                }
            }
        }
    }
}
