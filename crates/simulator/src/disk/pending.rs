//! Changes that are not durable yet, in the order in which they were made.
//!
//! A sync takes time, and others make changes meanwhile: it covers those that were made before it
//! began, which a mark tells from the later ones.

/// A queue of changes.
#[derive(Clone, Debug)]
pub(super) struct Pending<T> {
    changes: Vec<T>,
    /// How many have been taken out of the queue, ever.
    taken: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { changes: Vec::new(), taken: 0 }
    }
}

impl<T> Pending<T> {
    pub(super) fn push(&mut self, change: T) {
        self.changes.push(change);
    }

    pub(super) fn all(&self) -> &[T] {
        &self.changes
    }

    /// Tells the changes made so far from those to come.
    pub(super) fn mark(&self) -> u64 {
        self.taken + self.changes.len() as u64
    }

    /// Takes out what was made before the mark and is still there.
    pub(super) fn take(&mut self, mark: u64) -> Vec<T> {
        let count = usize::try_from(mark.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let taken: Vec<T> = self.changes.drain(..count.min(self.changes.len())).collect();
        self.taken += taken.len() as u64;
        taken
    }
}
