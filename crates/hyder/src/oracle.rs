//! The outcome that a log must have: its records are decided one after the other by a plain validator (`validator.rs`).
//!
//! Rigs compare servers with it. It reads the records as servers do, and shares nothing with them that decides. It keeps
//! everything, so it is for short logs. All that is read counts ([`crate::Level::Serializable`]).

use crate::catalog::{Catalog, Change};
use crate::digests::digest_after;
use crate::intention::Intention;
use crate::options::Level;
use crate::parts::{Assembly, Part};
use crate::record::{self, CheckpointNote, Head, Kind};
use crate::validator::{Validator, Version, WrittenRow};
use chiliad_api::TableId;
use chiliad_machine::shared_log::Position;
use std::collections::BTreeSet;

/// An item that got a number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decided {
    /// It was an intention that commits, or a change of the catalog that was made.
    pub commits: bool,
    /// Its writes.
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
    validator: Validator,
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

    /// The outcome of the item of this number, if there is one.
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
        self.validator.rows.iter()
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
                        self.validator
                            .rows
                            .retain(|(table, _), _| catalog.get(TableId(*table)).is_ok());
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
        let is_admitted = age.is_some_and(|age| (1..=self.window).contains(&age))
            && self.tables_are_there(intention);
        let decided = match is_admitted {
            true => self.validator.decide(label, intention, bytes, Level::Serializable),
            false => None,
        };
        let commits = decided.is_some();
        self.number(bytes, commits, decided.unwrap_or_default());
    }

    fn tables_are_there(&self, intention: &Intention) -> bool {
        let used = intention.entries.iter().filter(|it| it.depends || it.write.is_some());
        let used = used.map(|it| it.table).chain(intention.ranges.iter().map(|it| it.table));
        let mut used = used;
        used.all(|table| self.catalog.get(TableId(table)).is_ok())
    }
}
