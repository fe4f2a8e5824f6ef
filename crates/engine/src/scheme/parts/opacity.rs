//! When a transaction that is still running looks again at all that it has read (`Options::opacity`).
//!
//! Between two looks the set of records read and leaves passed grows by [`FEW`] entries or by half, whichever
//! is more; by an eighth once a version is met that is younger than the last look. So a transaction that
//! acts on a state that never was is refused before it has read half as much again, and all its looks
//! together visit fewer than three entries for each that it has (nine where every look is hastened): the cost
//! of opacity is a constant share of the reads, however many there are.

/// Entries after which a small set is looked at again.
const FEW: usize = 64;

/// The result of a transaction's last check.
pub struct Opacity {
    /// The size of the set then.
    looked_at: usize,
    /// The size at which to look again.
    due_at: usize,
}

impl Opacity {
    /// For a transaction that has read nothing yet.
    pub fn new() -> Self {
        Self { looked_at: 0, due_at: FEW }
    }

    /// Whether a set of `size` entries is to be looked at now. `younger`: the entry that was added last is
    /// younger than the last look.
    #[inline]
    pub fn is_due(&mut self, size: usize, younger: bool) -> bool {
        if younger {
            self.due_at = self.due_at.min(self.looked_at + self.looked_at / 8);
        }
        debug_assert!(self.looked_at <= self.due_at, "the next look comes after the last");
        size >= self.due_at
    }

    /// Whether [`Opacity::is_due`] says no and remembers nothing.
    #[inline]
    pub fn is_quiet(&self, size: usize, younger: bool) -> bool {
        !younger && size < self.due_at
    }

    /// The set was looked at, and is one state.
    pub fn looked(&mut self, size: usize) {
        debug_assert!(size >= self.looked_at, "what was read is not forgotten");
        *self = Self { looked_at: size, due_at: size + FEW.max(size / 2) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries visited by all looks at a set that grows to `size`.
    fn visits(size: usize, younger: bool) -> usize {
        let mut opacity = Opacity::new();
        let mut visits = 0;
        for size in 1..=size {
            if opacity.is_due(size, younger) {
                opacity.looked(size);
                visits += size;
            }
        }
        visits
    }

    #[test]
    fn all_looks_together_cost_a_constant_share() {
        for size in [64, 100, 1_000, 30_000, 1_000_000] {
            assert!(visits(size, false) <= 3 * size, "{size}");
            assert!(visits(size, true) <= 10 * size, "{size}");
        }
    }

    #[test]
    fn no_state_goes_unseen_for_half_as_much_again() {
        let mut opacity = Opacity::new();
        let mut last = 0;
        for size in 1..100_000 {
            if opacity.is_due(size, false) {
                assert!(size - last <= FEW.max(last / 2), "{size}");
                last = size;
                opacity.looked(size);
            }
        }
        assert!(last > 60_000);
    }
}
