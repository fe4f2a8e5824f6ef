//! The shared cache and its directory: which lines the tiles' slices hold, and which cores hold copies.
//!
//! - The shared cache holds every line that a core's own caches hold (inclusion): a line that goes from here
//!   goes from there too.
//! - Sharers are exact. Up to [`INLINE`] are listed in the line's entry, more in a bitmap beside.
//! - Among the lines of a set one that was not used lately goes (a bit for each, cleared when all
//!   have it).

use super::table::table;
use crate::description::Cache;
use chiliad_machine::{Machine, Native};

/// Sharers that an entry lists.
const INLINE: usize = 4;

/// Words that a bitmap begins with: room for a thousand cores and their background work.
const WORDS: usize = 17;

const LINE_SHIFT: u32 = 8;
/// The line differs from what memory holds.
const DIRTY: u64 = 1 << 3;
/// The line was used lately.
const USED: u64 = 1 << 4;
/// How many sharers are listed; more than [`INLINE`]: they are in a bitmap.
const COUNT_SHIFT: u32 = 5;
const COUNT: u64 = 7 << COUNT_SHIFT;
const MANY: u64 = 7;
const KIND: u64 = 7;
const EMPTY: u64 = 0;
const SHARED: u64 = 1;
const OWNED: u64 = 2;

/// A line in a slice. An entry of zeroes is empty.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// The line's number above its flags.
    head: u64,
    /// Sharers, sixteen bits each; the owner; or the number of a bitmap.
    who: u64,
}

/// Which cores hold copies of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copies {
    /// Cores that may read it, possibly none.
    Shared,
    /// One core that may write it.
    Owned(u32),
}

/// The lines that had to go for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone {
    /// Which line.
    pub(crate) line: u64,
    /// It must be written to memory.
    pub(crate) dirty: bool,
}

/// Where a line lies, until the next one is put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At(usize);

struct Bitmap {
    words: Vec<u64>,
    count: u32,
}

