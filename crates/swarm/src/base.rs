//! The state that a database and its session share.

use crate::table::{Table, Tables};
use chiliad_api::{Error, Result, TableId};
use chiliad_machine::Machine;
use chiliad_machine::tasks::LinePool;
use core::cell::Cell;

/// Tables and memory: what the database and its session share.
pub(crate) struct Base<M: Machine> {
    pub(crate) pool: LinePool<M>,
    pub(crate) tables: Tables<M>,
    committed: Cell<u64>,
    rolled_back: Cell<u64>,
}

impl<M: Machine> Base<M> {
    pub(crate) fn new() -> Self {
        Self {
            pool: LinePool::default(),
            tables: Tables::new(),
            committed: Cell::new(0),
            rolled_back: Cell::new(0),
        }
    }

    /// Counts a transaction of a session.
    pub(crate) fn count(&self, committed: bool) {
        let count = if committed { &self.committed } else { &self.rolled_back };
        count.set(count.get() + 1);
    }

    /// Transactions that sessions have committed.
    pub(crate) fn committed(&self) -> u64 {
        self.committed.get()
    }

    /// Transactions that sessions have rolled back.
    pub(crate) fn rolled_back(&self) -> u64 {
        self.rolled_back.get()
    }

    /// The named table, and its number.
    pub(crate) fn named(&self, name: &str) -> Result<(u32, &Table<M>)> {
        let found = self.tables.named().find(|(_, table)| table.spec.name == name);
        found.ok_or_else(|| Error::UnknownTable(name.into()))
    }

    /// The groups of columns of the table of this name, which is none itself.
    pub(crate) fn groups_of(&self, name: &str) -> Result<impl Iterator<Item = &Table<M>>> {
        let (number, table) = self.named(name)?;
        if table.is_group {
            return Err(Error::UnknownTable(name.into()));
        }
        let groups = (0..table.spec.groups.len()).map(move |at| TableId(number).group(at));
        Ok(groups.filter_map(|id| self.tables.get(id.0)))
    }
}
