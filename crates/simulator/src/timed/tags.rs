//! The tags of one level of caches: which lines each of them holds, and in which state. A set's lines are in
//! the order of their last uses.

use super::table::table;
use crate::description::Cache;
use chiliad_machine::{Machine, Native};

/// The rights of a core to a line that it holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Right {
    /// Nothing: it does not hold it.
    None = 0,
    /// Read it.
    Shared = 1,
    /// Write it without asking, which makes it modified.
    Exclusive = 2,
    /// Write it; it must be written back.
    Modified = 3,
}

impl Right {
    pub(super) fn of(word: u64) -> Self {
        match word & 3 {
            0 => Self::None,
            1 => Self::Shared,
            2 => Self::Exclusive,
            _ => Self::Modified,
        }
    }

    pub(crate) fn may_write(self) -> bool {
        self >= Self::Exclusive
    }
}

/// The tags of the caches of one level, by their owners' numbers: cores, or clusters of cores.
pub(super) struct Tags {
    /// By owner, set and way: a line's number above its right.
    words: Vec<u64>,
    ways: usize,
    sets: usize,
}

impl Tags {
    pub(super) fn new(cache: Cache, owners: usize) -> Self {
        let ways = cache.ways as usize;
        let sets = (cache.bytes as usize / 64 / ways).max(1);
        debug_assert!(sets.is_power_of_two());
        Self { words: table(0, owners * sets * ways), ways, sets }
    }

    /// There are so many owners, of which new ones hold nothing.
    pub(super) fn grow(&mut self, owners: usize) {
        let words = owners * self.sets * self.ways;
        self.words.resize(words.max(self.words.len()), 0);
    }

    /// Asks the host for the set that a line is soon put into.
    #[inline]
    pub(super) fn prefetch(&self, owner: u32, line: u64) {
        Native::prefetch(self.words.as_ptr().wrapping_add(self.start(owner, line)).cast(), 1);
    }

    /// Changes the right to a line, if it is held.
    #[inline]
    pub(super) fn restate(&mut self, owner: u32, line: u64, right: Right) {
        if let Some(word) = self.find(owner, line) {
            *word = line << 2 | right as u64;
        }
    }

    /// The owner's cache holds nothing any more.
    pub(super) fn clear(&mut self, owner: u32) {
        let words = self.sets * self.ways;
        self.words[owner as usize * words..(owner as usize + 1) * words].fill(0);
    }

    /// The sets of a cache.
    pub(super) fn sets(&self) -> usize {
        self.sets
    }

    /// Where the set of a line begins.
    #[inline]
    fn start(&self, owner: u32, line: u64) -> usize {
        let set = line as usize & (self.sets - 1);
        (owner as usize * self.sets + set) * self.ways
    }

    #[inline]
    fn set(&mut self, owner: u32, line: u64) -> &mut [u64] {
        let start = self.start(owner, line);
        &mut self.words[start..start + self.ways]
    }

    /// The line's word, made the last used of its set.
    #[inline]
    pub(super) fn touch(&mut self, owner: u32, line: u64) -> Option<&mut u64> {
        let set = self.set(owner, line);
        if set[0] >> 2 == line && set[0] & 3 != 0 {
            return Some(&mut set[0]);
        }
        let at = set.iter().position(|&word| word >> 2 == line && word & 3 != 0)?;
        set[..=at].rotate_right(1);
        Some(&mut set[0])
    }

    pub(super) fn find(&mut self, owner: u32, line: u64) -> Option<&mut u64> {
        self.set(owner, line).iter_mut().find(|word| **word >> 2 == line && **word & 3 != 0)
    }

    /// Puts a line that is not there in; the line that goes, if one does.
    #[inline]
    pub(super) fn insert(&mut self, owner: u32, line: u64, right: Right) -> Option<(u64, Right)> {
        let set = self.set(owner, line);
        let victim = set[set.len() - 1];
        set.rotate_right(1);
        set[0] = line << 2 | right as u64;
        (victim & 3 != 0).then(|| (victim >> 2, Right::of(victim)))
    }

    /// The line that would go.
    pub(super) fn victim(&mut self, owner: u32, line: u64) -> Option<u64> {
        let set = self.set(owner, line);
        let word = set[set.len() - 1];
        (word & 3 != 0).then_some(word >> 2)
    }

    pub(super) fn remove(&mut self, owner: u32, line: u64) -> Right {
        let set = self.set(owner, line);
        let Some(at) = set.iter().position(|&word| word >> 2 == line && word & 3 != 0) else {
            return Right::None;
        };
        let right = Right::of(set[at]);
        set[at..].rotate_left(1);
        set[set.len() - 1] = 0;
        right
    }
}
