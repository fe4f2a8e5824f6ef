//! The lines that the tasks of a tile have read and written, and which tasks they are.
//!
//! Each task that runs or waits for its commit has an *entry*. Sets lie by columns, as in Yan, 2015, figure 3-8: one
//! look at a line tells all entries that may have accessed it, a bit each. The exact table is always there: it is the set
//! itself where sets are precise, and what filters are measured against where they are not.

use crate::description::TaskUnits;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The most entries of a tile.
pub(super) const ENTRIES_MAX: usize = 128;

const WAYS: usize = TaskUnits::FILTER_WAYS;

/// A hasher of line numbers, the same in every run.
#[derive(Default)]
pub(super) struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, line: u64) {
        let mixed = (self.0 ^ line).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// A table by line.
pub(super) type ByLine<T> = HashMap<u64, T, BuildHasherDefault<LineHasher>>;

/// Entries that have read a line, and that have written it.
#[derive(Clone, Copy, Default)]
struct Users {
    read: u128,
    wrote: u128,
}

/// Filters of one kind of access: by way and bit, the entries that have it set.
type Columns = [Vec<u128>; WAYS];

/// Bloom filters of `WAYS` ways, whose hash functions are of the family H3 (Carter and Wegman, 1979): each bit of
/// a line's number flips bits of its own.
struct Filters {
    /// By byte of a line's number and value of that byte: a byte for each way.
    hashes: Vec<[u64; 256]>,
    mask: u64,
    read: Columns,
    wrote: Columns,
}

impl Filters {
    fn new(way_bits: u32) -> Self {
        let mut state = 0x5eed_0f11_7e25_u64;
        let mut draw = || {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let mixed = (state ^ state >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            mixed ^ mixed >> 32
        };
        let hashes = (0..8).map(|_| {
            let bits: [u64; 8] = std::array::from_fn(|_| draw());
            std::array::from_fn(|value| {
                (0..8).filter(|bit| value >> bit & 1 == 1).fold(0, |hash, bit| hash ^ bits[bit])
            })
        });
        let columns = || std::array::from_fn(|_| vec![0; way_bits as usize]);
        let mask = u64::from(way_bits) - 1;
        Self { hashes: hashes.collect(), mask, read: columns(), wrote: columns() }
    }

    fn hash(&self, line: u64) -> u64 {
        let byte = |at: usize| self.hashes[at][(line >> (8 * at)) as usize & 0xff];
        (0..8).fold(0, |hash, at| hash ^ byte(at))
    }

    fn index(&self, hash: u64, way: usize) -> usize {
        (hash >> (8 * way) & self.mask) as usize
    }

    fn add(&mut self, line: u64, writes: bool, entry: u8) {
        let hash = self.hash(line);
        let places: [usize; WAYS] = std::array::from_fn(|way| self.index(hash, way));
        let columns = if writes { &mut self.wrote } else { &mut self.read };
        for (column, place) in columns.iter_mut().zip(places) {
            column[place] |= 1 << entry;
        }
    }

    fn users(&self, line: u64) -> Users {
        let hash = self.hash(line);
        let all = |columns: &Columns| {
            let bits = |way: usize| columns[way][self.index(hash, way)];
            (0..WAYS).fold(u128::MAX, |users, way| users & bits(way))
        };
        Users { read: all(&self.read), wrote: all(&self.wrote) }
    }

    /// Takes an entry out of the columns of a line.
    fn remove(&mut self, line: u64, entry: u8) {
        let hash = self.hash(line);
        for way in 0..WAYS {
            let place = self.index(hash, way);
            self.read[way][place] &= !(1 << entry);
            self.wrote[way][place] &= !(1 << entry);
        }
    }
}

/// The sets of a tile's tasks.
pub(super) struct Sets {
    exact: ByLine<Users>,
    /// By entry: the lines of its sets.
    lines: Vec<Vec<u64>>,
    filters: Option<Filters>,
}

impl Sets {
    /// Empty ones of so many entries; with filters of so many bits a way, or precise.
    pub(super) fn new(entries: usize, filter_way_bits: Option<u32>) -> Self {
        assert!(entries <= ENTRIES_MAX, "a tile has {ENTRIES_MAX} entries at most");
        Self {
            exact: ByLine::default(),
            lines: vec![Vec::new(); entries],
            filters: filter_way_bits.map(Filters::new),
        }
    }

    /// An entry's task accesses a line.
    #[inline]
    pub(super) fn add(&mut self, entry: u8, line: u64, writes: bool) {
        let users = self.exact.entry(line).or_default();
        let bit = 1 << entry;
        let known = users.read | users.wrote;
        let kind = if writes { &mut users.wrote } else { &mut users.read };
        if *kind & bit != 0 {
            return;
        }
        *kind |= bit;
        if known & bit == 0 {
            self.lines[entry as usize].push(line);
        }
        if let Some(filters) = &mut self.filters {
            filters.add(line, writes, entry);
        }
    }

    /// Entries whose access to a line an access that writes, or only reads, may conflict with, as hardware sees it.
    #[inline]
    pub(super) fn candidates(&self, line: u64, writes: bool) -> u128 {
        match &self.filters {
            Some(filters) => conflicting(filters.users(line), writes),
            None => self.exact(line, writes),
        }
    }

    /// As [`Sets::candidates`], as it is.
    #[inline]
    pub(super) fn exact(&self, line: u64, writes: bool) -> u128 {
        self.exact.get(&line).map_or(0, |&users| conflicting(users, writes))
    }

    /// Forgets what an entry's task has accessed.
    pub(super) fn clear(&mut self, entry: u8) {
        for line in self.lines[entry as usize].drain(..) {
            if let Some(users) = self.exact.get_mut(&line) {
                users.read &= !(1 << entry);
                users.wrote &= !(1 << entry);
                if users.read | users.wrote == 0 {
                    self.exact.remove(&line);
                }
            }
            if let Some(filters) = &mut self.filters {
                filters.remove(line, entry);
            }
        }
    }
}

/// The accesses that one conflicts with: a write with all, a read with writes.
fn conflicting(users: Users, writes: bool) -> u128 {
    if writes { users.read | users.wrote } else { users.wrote }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, Stream};

    /// Filters may name more entries than the exact sets, never fewer, and few more.
    #[test]
    fn filters_miss_nothing_and_match_little_else() {
        let mut sets = Sets::new(ENTRIES_MAX, Some(256));
        let mut random = Generator::new(1, Stream::Schedule);
        let mut places = |below: u64| random.below(below);
        let mut false_matches = 0;
        for _ in 0..2_000 {
            let entry = places(ENTRIES_MAX as u64) as u8;
            sets.clear(entry);
            for _ in 0..30 {
                sets.add(entry, places(5_000), places(2) == 0);
            }
            for writes in [false, true] {
                let line = places(10_000);
                let (seen, exact) = (sets.candidates(line, writes), sets.exact(line, writes));
                assert_eq!(seen & exact, exact, "an access is missed");
                false_matches += (seen & !exact).count_ones();
            }
        }
        assert!(false_matches < 100, "{false_matches}");
    }

    #[test]
    fn what_is_cleared_is_gone_and_the_rest_stays() {
        for bits in [None, Some(256)] {
            let mut sets = Sets::new(4, bits);
            sets.add(0, 7, false);
            sets.add(1, 7, true);
            sets.add(1, 8, false);
            assert_eq!(sets.candidates(7, true), 0b11);
            assert_eq!(sets.candidates(7, false), 0b10);
            sets.clear(1);
            assert_eq!((sets.candidates(7, true), sets.candidates(8, true)), (0b01, 0));
        }
    }
}
