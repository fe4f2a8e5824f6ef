//! Numbers that are given out once in the life of a process.

use core::sync::atomic::{AtomicU64, Ordering};

/// The next one. Beside the machines, since it tells apart what belongs to several of them, and to
/// several runs of one: nothing that a run does may depend on the number, but for equality.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A number that nobody in this process has been given before.
#[must_use]
pub fn serial() -> u64 {
    // Relaxed: only that each gets another one matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::serial;

    #[test]
    fn no_two_are_equal() {
        let own: Vec<u64> = (0..100).map(|_| serial()).collect();
        assert!(own.is_sorted_by(|one, next| one < next));
    }
}
