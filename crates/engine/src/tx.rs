//! A transaction in hand: the interface of [`Transaction`] on a worker, and its two endings.

use crate::error::{Error, Result};
use crate::scheme::Scheme;
use crate::scheme::ruins::hide_view;
use crate::table::TableId;
use crate::transaction::{Entry, Get, Outer, Range, Row, Scanned, Transaction};
use crate::worker::{State, Worker};
use chiliad_machine::Machine;

/// Where a committed transaction took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Its commit epoch.
    pub epoch: u64,
    /// Its place among the versions of each record that it wrote.
    pub order: u64,
    /// Whether it wrote anything.
    pub wrote: bool,
}

/// A transaction in progress on a worker. Rolled back when dropped.
pub struct Tx<'w, M: Machine, S: Scheme<M>> {
    pub(crate) worker: &'w mut Worker<M, S>,
}

impl<'w, M: Machine, S: Scheme<M>> Tx<'w, M, S> {
    pub(crate) fn new(worker: &'w mut Worker<M, S>) -> Self {
        Self { worker }
    }

    /// What transactions that run inside this one know it by: [`crate::Intent::outer`].
    #[must_use]
    #[inline]
    pub fn as_outer(&self) -> Outer {
        let core = &self.worker.core;
        Outer { slot: core.heap.slot_number(), name: core.scheme.name() }
    }

    /// Makes the changes visible to others, all or none.
    ///
    /// # Errors
    /// The conflict or the lack of memory that the transaction met, now or at any earlier operation,
    /// even if its caller ignored it; [`Error::UniqueViolation`] for changes made by
    /// [`Transaction::modify`]; [`Error::LogFailed`] for changes that could not become durable. It is
    /// rolled back then.
    #[inline]
    pub fn commit(self) -> Result<Committed> {
        let Worker { view, core } = &mut *self.worker;
        let committed = match &core.state {
            State::Active => core.commit(view),
            State::Lost(error) => Err(error.clone()),
            State::Idle => Err(Error::TransactionOver),
        };
        if committed.is_err() && !matches!(core.state, State::Idle) {
            core.give_up(view, false);
        }
        core.clean_up(view);
        core.finished = committed.is_ok();
        committed
    }

    /// Forgets all changes.
    pub fn rollback(self) {
        let Worker { view, core } = &mut *self.worker;
        core.finished = matches!(core.state, State::Active);
        core.give_up(view, core.finished);
        core.clean_up(view);
    }

    /// Whether what was read so far is one state of the database. After a panic in user code this
    /// tells a conflict from a bug.
    ///
    /// # Errors
    /// The conflict.
    pub fn validate(&mut self) -> Result<()> {
        let core = &mut self.worker.core;
        match &core.state {
            State::Active => {}
            State::Lost(error) => return Err(error.clone()),
            State::Idle => return Err(Error::TransactionOver),
        }
        match core.scheme.validate(&core.writes) {
            Ok(()) => Ok(()),
            Err(refusal) => Err(core.lose(refusal)),
        }
    }
}

impl<M: Machine, S: Scheme<M>> Drop for Tx<'_, M, S> {
    #[inline]
    fn drop(&mut self) {
        let core = &mut self.worker.core;
        match core.state {
            State::Idle => {}
            State::Active => core.roll_back(true),
            State::Lost(_) => core.roll_back(false),
        }
        // Commit and rollback end here too, with what they have collected.
        core.let_go();
        hide_view(core.heap.slot());
        M::ended(core::mem::take(&mut core.finished));
    }
}

impl<M: Machine, S: Scheme<M>> Transaction for Tx<'_, M, S> {
    #[inline]
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(false)?;
        core.get(view.readable(table, core.in_past)?, Get::read(table, key))
    }

    #[inline]
    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.get(view.writable(table, core.loads)?, Get::update(table, key))
    }

    #[inline]
    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(false)?;
        core.get_many(view, requests, rows)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(false)?;
        core.scan(table, view.readable(table, core.in_past)?, &range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(false)?;
        core.scan_index(view, table, index, &range)
    }

    #[inline]
    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.worker.core.entries_of(scanned)
    }

    #[inline]
    fn key(&self, entry: Entry) -> Result<&[u8]> {
        let core = &self.worker.core;
        Ok(core.arena.get(core.accesses[core.access_of(entry.key)?].key))
    }

    #[inline]
    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.worker.core.bytes(row)
    }

    #[inline]
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.insert(view, table, key, value)
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.update(view, row, value)
    }

    #[inline]
    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.modify(view, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.put(view, table, key, value)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        let Worker { view, core } = &mut *self.worker;
        core.ready(true)?;
        core.remove_row(view, row)
    }
}
