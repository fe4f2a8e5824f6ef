//! What a log must come to, by plain backward validation (Kung and Robinson, 1981) on a map from keys to versions.
//!
//! For whoever compares servers with it: it reads the records as they do, and shares nothing with them that decides. It
//! keeps everything, so it is for short logs. All that is read counts ([`crate::Level::Serializable`]).

use crate::catalog::{Catalog, Change};
use crate::digests::digest_after;
use crate::intention::{Intention, at, bound_at};
use crate::parts::{Assembly, Part};
use crate::record::{self, CheckpointNote, Head, Kind};
use chiliad_api::TableId;
use chiliad_machine::shared_log::Position;
use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};

/// A version of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The number of the intention that wrote it.
    pub label: u64,
    /// The row was removed.
    pub tombstone: bool,
    /// Its bytes with the stamp, if there is one; of a tombstone, the stamp.
    pub value: Vec<u8>,
}

/// A write of an intention that commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenRow {
    /// The number of the table.
    pub table: u32,
    /// The key.
    pub key: Vec<u8>,
    /// The version before, if there was one.
    pub over: Option<Version>,
    /// The version that it wrote.
    pub now: Version,
}

/// An item that got a number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decided {
    /// It was an intention that commits, or a change of the catalog that was made.
    pub commits: bool,
    /// What it wrote.
    pub writes: Vec<WrittenRow>,
}

/// The outcome of a log.
#[derive(Clone, Default)]
pub struct Oracle {
    window: u64,
    /// Of all verdicts up to each label, from one.
    digests: Vec<u64>,
    /// By their numbers, from one.
    decided: Vec<Decided>,
    seen: BTreeSet<(u64, u64)>,
    assembly: Assembly,
    catalog: Catalog,
    rows: BTreeMap<(u32, Vec<u8>), Version>,
}

impl Oracle {
    /// That of these records, the first ones of a log, for servers with this [`crate::RollOptions::window`].
    pub fn of<'r>(records: impl IntoIterator<Item = &'r [u8]>, window: u64) -> Self {
        let mut oracle = Self { window, ..Self::default() };
        (1..).zip(records).for_each(|(position, record)| oracle.read(position, record));
        oracle
    }

    /// The number of the last item.
    #[must_use]
    pub fn label(&self) -> u64 {
        self.decided.len() as u64
    }

    /// The digest of all verdicts, as servers have it.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest_at(self.label()).unwrap_or(0)
    }

    /// The same up to a label, if that is there.
    #[must_use]
    pub fn digest_at(&self, label: u64) -> Option<u64> {
        match label.checked_sub(1) {
            None => Some(0),
            Some(at) => self.digests.get(at as usize).copied(),
        }
    }

    /// What became of the item of this number, if there is one.
    #[must_use]
    pub fn decided(&self, label: u64) -> Option<&Decided> {
        self.decided.get(label.checked_sub(1)? as usize)
    }

    /// All items with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Decided)> {
        (1..).zip(&self.decided)
    }

    /// The rows of all tables in order, tombstones among them.
    pub fn rows(&self) -> impl Iterator<Item = (&(u32, Vec<u8>), &Version)> {
        self.rows.iter()
    }

    fn read(&mut self, position: Position, record: &[u8]) {
        let Ok((head, items)) = record::read(record) else { return };
        for (kind, bytes) in items {
            match kind {
                Kind::Join => self.number(bytes, false, Vec::new()),
                Kind::Intention => self.intention(&head, bytes),
                Kind::Part => {
                    let part = Part::decode(bytes);
                    let whole = part.and_then(|it| self.assembly.add(position, head.server, it));
                    whole.inspect(|whole| self.intention(&head, whole));
                }
                Kind::Catalog => {
                    if let Some((local, change)) = Change::decode(bytes)
                        && self.is_new(&head, local)
                    {
                        let commits = self.catalog.change(change).is_ok();
                        let catalog = &self.catalog;
                        self.rows.retain(|(table, _), _| catalog.get(TableId(*table)).is_ok());
                        self.number(bytes, commits, Vec::new());
                    }
                }
                Kind::Barrier => {
                    if let Ok(local) = bytes.try_into() {
                        self.is_new(&head, u64::from_le_bytes(local));
                    }
                }
                Kind::Checkpoint => {
                    if let Some(note) = CheckpointNote::decode(bytes) {
                        self.is_new(&head, note.local);
                    }
                }
            }
        }
    }

    /// Whether an item is not in the log before.
    fn is_new(&mut self, head: &Head, local: u64) -> bool {
        self.seen.insert((head.server, local))
    }

    fn number(&mut self, bytes: &[u8], commits: bool, writes: Vec<WrittenRow>) {
        let (before, content) = (self.digest(), crc32fast::hash(bytes));
        self.decided.push(Decided { commits, writes });
        self.digests.push(digest_after(before, self.label(), commits, content));
    }

    fn intention(&mut self, head: &Head, bytes: &[u8]) {
        if let Some(intention) = Intention::decode(bytes)
            && self.is_new(head, intention.local)
        {
            self.decide(&intention, bytes);
        }
    }

    fn decide(&mut self, intention: &Intention, bytes: &[u8]) {
        let label = self.label() + 1;
        let age = label.checked_sub(intention.snapshot);
        let commits = age.is_some_and(|age| (1..=self.window).contains(&age))
            && self.tables_are_there(intention)
            && self.keys_hold(intention, bytes)
            && self.ranges_hold(intention, bytes);
        let mut writes = Vec::new();
        for entry in intention.entries.iter().filter(|_| commits) {
            let Some(write) = &entry.write else { continue };
            let (table, key) = (entry.table, at(bytes, &entry.key).to_vec());
            let value = at(bytes, &write.value).to_vec();
            let now = Version { label, tombstone: write.tombstone, value };
            let over = self.rows.insert((table, key.clone()), now.clone());
            writes.push(WrittenRow { table, key, over, now });
        }
        self.number(bytes, commits, writes);
    }

    fn tables_are_there(&self, intention: &Intention) -> bool {
        let used = intention.entries.iter().filter(|it| it.depends || it.write.is_some());
        let used = used.map(|it| it.table).chain(intention.ranges.iter().map(|it| it.table));
        let mut used = used;
        used.all(|table| self.catalog.get(TableId(table)).is_ok())
    }

    fn keys_hold(&self, intention: &Intention, bytes: &[u8]) -> bool {
        let mut depends = intention.entries.iter().filter(|entry| entry.depends);
        depends.all(|entry| {
            let found = self.rows.get(&(entry.table, at(bytes, &entry.key).to_vec()));
            found.is_none_or(|version| version.label <= intention.snapshot)
        })
    }

    fn ranges_hold(&self, intention: &Intention, bytes: &[u8]) -> bool {
        intention.ranges.iter().all(|range| {
            let (low, high) = (bound_at(bytes, &range.low), bound_at(bytes, &range.high));
            let is_within = |key: &[u8]| {
                let is_above = match low {
                    Bound::Unbounded => true,
                    Bound::Included(low) => key >= low,
                    Bound::Excluded(low) => key > low,
                };
                let is_below = match high {
                    Bound::Unbounded => true,
                    Bound::Included(high) => key <= high,
                    Bound::Excluded(high) => key < high,
                };
                is_above && is_below
            };
            let table = (range.table, Vec::new())..(range.table + 1, Vec::new());
            let mut newer = self.rows.range(table).filter(|row| row.1.label > intention.snapshot);
            !newer.any(|((_, key), _)| is_within(key))
        })
    }
}
