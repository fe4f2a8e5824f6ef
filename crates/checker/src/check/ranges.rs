//! The absences that a scan has seen: every known key of the table between two keys that it returned.
//!
//! The keys of a scanned table are sorted once; a scan's bounds are keys too, so that the *gaps*
//! between what it returned are intervals of ranks. Few keys in a gap have anything to say: one
//! that was inserted later (the scan stands before its insert), or one that was removed and whose
//! tombstone is the only absence (the scan stands after). Prefix sums tell at once how many there
//! are. A wide gap, such as the future of a growing table, would still cost an edge for each key
//! and scan; there the keys hang under a tree of helper nodes, and a gap costs a logarithm:
//!
//! ```text
//!   scan --rw--> node 2..4 --> node 2..3 --> writer that inserted key 2
//!                                       \--> writer that inserted key 3 ...
//! ```
//!
//! and with the arrows turned around for the writers of tombstones.
//!
//! Invariants: a helper node reaches exactly the writers of its interval; the two trees of a table
//! share no node, and no path leads through a helper from one scan to another.

use super::absence::Absence;
use super::bits::Bits;
use super::versions::{NONE, Versions};
use crate::history::History;
use crate::history::keys::{KeyId, NO_KEY};
use crate::history::model::{End, Scan};

/// The tables that were scanned.
pub(crate) struct Ranges {
    /// The rank of each key in its table; of no meaning in tables that were never scanned.
    ranks: Vec<u32>,
    tables: Vec<(u32, Table)>,
}

/// One scanned table.
pub(crate) struct Table {
    /// All keys, sorted.
    keys: Vec<KeyId>,
    /// Absent keys that were inserted later.
    pub(crate) inserted: Subset,
    /// Absent keys that had been removed before.
    pub(crate) removed: Subset,
    /// Keys that were never absent.
    pub(crate) solid: Subset,
    /// Keys that were absent more than once: not found, they are ambiguous.
    pub(crate) ambiguous: Subset,
}

/// Some keys of a table, in order.
pub(crate) struct Subset {
    pub(crate) keys: Vec<KeyId>,
    /// How many of them lie below each rank.
    below: Vec<u32>,
    pub(crate) tree: Option<Tree>,
}

impl Subset {
    fn new(all: &[KeyId], wanted: impl Fn(KeyId) -> bool) -> Subset {
        let below = count_below(all, &wanted);
        let keys = all.iter().copied().filter(|&key| wanted(key)).collect();
        Subset { keys, below, tree: None }
    }

    /// The positions in `keys` of those with ranks from `low` up to `high`.
    pub(crate) fn between(&self, low: u32, high: u32) -> std::ops::Range<usize> {
        self.below[low as usize] as usize..self.below[high as usize] as usize
    }
}

fn count_below(all: &[KeyId], wanted: impl Fn(KeyId) -> bool) -> Vec<u32> {
    let mut sum = 0;
    let counts = all.iter().map(|&key| {
        sum += u32::from(wanted(key));
        sum
    });
    std::iter::once(0).chain(counts.collect::<Vec<_>>()).collect()
}

impl Ranges {
    /// Sorts the tables that the history scans.
    pub(crate) fn build(history: &History, versions: &Versions, absences: &[Absence]) -> Ranges {
        let mut numbers: Vec<u32> = history.scans.iter().map(|scan| scan.table).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut ranges = Ranges { ranks: Vec::new(), tables: Vec::new() };
        if numbers.is_empty() {
            return ranges;
        }
        let mut members: Vec<Vec<KeyId>> = vec![Vec::new(); numbers.len()];
        for (key, table) in history.keys.tables().iter().enumerate() {
            if let Ok(at) = numbers.binary_search(table) {
                members[at].push(key as KeyId);
            }
        }
        ranges.ranks = vec![0; history.keys.len()];
        for (number, members) in numbers.into_iter().zip(members) {
            let keys = sort_keys(history, members);
            for (rank, &key) in keys.iter().enumerate() {
                ranges.ranks[key as usize] = rank as u32;
            }
            ranges.tables.push((number, Table::new(keys, versions, absences)));
        }
        ranges
    }

    pub(crate) fn rank(&self, key: KeyId) -> u32 {
        self.ranks[key as usize]
    }

    /// Where a table that was scanned stands.
    pub(crate) fn table_at(&self, number: u32) -> usize {
        let found = self.tables.binary_search_by_key(&number, |&(number, _)| number);
        found.expect("every scanned table was sorted")
    }

    pub(crate) fn table(&self, at: usize) -> &Table {
        &self.tables[at].1
    }

    pub(crate) fn table_mut(&mut self, at: usize) -> &mut Table {
        &mut self.tables[at].1
    }

    /// All subsets that may have a tree, each with the direction of its edges.
    pub(crate) fn subsets(&mut self) -> impl Iterator<Item = (&mut Subset, bool)> {
        self.tables
            .iter_mut()
            .flat_map(|(_, table)| [(&mut table.inserted, true), (&mut table.removed, false)])
    }

