//! Which lines a core's own caches hold, and in which state.
//!
//! - A set's lines are in the order of their last uses.
//! - The second cache holds all that the first does (inclusion); a state is the same in both.
//! - Nothing here takes time or sends messages: a look-up returns how long it takes, and an insertion which
//!   line it displaced.

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
    fn of(word: u64) -> Self {
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

/// The tags of one cache of each core.
struct Tags {
    /// By core, set and way: a line's number above its right.
    words: Vec<u64>,
    ways: usize,
    sets: usize,
}

impl Tags {
    fn new(cache: Cache, cores: usize) -> Self {
        let ways = cache.ways as usize;
        let sets = (cache.bytes as usize / 64 / ways).max(1);
        debug_assert!(sets.is_power_of_two());
        Self { words: table(0, cores * sets * ways), ways, sets }
    }

    /// Where the set of a line begins.
    #[inline]
    fn start(&self, core: u32, line: u64) -> usize {
        let set = line as usize & (self.sets - 1);
        (core as usize * self.sets + set) * self.ways
    }

    #[inline]
    fn set(&mut self, core: u32, line: u64) -> &mut [u64] {
        let start = self.start(core, line);
        &mut self.words[start..start + self.ways]
    }

    /// The line's word, made the last used of its set.
    #[inline]
    fn touch(&mut self, core: u32, line: u64) -> Option<&mut u64> {
        let set = self.set(core, line);
        if set[0] >> 2 == line && set[0] & 3 != 0 {
            return Some(&mut set[0]);
        }
        let at = set.iter().position(|&word| word >> 2 == line && word & 3 != 0)?;
        set[..=at].rotate_right(1);
        Some(&mut set[0])
    }

    fn find(&mut self, core: u32, line: u64) -> Option<&mut u64> {
        self.set(core, line).iter_mut().find(|word| **word >> 2 == line && **word & 3 != 0)
    }

    /// Puts a line that is not there in; the line that goes, if one does.
    #[inline]
    fn insert(&mut self, core: u32, line: u64, right: Right) -> Option<(u64, Right)> {
        let set = self.set(core, line);
        let victim = set[set.len() - 1];
        set.rotate_right(1);
        set[0] = line << 2 | right as u64;
        (victim & 3 != 0).then(|| (victim >> 2, Right::of(victim)))
    }

    /// The line that would go.
    fn victim(&mut self, core: u32, line: u64) -> Option<u64> {
        let set = self.set(core, line);
        let word = set[set.len() - 1];
        (word & 3 != 0).then_some(word >> 2)
    }

    fn remove(&mut self, core: u32, line: u64) -> Right {
        let set = self.set(core, line);
        let Some(at) = set.iter().position(|&word| word >> 2 == line && word & 3 != 0) else {
            return Right::None;
        };
        let right = Right::of(set[at]);
        set[at..].rotate_left(1);
        set[set.len() - 1] = 0;
        right
    }
}

/// The caches of all cores.
pub(crate) struct Private {
    first: Tags,
    second: Option<Tags>,
    first_cycles: u32,
    second_cycles: u32,
}

impl Private {
    /// Empty ones, whose cores fill so many cycles of each access with other work.
    pub(crate) fn new(first: Cache, second: Option<Cache>, hidden: u32, cores: usize) -> Self {
        // An access takes a cycle at least, so that time goes on for a core that does nothing else.
        let felt = |cache: Cache| cache.cycles.saturating_sub(hidden).max(1);
        Self {
            first: Tags::new(first, cores),
            second: second.map(|cache| Tags::new(cache, cores)),
            first_cycles: felt(first),
            second_cycles: second.map_or(0, felt),
        }
    }

    /// There are so many cores, of which new ones hold nothing.
    pub(crate) fn grow(&mut self, cores: usize) {
        for tags in [Some(&mut self.first), self.second.as_mut()].into_iter().flatten() {
            let words = cores * tags.sets * tags.ways;
            tags.words.resize(words.max(tags.words.len()), 0);
        }
    }

    /// Asks the host for the set that a line is soon put into.
    #[inline]
    pub(crate) fn prefetch(&self, core: u32, line: u64) {
        let start = self.first.start(core, line);
        Native::prefetch(self.first.words.as_ptr().wrapping_add(start).cast(), 1);
    }

    /// The rights of `core` to `line`, and in how many cycles it knows.
    #[inline]
    pub(crate) fn look(&mut self, core: u32, line: u64) -> (Right, u32) {
        if let Some(word) = self.first.touch(core, line) {
            return (Right::of(*word), self.first_cycles);
        }
        let Some(second) = &mut self.second else { return (Right::None, self.first_cycles) };
        let Some(word) = second.touch(core, line) else {
            return (Right::None, self.second_cycles);
        };
        let right = Right::of(*word);
        // What goes stays in the second cache, which holds all.
        self.first.insert(core, line, right);
        (right, self.second_cycles)
    }

    /// `core` has written a line that it may write.
    #[inline]
    pub(crate) fn modify(&mut self, core: u32, line: u64) {
        self.restate(core, line, Right::Modified);
    }

    /// Changes the right to a line that is held.
    pub(crate) fn restate(&mut self, core: u32, line: u64, right: Right) {
        for tags in [Some(&mut self.first), self.second.as_mut()].into_iter().flatten() {
            if let Some(word) = tags.find(core, line) {
                *word = line << 2 | right as u64;
            }
        }
    }

    /// Puts a line in, or changes the right to it; the line that goes, if one does.
    pub(crate) fn install(&mut self, core: u32, line: u64, right: Right) -> Option<(u64, Right)> {
        let outer = self.second.as_mut().unwrap_or(&mut self.first);
        if outer.find(core, line).is_some() {
            self.restate(core, line, right);
            return None;
        }
        let gone = outer.insert(core, line, right);
        if self.second.is_some() {
            let first = gone.map_or(Right::None, |(line, _)| self.first.remove(core, line));
            debug_assert!(gone.is_some_and(|gone| first <= gone.1) || first == Right::None);
            self.first.insert(core, line, right);
        }
        gone
    }

    /// The line that would go if `line` came.
    pub(crate) fn victim(&mut self, core: u32, line: u64) -> Option<u64> {
        self.second.as_mut().unwrap_or(&mut self.first).victim(core, line)
    }

    /// Takes a line away: the right to it that the core had.
    pub(crate) fn remove(&mut self, core: u32, line: u64) -> Right {
        let right = self.first.remove(core, line);
        match &mut self.second {
            Some(second) => second.remove(core, line),
            None => right,
        }
    }

    /// Until the core answers for a line that it holds.
    pub(crate) fn answer_cycles(&self) -> u32 {
        self.first_cycles.max(self.second_cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let cache = Cache { bytes: 64 * 8, ways: 4, cycles: 1 };
        let mut caches = Private::new(cache, None, 0, 2);
        for line in [2, 4, 6, 8] {
            assert_eq!(caches.install(1, line, Right::Shared), None);
        }
        assert_eq!(caches.look(1, 2).0, Right::Shared);
        assert_eq!(caches.look(0, 2).0, Right::None, "the other core's");
        assert_eq!(caches.install(1, 10, Right::Modified), Some((4, Right::Shared)));
        assert_eq!(caches.remove(1, 10), Right::Modified);
        assert_eq!(caches.look(1, 10).0, Right::None);
        assert_eq!(caches.install(1, 12, Right::Shared), None, "a place is free");
    }

    #[test]
    fn two_caches_hold_one_state() {
        let first = Cache { bytes: 64 * 2, ways: 1, cycles: 1 };
        let second = Cache { bytes: 64 * 4, ways: 2, cycles: 9 };
        let mut caches = Private::new(first, Some(second), 0, 1);
        caches.install(0, 2, Right::Exclusive);
        caches.install(0, 4, Right::Shared);
        assert_eq!(caches.look(0, 2), (Right::Exclusive, 9), "pushed out of the first");
        caches.modify(0, 2);
        assert_eq!(caches.look(0, 4), (Right::Shared, 9));
        assert_eq!(caches.install(0, 6, Right::Shared), Some((2, Right::Modified)));
        assert_eq!(caches.look(0, 2).0, Right::None);
    }

    #[test]
    fn a_core_hides_less_than_an_access() {
        let cache = |bytes, cycles| Cache { bytes, ways: 1, cycles };
        let mut caches = Private::new(cache(64 * 2, 3), Some(cache(64 * 4, 9)), 4, 1);
        caches.install(0, 2, Right::Shared);
        assert_eq!(caches.look(0, 2).1, 1);
        caches.install(0, 4, Right::Shared);
        assert_eq!(caches.look(0, 2).1, 5);
    }
}