impl Bitmap {
    fn add(&mut self, core: u32) {
        let (word, bit) = (core as usize / 64, 1 << (core % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += u32::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }
}

/// All slices.
pub(crate) struct Directory {
    entries: Vec<Entry>,
    sets: usize,
    ways: usize,
    bitmaps: Vec<Bitmap>,
    free: Vec<usize>,
}

impl Directory {
    /// Empty slices, one for each tile.
    pub(crate) fn new(slice: Cache, tiles: usize) -> Self {
        let ways = slice.ways as usize;
        let sets = (slice.bytes as usize / 64 / ways).max(1);
        Self {
            entries: table(Entry::default(), tiles * sets * ways),
            sets,
            ways,
            bitmaps: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Where the set of a line begins, which `mix` of its number chooses.
    #[inline]
    fn start(&self, tile: u32, mix: u64) -> usize {
        let set = ((mix >> 32) * self.sets as u64) >> 32;
        (tile as usize * self.sets + set as usize) * self.ways
    }

    /// Asks the host for the line's set, which is looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, tile: u32, mix: u64) {
        let start = self.start(tile, mix);
        Native::prefetch(self.entries.as_ptr().wrapping_add(start).cast(), 2);
    }

    /// Where a line is, if a slice holds it.
    #[inline]
    pub(crate) fn find(&self, tile: u32, mix: u64, line: u64) -> Option<At> {
        let start = self.start(tile, mix);
        let set = &self.entries[start..start + self.ways];
        let is_it = |entry: &Entry| entry.head >> LINE_SHIFT == line && entry.head & KIND != EMPTY;
        set.iter().position(is_it).map(|way| At(start + way))
    }

    /// The line has been used.
    #[inline]
    pub(crate) fn use_it(&mut self, at: At) {
        self.entries[at.0].head |= USED;
    }

    /// Which line must go before another of its set can be put in; none if there is room.
    pub(crate) fn victim(&mut self, tile: u32, mix: u64) -> Result<At, At> {
        let start = self.start(tile, mix);
        let set = &mut self.entries[start..start + self.ways];
        if let Some(way) = set.iter().position(|entry| entry.head & KIND == EMPTY) {
            return Ok(At(start + way));
        }
        let way = set.iter().position(|entry| entry.head & USED == 0).unwrap_or_else(|| {
            set.iter_mut().for_each(|entry| entry.head &= !USED);
            0
        });
        Err(At(start + way))
    }

    /// Takes a line out that nobody holds copies of any more.
    pub(crate) fn evict(&mut self, at: At) -> Gone {
        self.forget_all(at);
        let entry = std::mem::take(&mut self.entries[at.0]);
        Gone { line: entry.head >> LINE_SHIFT, dirty: entry.head & DIRTY != 0 }
    }

    /// Puts a line in at an empty place; nobody holds copies of it.
    pub(crate) fn put(&mut self, at: At, line: u64) {
        debug_assert!(self.entries[at.0].head & KIND == EMPTY);
        self.entries[at.0] = Entry { head: line << LINE_SHIFT | USED | SHARED, who: 0 };
    }

    pub(crate) fn line(&self, at: At) -> u64 {
        self.entries[at.0].head >> LINE_SHIFT
    }

    pub(crate) fn set_dirty(&mut self, at: At) {
        self.entries[at.0].head |= DIRTY;
    }

    #[inline]
    pub(crate) fn copies(&self, at: At) -> Copies {
        let entry = self.entries[at.0];
        match entry.head & KIND {
            OWNED => Copies::Owned(entry.who as u32),
            _ => Copies::Shared,
        }
    }

    /// How many cores share a line.
    pub(crate) fn sharers(&self, at: At) -> u32 {
        let entry = self.entries[at.0];
        match (entry.head & COUNT) >> COUNT_SHIFT {
            MANY => self.bitmaps[entry.who as usize].count,
            count => count as u32,
        }
    }

    /// Calls `f` with each sharer.
    pub(crate) fn each_sharer(&self, at: At, mut f: impl FnMut(u32)) {
        let entry = self.entries[at.0];
        match (entry.head & COUNT) >> COUNT_SHIFT {
            MANY => {
                for (number, &word) in self.bitmaps[entry.who as usize].words.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        f(number as u32 * 64 + rest.trailing_zeros());
                        rest &= rest - 1;
                    }
                }
            }
            count => (0..count).for_each(|index| f((entry.who >> (16 * index)) as u32 & 0xffff)),
        }
    }

    /// `core` holds a copy that it may read.
    pub(crate) fn share(&mut self, at: At, core: u32) {
        let entry = self.entries[at.0];
        debug_assert!(entry.head & KIND == SHARED);
        let count = (entry.head & COUNT) >> COUNT_SHIFT;
        if count == MANY {
            self.bitmaps[entry.who as usize].add(core);
            return;
        }
        let listed = |index: u64| (entry.who >> (16 * index)) as u32 & 0xffff;
        if (0..count).any(|index| listed(index) == core) {
            return;
        }
        if (count as usize) < INLINE {
            let entry = &mut self.entries[at.0];
            entry.who |= u64::from(core) << (16 * count);
            entry.head += 1 << COUNT_SHIFT;
            return;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.bitmaps.push(Bitmap { words: vec![0; WORDS], count: 0 });
            self.bitmaps.len() - 1
        });
        let bitmap = &mut self.bitmaps[number];
        bitmap.words.fill(0);
        bitmap.count = 0;
        (0..count).map(listed).chain([core]).for_each(|sharer| bitmap.add(sharer));
        let entry = &mut self.entries[at.0];
        entry.head |= MANY << COUNT_SHIFT;
        entry.who = number as u64;
    }