    /// All tables, by place.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().map(|(_, table)| table)
    }

    /// The place of the table of an ambiguous key, and the position of the key among the ambiguous
    /// ones; `None` if the table was never scanned.
    pub(crate) fn question(&self, history: &History, key: KeyId) -> Option<(usize, usize)> {
        let number = history.keys.table(key);
        let at = self.tables.binary_search_by_key(&number, |&(number, _)| number).ok()?;
        let rank = self.rank(key);
        Some((at, self.table(at).ambiguous.between(0, rank).end))
    }

    /// The intervals of ranks, none of them empty, that a scan covered and in which it returned
    /// nothing. False if its entries leave its order or its range.
    pub(crate) fn gaps(
        &self,
        history: &History,
        scan: &Scan,
        mut visit: impl FnMut(u32, u32),
    ) -> bool {
        let (mut low, mut high) = self.covered(history, scan);
        let mut ordered = true;
        for op in &history.ops[scan.entries.start as usize..scan.entries.end as usize] {
            let rank = self.rank(op.key);
            if rank < low || high <= rank {
                ordered = false;
                continue;
            }
            let (from, to) = if scan.descending { (rank + 1, high) } else { (low, rank) };
            if from < to {
                visit(from, to);
            }
            if scan.descending {
                high = rank;
            } else {
                low = rank + 1;
            }
        }
        if low < high {
            visit(low, high);
        }
        ordered
    }

    /// The ranks that the scan covered: its bounds, cut off where a limit stopped it.
    fn covered(&self, history: &History, scan: &Scan) -> (u32, u32) {
        let all = self.table(self.table_at(scan.table)).keys.len() as u32;
        let mut low = match scan.low {
            End::Unbounded => 0,
            End::Included(key) => self.rank(key),
            End::Excluded(key) => self.rank(key) + 1,
        };
        let mut high = match scan.high {
            End::Unbounded => all,
            End::Included(key) => self.rank(key) + 1,
            End::Excluded(key) => self.rank(key),
        };
        if scan.limited {
            let entries = &history.ops[scan.entries.start as usize..scan.entries.end as usize];
            match (entries.last(), scan.descending) {
                (None, _) => high = low,
                (Some(last), false) => high = high.min(self.rank(last.key) + 1),
                (Some(last), true) => low = low.max(self.rank(last.key)),
            }
        }
        (low, high.max(low))
    }
}

impl Table {
    fn new(keys: Vec<KeyId>, versions: &Versions, absences: &[Absence]) -> Table {
        let absence = |key: KeyId| absences[key as usize];
        let inserted = |key| !absence(key).never() && versions.next(absence(key).last) != NONE;
        let removed = |key| versions.write(absence(key).first).is_some();
        Table {
            inserted: Subset::new(&keys, inserted),
            removed: Subset::new(&keys, removed),
            solid: Subset::new(&keys, |key| absence(key).never()),
            ambiguous: Subset::new(&keys, |key| absence(key).is_ambiguous()),
            keys,
        }
    }

    /// All keys of the table, sorted.
    pub(crate) fn keys(&self) -> &[KeyId] {
        &self.keys
    }
}

/// Sorts keys by their bytes. The first sixteen decide nearly always, and lie in the sorted array
/// itself; only ties visit the keys.
fn sort_keys(history: &History, keys: Vec<KeyId>) -> Vec<KeyId> {
    let mut prefixed: Vec<(u128, KeyId)> = keys
        .into_iter()
        .map(|key| {
            let bytes = history.keys.bytes(key);
            let mut prefix = [0; 16];
            let length = bytes.len().min(16);
            prefix[..length].copy_from_slice(&bytes[..length]);
            (u128::from_be_bytes(prefix), key)
        })
        .collect();
    prefixed.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| history.keys.bytes(a.1).cmp(history.keys.bytes(b.1)))
    });
    prefixed.into_iter().map(|(_, key)| key).collect()
}

/// A tree of helper nodes over the keys of a subset: node `i` has the children `2i` and `2i + 1`,
/// and from `leaves` on they are the keys themselves.
pub(crate) struct Tree {
    base: u32,
    leaves: u32,
    used: Bits,
}

/// A node of a tree: a helper in the graph, or a position in the keys of the subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Helper(u32),
    Key(usize),
}

impl Tree {
    /// A tree whose helpers are numbered from `base`; as many as there are leaves.
    pub(crate) fn new(base: u32, leaves: usize) -> Tree {
        Tree { base, leaves: leaves as u32, used: Bits::new(leaves) }
    }

    fn part(&mut self, node: u32) -> Part {
        if node >= self.leaves {
            return Part::Key((node - self.leaves) as usize);
        }
        self.used.set(node);
        Part::Helper(self.base + node)
    }

    /// The parts that make up an interval of positions: at most two on each level.
    pub(crate) fn cover(&mut self, range: std::ops::Range<usize>, mut visit: impl FnMut(Part)) {
        let (mut low, mut high) =
            (range.start as u32 + self.leaves, range.end as u32 + self.leaves);
        while low < high {
            if low & 1 == 1 {
                visit(self.part(low));
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                visit(self.part(high));
            }
            low /= 2;
            high /= 2;
        }
    }

    /// Every helper in use with each of its children, parents first.
    pub(crate) fn links(&mut self, mut visit: impl FnMut(u32, Part)) {
        for node in 1..self.leaves {
            if self.used.get(node) {
                for child in [2 * node, 2 * node + 1] {
                    let child = self.part(child);
                    visit(self.base + node, child);
                }
            }
        }
    }
}

/// The label of an edge that no single key explains.
pub(crate) const MANY_KEYS: KeyId = NO_KEY;
