//! The directory: which name leads to which file, now and after a loss of power.
//!
//! - A file has at most one name. A rename moves it and displaces what had the name, in one step.
//! - A change of a name depends on earlier ones that concern it: where one of those is lost, so is
//!   the later. No file system that journals its directories does otherwise.
//! - A sync that fails makes some changes durable and the others never; from then on syncs of names
//!   fail until the disk is mounted again, as on a file system whose journal is aborted.

use super::faults::DiskLosses;
use super::pending::Pending;
use crate::random::Generator;
use std::collections::{BTreeMap, BTreeSet};

/// A file, whatever its name.
pub(super) type FileId = u64;

/// Names and what they lead to.
pub(super) type Table = BTreeMap<String, FileId>;

/// A change of the directory.
#[derive(Clone, Debug)]
enum Change {
    /// A new file.
    Create(String, FileId),
    /// This file, from a name to another.
    Rename(String, String, FileId),
    Remove(String),
}

impl Change {
    fn apply(&self, table: &mut Table) {
        match self {
            Self::Create(name, file) | Self::Rename(_, name, file) => {
                table.retain(|_, other| other != file);
                table.insert(name.clone(), *file);
            }
            Self::Remove(name) => {
                table.remove(name);
            }
        }
    }

    fn names(&self) -> [&String; 2] {
        match self {
            Self::Create(name, _) | Self::Remove(name) => [name, name],
            Self::Rename(from, to, _) => [from, to],
        }
    }
}

/// The directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    cached: Table,
    durable: Table,
    pending: Pending<Change>,
    /// A sync has failed.
    failed: bool,
}

impl Names {
    /// Names that are all durable.
    pub(super) fn of(durable: Table) -> Self {
        Self { cached: durable.clone(), durable, ..Self::default() }
    }

    pub(super) fn get(&self, name: &str) -> Option<FileId> {
        self.cached.get(name).copied()
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.cached.keys().cloned().collect()
    }

    pub(super) fn has(&self, file: FileId) -> bool {
        self.cached.values().any(|other| *other == file)
    }

    /// Whether the file has a name, or would have one after some loss of power.
    pub(super) fn reach(&self, file: FileId) -> bool {
        let pending = |change: &Change| match change {
            Change::Create(_, other) | Change::Rename(_, _, other) => *other == file,
            Change::Remove(_) => false,
        };
        self.has(file)
            || self.durable.values().any(|other| *other == file)
            || self.pending.all().iter().any(pending)
    }

    pub(super) fn create(&mut self, name: &str, file: FileId) {
        self.change(Change::Create(name.to_owned(), file));
    }

    /// Whether there was a file of that name.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> bool {
        let Some(file) = self.get(from) else { return false };
        if from != to {
            self.change(Change::Rename(from.to_owned(), to.to_owned(), file));
        }
        true
    }

    /// Whether there was a file of that name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let found = self.get(name).is_some();
        if found {
            self.change(Change::Remove(name.to_owned()));
        }
        found
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.cached);
        self.pending.push(change);
    }

    pub(super) fn mark(&self) -> u64 {
        self.pending.mark()
    }

    /// Whether a sync has failed since the disk was mounted.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Mounted again: syncs may succeed.
    pub(super) fn mount(&mut self) {
        self.failed = false;
    }

    /// Changes before the mark become durable.
    pub(super) fn sync(&mut self, mark: u64) {
        for change in self.pending.take(mark, |_| true) {
            change.apply(&mut self.durable);
        }
    }

    /// Changes before the mark become durable in parts, and the rest never will be.
    pub(super) fn fail(&mut self, mark: u64, random: &mut Generator) {
        self.failed = true;
        let changes = self.pending.take(mark, |_| true);
        apply(&mut self.durable, &changes, random);
    }

    /// The names after power was lost.
    pub(super) fn crash(&self, random: &mut Generator, losses: &mut DiskLosses) -> Table {
        let mut table = self.durable.clone();
        losses.names_lost += apply(&mut table, self.pending.all(), random);
        table
    }
}

/// Applies to `table` what of the changes is kept: all, none, the first ones, or some. Returns how
/// many are lost.
fn apply(table: &mut Table, changes: &[Change], random: &mut Generator) -> u64 {
    let count = changes.len() as u64;
    let style = random.below(4);
    let prefix = match style {
        0 => count,
        1 => 0,
        _ => random.below(count + 1),
    };
    let mut lost: BTreeSet<&String> = BTreeSet::new();
    let mut kept = 0;
    for (at, change) in (0..).zip(changes) {
        let chosen = if style == 3 { random.below(2) == 0 } else { at < prefix };
        if chosen && !change.names().iter().any(|name| lost.contains(name)) {
            change.apply(table);
            kept += 1;
        } else {
            lost.extend(change.names());
        }
    }
    count - kept
}