    /// `core` alone holds a copy, which it may write.
    pub(crate) fn own(&mut self, at: At, core: u32) {
        self.forget_all(at);
        let entry = &mut self.entries[at.0];
        entry.head = (entry.head & !KIND) | OWNED;
        entry.who = u64::from(core);
    }

    /// Nobody holds a copy any more.
    pub(crate) fn forget_all(&mut self, at: At) {
        let entry = &mut self.entries[at.0];
        if (entry.head & COUNT) >> COUNT_SHIFT == MANY && entry.head & KIND == SHARED {
            self.free.push(entry.who as usize);
        }
        entry.head = (entry.head & !(KIND | COUNT)) | SHARED;
        entry.who = 0;
    }

    /// `core` does not hold its copy any more.
    pub(crate) fn forget(&mut self, at: At, core: u32) {
        let entry = self.entries[at.0];
        if entry.head & KIND == OWNED {
            if entry.who == u64::from(core) {
                self.forget_all(at);
            }
            return;
        }
        let count = (entry.head & COUNT) >> COUNT_SHIFT;
        if count == MANY {
            let bitmap = &mut self.bitmaps[entry.who as usize];
            let (word, bit) = (core as usize / 64, 1 << (core % 64));
            let Some(word) = bitmap.words.get_mut(word) else { return };
            bitmap.count -= u32::from(*word & bit != 0);
            *word &= !bit;
            if bitmap.count == 0 {
                self.forget_all(at);
            }
            return;
        }
        let mut left = Entry { head: entry.head & !COUNT, who: 0 };
        let mut kept = 0;
        for index in 0..count {
            let sharer = (entry.who >> (16 * index)) & 0xffff;
            if sharer != u64::from(core) {
                left.who |= sharer << (16 * kept);
                kept += 1;
            }
        }
        left.head |= kept << COUNT_SHIFT;
        self.entries[at.0] = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, Stream};
    use std::collections::BTreeSet;

    /// Sharers of one line against a set.
    #[test]
    fn sharers_are_exact() {
        let mut directory = Directory::new(Cache { bytes: 64 * 8, ways: 8, cycles: 8 }, 1);
        let at = directory.victim(0, 0).expect("all places are empty");
        directory.put(at, 77);
        let (mut random, mut model) = (Generator::new(3, Stream::Schedule), BTreeSet::new());
        let mut most = 0;
        for step in 0..20_000 {
            let core = u32::try_from(random.below(3000)).expect("a core's number");
            match random.below(if step / 5_000 % 2 == 0 { 3 } else { 1000 }) {
                0 | 3..400 => {
                    directory.share(at, core);
                    model.insert(core);
                }
                1 | 400.. => {
                    let other = model.iter().next().copied().unwrap_or(core);
                    directory.forget(at, other);
                    model.remove(&other);
                }
                _ => {
                    directory.own(at, core);
                    assert_eq!(directory.copies(at), Copies::Owned(core));
                    directory.forget_all(at);
                    model.clear();
                }
            }
            let mut found = BTreeSet::new();
            directory.each_sharer(at, |sharer| assert!(found.insert(sharer)));
            assert_eq!(found, model);
            assert_eq!(directory.sharers(at) as usize, model.len());
            most = most.max(model.len());
        }
        assert!(most > 2 * INLINE, "bitmaps were used");
        assert!(directory.bitmaps.len() <= 1, "and used again");
        assert_eq!(directory.find(0, 0, 77), Some(at));
    }

    #[test]
    fn what_was_used_lately_stays() {
        let mut directory = Directory::new(Cache { bytes: 64 * 2, ways: 2, cycles: 8 }, 3);
        for line in [5, 6] {
            let at = directory.victim(2, 0).expect("room");
            directory.put(at, line);
        }
        let at = directory.victim(2, 0).expect_err("full");
        assert_eq!(directory.evict(at), Gone { line: 5, dirty: false });
        directory.put(at, 7);
        let at = directory.victim(2, 0).expect_err("full");
        assert_eq!(directory.line(at), 6);
    }
}
