//! The lock word of a record: a further word beside its header word.
//!
//! ```text
//!  63                                                          1        0
//! +-------------------------------------------------------------+--------+
//! | readers                                                     | writer |
//! +-------------------------------------------------------------+--------+
//! ```
//!
//! Functions over the word, so that loom can check them. Taking a lock acquires what the release of
//! the last holder has released: the version in place, and the header word that names it.

use chiliad_machine::{Ordering, Word};

/// One transaction may write.
pub(super) const WRITER: u64 = 1;
const READER: u64 = 2;

/// How a record is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// With other readers.
    Shared,
    /// Alone.
    Owned,
}

/// Takes the lock unless somebody is in the way.
#[inline]
pub(super) fn try_lock<W: Word>(word: &W, mode: Mode) -> bool {
    // Acquire, in both modes, pairs with the releases in `unlock`.
    match mode {
        Mode::Owned => {
            word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }
        Mode::Shared => loop {
            let found = word.load(Ordering::Relaxed);
            if found & WRITER != 0 {
                return false;
            }
            let locked = found + READER;
            // Acquire pairs with the releases in `unlock`.
            if word.compare_exchange(found, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return true;
            }
        },
    }
}

/// The caller, a reader, becomes the writer, unless there are other readers.
#[inline]
pub(super) fn try_upgrade<W: Word>(word: &W) -> bool {
    // Acquire pairs with the readers' release in `unlock`: they have read.
    word.compare_exchange(READER, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Gives the lock back.
#[inline]
pub(super) fn unlock<W: Word>(word: &W, mode: Mode) {
    // Release pairs with the acquires in `try_lock` and `try_upgrade`: our reads have been made, our writes are
    // there.
    match mode {
        Mode::Owned => word.store(0, Ordering::Release),
        Mode::Shared => _ = word.fetch_add(READER.wrapping_neg(), Ordering::Release),
    }
}
