//! A value that is replaced now and then, and read all the time, by anybody.

use std::sync::OnceLock;

/// A value and those that came after it. Readers follow it to the newest by loads alone and keep nobody waiting; what is
/// replaced stays until the chain goes, since somebody may read it. For declarations: they are few, and nothing that a
/// transaction reads or writes.
#[derive(Debug)]
pub struct Chain<T> {
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T> Chain<T> {
    /// A chain of one value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { value, next: OnceLock::new() }
    }

    /// The newest value.
    #[must_use]
    pub fn newest(&self) -> &T {
        &self.end().value
    }

    /// Puts a value after the newest.
    pub fn push(&self, value: T) {
        let mut next = Box::new(Self::new(value));
        // Another caller may have been faster, more than once.
        while let Err(refused) = self.end().next.set(next) {
            next = refused;
        }
    }

    fn end(&self) -> &Self {
        let mut end = self;
        while let Some(next) = end.next.get() {
            end = next;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::Chain;

    #[test]
    fn the_newest_value_is_read() {
        let chain = Chain::new(0);
        assert_eq!(*chain.newest(), 0);
        std::thread::scope(|scope| {
            let push = |from: u32| (from..from + 100).for_each(|value| chain.push(value));
            scope.spawn(move || push(1));
            scope.spawn(move || push(1001));
        });
        assert!([100, 1100].contains(chain.newest()), "the last one of either");
    }
}
