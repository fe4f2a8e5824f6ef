//! Changes that are not durable yet, in the order in which they were made.
//!
//! A sync takes time, and others make changes meanwhile: it covers those that were made before it
//! began, which a mark tells from the later ones.

/// A queue of changes.
#[derive(Clone, Debug)]
pub(super) struct Pending<T> {
    changes: Vec<T>,
    /// The number of each, counted ever since.
    numbers: Vec<u64>,
    /// The number of the next one.
    next: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { changes: Vec::new(), numbers: Vec::new(), next: 0 }
    }
}

impl<T> Pending<T> {
    pub(super) fn push(&mut self, change: T) {
        self.changes.push(change);
        self.numbers.push(self.next);
        self.next += 1;
    }

    pub(super) fn all(&self) -> &[T] {
        &self.changes
    }

    /// Tells the changes made so far from those to come.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    /// Takes out what was made before the mark and is still there, as far as it is `meant`.
    pub(super) fn take(&mut self, mark: u64, meant: impl Fn(&T) -> bool) -> Vec<T> {
        let changes = std::mem::take(&mut self.changes);
        let numbers = std::mem::take(&mut self.numbers);
        let mut taken = Vec::new();
        for (change, number) in changes.into_iter().zip(numbers) {
            if number < mark && meant(&change) {
                taken.push(change);
            } else {
                self.changes.push(change);
                self.numbers.push(number);
            }
        }
        taken
    }
}
